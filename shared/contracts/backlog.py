"""Backlogs: issues in YAML, JSON or Markdown, of which a person chooses for a session (S2.55)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from shared.contracts.complaints import Document, unknown
from shared.contracts.fields import Command, Key, Text
from shared.contracts.origin import Origin
from shared.contracts.planfile import BY_HAND
from shared.contracts.yamltext import YamlText, read_yaml
from shared.domain.agent import STARTABLE, AgentWork
from shared.domain.delivery import ISSUE_ID, is_issue_id
from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep
from shared.domain.plan import Recovery, Step, Subtask, SubtaskKind, behind

_MARKDOWN = (".md", ".markdown")
_HEADING = re.compile(r"##[ \t]+(\S+?):?[ \t]+(.+?)[ \t]*")
_FENCE = re.compile(r"\s*```ya?ml[ \t]*\n(.*?)\n```[ \t]*(?:\n|$)", re.DOTALL)


def _issue(given: Any) -> str:
    if not isinstance(given, str) or not is_issue_id(given):
        raise PydanticCustomError(
            "issue_id",
            "{given} is not a valid id of an issue; write it as L-000123: L, a dash, six digits "
            "or more",
            {"given": repr(given)[:60]},
        )
    return given


IssueId = Annotated[
    str,
    BeforeValidator(_issue),
    WithJsonSchema({"type": "string", "pattern": f"^{ISSUE_ID}$"}),
]
"""The id of an issue (S2.41)."""


class IssueDocument(Document):
    """One issue: a piece of work for an agent, and how to tell that it is done."""

    id: Annotated[IssueId, Field(description="What allowlists and `depends_on` name it by.")]
    title: Annotated[Text, Field(min_length=1)]
    body: Annotated[Text, Field(description="What is to be done, in words.")] = ""
    acceptance: Annotated[list[Text], Field(description="What must hold, in words.")] = Field(
        default_factory=list
    )
    files: Annotated[list[Text], Field(description="Files that it is about.")] = Field(
        default_factory=list
    )
    depends_on: Annotated[
        list[IssueId], Field(description="Issues that must be accepted before.")
    ] = Field(default_factory=list)
    check: Annotated[
        Command | None,
        Field(description="A command that exits with 0 once it is done; else the repository's."),
    ] = None
    runner: Annotated[Key | None, Field(description="Who does it; any agent if left out.")] = None


class BacklogDocument(Document):
    """A whole backlog."""

    schema_version: Literal[1] = 1
    issues: Annotated[list[IssueDocument], Field(min_length=1)]


def load_backlog(text: str, *, source: str) -> Mapping[str, IssueDocument]:
    """The issues of a backlog by id, in its order.

    A `source` that ends with `.md` is read as Markdown; all else as YAML, of which JSON is a part.
    Raises Rejected, at stage `backlog`, for every fault, with its line: what is not of this form,
    the same id twice, unknown needs and runners, and issues that need one another in a circle.
    """
    origin = Origin(source, "backlog", NextStep.of("schema show", "backlog"))
    read = _read(text, source, origin)
    issues = BacklogDocument.read(read, origin).issues
    found = [
        f"{read.place(('issues', place, *path))}: {fault}"
        for place, issue in enumerate(issues)
        for path, fault in _faults(issue, issues, place)
    ]
    if found:
        raise origin.faults(found)
    by_id = {issue.id: issue for issue in issues}
    if circle := _circle(by_id):
        listed = ", ".join(circle)
        raise origin.error(f"these issues need one another in a circle: {listed}")
    return by_id


def select(
    issues: Mapping[str, IssueDocument], allow: Sequence[str], assign: Mapping[str, str]
) -> tuple[IssueDocument, ...]:
    """The allowed issues in the order of the backlog, each with the runner that it is assigned.

    Raises Rejected for an allowlist that is empty or names what the backlog does not have, or
    something twice, and for a runner of an issue that is not allowed, or one that is not known.
    """
    if not allow:
        raise _refusal("no issue is allowed: name those that are to be done with --allow")
    for each in allow:
        if each not in issues:
            raise _refusal(f"the issue {each!r} is {unknown(each, issues)}")
        if allow.count(each) > 1:
            raise _refusal(f"the issue {each} is allowed twice")
    for each, runner in assign.items():
        if each not in allow:
            raise _refusal(f"the issue {each!r} is assigned to {runner}, and not allowed")
        if runner not in STARTABLE:
            raise _refusal(f"the runner {runner!r} of {each} is {unknown(runner, STARTABLE)}")
    chosen = (issue for issue in issues.values() if issue.id in allow)
    return tuple(
        issue.model_copy(update={"runner": assign.get(issue.id, issue.runner)}) for issue in chosen
    )


def steps_of(
    chosen: Sequence[IssueDocument], there: Mapping[str, int], last: int = 0
) -> tuple[Step, ...]:
    """A step for each issue, whose key is its id, with one subtask for an agent.

    `there` are the issues that the session has already, by id, with the numbers of their steps, up
    to `last`; a step that needs one of those names it as `StepsReplaced` does. Raises Rejected for
    an issue that needs one that is neither chosen nor there.
    """
    numbers = {issue.id: number for number, issue in enumerate(chosen, 1)}
    known = {each: number - last for each, number in there.items()} | numbers
    for issue in chosen:
        if missing := [each for each in issue.depends_on if each not in known]:
            raise _refusal(
                f"{issue.id} needs {', '.join(missing)}, which is neither allowed nor in the "
                "session: allow it, too"
            )
    return tuple(
        Step(
            ordinal=numbers[issue.id],
            key=issue.id,
            title=issue.title,
            instruction="",
            author=BY_HAND,
            depends_on=tuple(sorted({known[each] for each in issue.depends_on})),
            recovery=Recovery.RETRY,
            subtasks=(_subtask(issue),),
        )
        for issue in chosen
    )


def _subtask(issue: IssueDocument) -> Subtask:
    work = AgentWork(acceptance=tuple(issue.acceptance), runner=issue.runner)
    files = f"Files: {', '.join(issue.files)}" if issue.files else ""
    parts = (f"{issue.id}: {issue.title}", issue.body.strip(), files)
    return Subtask(
        ordinal=1,
        key=issue.id,
        title=issue.title,
        command="\n\n".join(filter(None, parts)),
        check=issue.check,
        timeout=work.time_budget,
        kind=SubtaskKind.AGENT,
        agent=work,
    )


def _faults(
    issue: IssueDocument, issues: Sequence[IssueDocument], place: int
) -> Iterable[tuple[tuple[str | int, ...], str]]:
    ids = [each.id for each in issues]
    if issue.id in ids[:place]:
        yield ("id",), f"{issue.id!r} is the id of two issues"
    for position, needed in enumerate(issue.depends_on):
        if needed not in ids:
            yield ("depends_on", position), f"{needed!r} is {unknown(needed, ids)}"
    if issue.runner is not None and issue.runner not in STARTABLE:
        yield ("runner",), f"{issue.runner!r} is {unknown(issue.runner, STARTABLE)}"


def _circle(issues: Mapping[str, IssueDocument]) -> tuple[str, ...]:
    numbers = {each: number for number, each in enumerate(issues)}
    needs = {
        numbers[issue.id]: tuple(numbers[each] for each in issue.depends_on)
        for issue in issues.values()
    }
    return tuple(each for each, number in numbers.items() if number in behind(number, needs))


def _read(text: str, source: str, origin: Origin) -> YamlText:
    if source.lower().endswith(_MARKDOWN):
        return YamlText({"issues": list(_sections(text, origin))}, {})
    # JSON may be indented with tabs, and has none inside its texts.
    plain = text.replace("\t", " ") if text.lstrip().startswith("{") else text
    return read_yaml(plain, origin)


def _sections(text: str, origin: Origin) -> Iterable[dict[str, Any]]:
    """The sections `## L-000123: Title`, with more fields in a block of YAML below the heading."""
    lines = text.splitlines()
    starts = [n for n, line in enumerate(lines) if _HEADING.fullmatch(line)]
    for start, end in zip(starts, (*starts[1:], len(lines)), strict=False):
        heading = _HEADING.fullmatch(lines[start])
        if heading is None:
            continue
        body = "\n".join(lines[start + 1 : end])
        fence = _FENCE.match(body)
        more = read_yaml(fence[1], origin).data if fence else {}
        if not isinstance(more, dict):
            raise origin.error(f"line {start + 1}: the block below {heading[1]} is not a mapping")
        rest = body[fence.end() :] if fence else body
        yield {"id": heading[1], "title": heading[2], "body": rest.strip(), **more}


def _refusal(reason: str) -> Rejected:
    return Rejected(reason, stage="backlog", next_step=NextStep.of("plan build", help=True))
