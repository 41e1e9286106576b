"""The answer that an agent must give at its end, and its JSON Schema."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from shared.contracts.deliverables import VERSION, Deliverables
from shared.domain.attempt import AgentStatus
from shared.domain.question import MOST_OPTIONS, Question

DELIVERABLES: Final = "deliverables"
"""The field of an answer that says what is delivered."""

VERDICT: Final = "approved"
"""The field of a review that holds its verdict."""

_CLAIMS: Final = (AgentStatus.OK, AgentStatus.PARTIAL, AgentStatus.BLOCKED, AgentStatus.ERROR)


@dataclass(frozen=True, slots=True)
class Deliverable:
    """What an agent says about its work.

    `status` is what it claims. `decisions` are choices that it made without asking. `questions`
    are for a person, with the status NEEDS_INPUT only.
    """

    status: AgentStatus
    summary: str
    decisions: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()

    @property
    def question(self) -> Question:
        """All its questions as one; its summary if it asks for an answer without a question."""
        return join_questions(self.questions or (Question(self.summary),))


def schema(*, interactive: bool, issue: str | None = None) -> dict[str, Any]:
    """The JSON Schema of a deliverable; with questions if the agent is `interactive`.

    With an `issue`, what is delivered under that id has to be said, too (S2.40-S2.45).

    All properties are required and no others are allowed, as every provider's strict mode wants.
    """
    statuses = [*_CLAIMS, AgentStatus.NEEDS_INPUT] if interactive else [*_CLAIMS]
    properties: dict[str, Any] = {
        "status": {
            "type": "string",
            "enum": [status.value for status in statuses],
            "description": (
                "ok: all of the task is done. partial: part of it is left. blocked: something "
                "outside of this repository is missing. error: the task failed."
                + " needs_input: only a person can answer the questions."
                * interactive
            ),
        },
        "summary": {"type": "string", "description": "What was done, and what is left."},
        "decisions": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Each choice that the task left open, with its reason.",
        },
    }
    if interactive:
        properties["questions"] = {"type": "array", "items": _object(_QUESTION)}
    if issue is not None:
        properties[DELIVERABLES] = _deliverables(issue)
    return _object(properties)


def parse_deliverable(value: object) -> Deliverable | None:
    """The deliverable that a value of JSON holds; None if it does not hold one.

    A verdict on the work of another (`shared.contracts.project.ReviewResult`) claims nothing of its
    author's own work: whoever gives one has done what it was asked.
    """
    if not isinstance(value, Mapping):
        return None
    is_verdict = isinstance(value.get(VERDICT), bool)
    status = value.get("status", AgentStatus.OK.value if is_verdict else None)
    summary = value.get("summary")
    if not isinstance(status, str) or not isinstance(summary, str):
        return None
    if status not in {*_CLAIMS, AgentStatus.NEEDS_INPUT}:
        return None
    decisions = (str(each) for each in _listed(value.get("decisions")))
    questions = tuple(filter(None, map(_question, _listed(value.get("questions")))))
    return Deliverable(AgentStatus(status), summary, tuple(decisions), questions)


def _deliverables(issue: str) -> dict[str, Any]:
    """The form of `shared.contracts.deliverables`, as strict modes can hold it."""
    fields = Deliverables.model_fields
    lists = ("summary", "changed_files", "how_to_verify", "risks")
    texts = {"type": "array", "items": {"type": "string"}}
    return _object(
        {
            "schema_version": {"type": "integer", "enum": [VERSION]},
            "issue_id": {"type": "string", "enum": [issue]},
            **{name: {**texts, "description": fields[name].description} for name in lists},
        }
    )


def join_questions(questions: tuple[Question, ...]) -> Question:
    """One question for a person: several become a list, to be answered in one text."""
    if len(questions) == 1:
        return questions[0]
    lines = []
    for number, question in enumerate(questions, 1):
        options = f" ({' / '.join(question.options)})" if question.options else ""
        lines.append(f"{number}. {question.text}{options}")
    return Question("\n".join(lines))


_QUESTION: Final = {
    "text": {"type": "string"},
    "options": {"type": "array", "items": {"type": "string"}},
}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _question(value: object) -> Question | None:
    if not isinstance(value, Mapping) or not isinstance(value.get("text"), str):
        return None
    options = tuple(str(each) for each in _listed(value.get("options")))
    return Question(value["text"], options[:MOST_OPTIONS])


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
