"""The form of a model's answers; the descriptions of the fields are instructions to the model."""

from collections.abc import Collection
from typing import Annotated, Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from shared.contracts.agent_answers import AgentAnswer, require_offered
from shared.contracts.complaints import Document, unknown
from shared.contracts.fields import Command, Key, Name, Text
from shared.contracts.look_answer import MayLook
from shared.contracts.planstep import PlanStep
from shared.domain.author import Author
from shared.domain.config import LIMITS
from shared.domain.errors import Rejected
from shared.domain.plan import (
    DroppedCheck,
    OnFailure,
    Plan,
    Step,
    Subtask,
    SubtaskKind,
    check_steps,
    check_subtasks,
    keep_apart,
)
from shared.domain.question import MOST_OPTIONS, Question

MOST_STEPS = 100
"""Nobody can follow a plan with more main steps than this."""

MOST_SUBTASKS = 200
"""A step with more commands than this should be several steps."""

_SHORTEST, _LONGEST = LIMITS["subtask_timeout"]

Impossible = Annotated[
    Text,
    Field(
        description="Normally the empty string. If this cannot or must not be done, say here in "
        "one or two sentences why and what a person would have to do, and leave the other fields "
        "empty."
    ),
]


Considerations = Annotated[
    Text,
    Field(
        description="Before anything else: what is known, what is not and how it will show, and "
        "what can go wrong. Two to six sentences; they are kept with the call and not carried out."
    ),
]
"""What a model thinks first: whatever it writes before the commands makes them better."""


class RefineAnswer(Document):
    """The task in better words."""

    prompt: Annotated[
        Text,
        Field(
            min_length=1,
            description="The improved task, in the language of the original. Every fact, name, "
            "number and wish of the original is kept; nothing is invented. State the outcome, the "
            "constraints and how one can tell that it has been reached.",
        ),
    ]

    ask_question: Annotated[
        Text,
        Field(
            description="Normally the empty string. Only where the task can be meant in ways that "
            "lead to different outcomes, and neither the text nor the targets tell which: one "
            "short question to the person. It is asked, and you get the task again with the answer."
        ),
    ] = ""
    ask_options: Annotated[
        list[Annotated[Text, Field(min_length=1)]],
        Field(
            max_length=MOST_OPTIONS,
            description="The answers to choose from, if there are only so many; otherwise empty.",
        ),
    ] = Field(default_factory=list)

    @property
    def question(self) -> Question | None:
        """The question to a person before the task can be planned, None for none."""
        asked = self.ask_question.strip()
        return Question(asked, tuple(self.ask_options)) if asked else None


class StepAnswer(PlanStep):
    """One main step."""

    id: Annotated[
        Name,
        Field(description="A short name for the step: lower-case words joined by hyphens, unique."),
    ]
    title: Annotated[
        Text, Field(min_length=1, description="A headline of at most ten words, imperative.")
    ]
    instruction: Annotated[
        Text,
        Field(
            min_length=1,
            description="What the step brings about, with every name, path, port and version that "
            "whoever details it needs, and how one can tell that it is done. No commands.",
        ),
    ]
    depends_on: Annotated[
        list[Name],
        Field(
            description="The ids of the steps whose results it uses. Give only real dependencies; "
            "an empty list means that it can start at once."
        ),
    ]
    parallel_group: Annotated[
        str,
        Field(
            pattern=r"^([A-Za-z0-9][A-Za-z0-9_.-]{0,63})?$",
            description="The same word for neighbouring steps that may run side by side without "
            "touching the same things; otherwise the empty string.",
        ),
    ]
    ask_question: Annotated[
        Text,
        Field(
            description="Normally the empty string. Only where the step cannot be planned without "
            "a decision that is nobody's but the person's: one short question, which is asked "
            "before the step is detailed."
        ),
    ] = ""
    # What only plan files say of a step is not in the schema that a model gets.
    step_type: SkipJsonSchema[Key] = "task"
    parallelizable: SkipJsonSchema[bool | None] = None
    parallelizable_reason: SkipJsonSchema[Text] = ""
    allowed_tools: SkipJsonSchema[list[Text] | None] = None
    repository: SkipJsonSchema[str] = ""  # see `offer_agents`
    on_failure: Annotated[
        Literal["stop", "continue"],
        Field(
            description="`stop` unless the task still has its value when this step has failed; "
            "then `continue`."
        ),
    ]


class PlanAnswer(MayLook):
    """The main steps of a task."""

    considerations: Considerations = ""
    summary: Annotated[Text, Field(description="The plan in one or two sentences.")]
    steps: Annotated[
        list[StepAnswer],
        Field(
            max_length=MOST_STEPS,
            description="The main steps in order; as few as make sense, usually two to six.",
        ),
    ]
    impossible: Impossible

    def plan(self, author: Author, *, repositories: Collection[str] = ()) -> Plan:
        """The plan; raises Rejected when its steps do not fit together.

        They may name `repositories`, those that were offered.
        """
        require_offered({step.id: step.repository for step in self.steps}, repositories)
        ordinals = {step.id: ordinal for ordinal, step in enumerate(self.steps, 1)}
        steps = tuple(
            Step(
                ordinal=ordinal,
                key=step.id,
                title=step.title,
                instruction=step.instruction,
                author=author,
                depends_on=tuple(_ordinal(key, step.id, ordinals) for key in step.depends_on),
                parallel_group=step.parallel_group or None,
                on_failure=OnFailure(step.on_failure),
                **step.details(),
            )
            for ordinal, step in enumerate(self.steps, 1)
        )
        check_steps(steps)
        return Plan(steps=keep_apart(steps), summary=self.summary)


class SubtaskAnswer(Document):
    """One command of a step."""

    id: Annotated[
        Name,
        Field(description="A short name: lower-case words joined by hyphens, unique in the step."),
    ]
    title: Annotated[Text, Field(min_length=1, description="What it does, in at most ten words.")]
    command: Annotated[
        Command,
        Field(
            description="One command line or a short script for /bin/sh (POSIX). It never "
            "prompts, does no harm when repeated, ends by itself, and exits with a code other than "
            "0 when it has failed."
        ),
    ]
    check: Annotated[
        Text,
        Field(
            description="A read-only command that exits with 0 if and only if the subtask has "
            "had its effect, looking at the effect itself and not at the command's exit code. The "
            "empty string only where the command itself is such a check."
        ),
    ]
    timeout_seconds: Annotated[
        float,
        Field(
            ge=_SHORTEST,
            le=_LONGEST,
            strict=False,
            allow_inf_nan=False,
            description="How long the command may take: generous, but not endless.",
        ),
    ]
    preconditions: Annotated[
        list[Command],
        Field(
            description="Read-only commands that must exit with 0 before it may run. Each one that "
            "does not counts as an error, so give only what is really needed; often none."
        ),
    ]
    needs: Annotated[
        list[Name],
        Field(
            description="The ids of the subtasks of this answer that must have succeeded before "
            "it. Usually the one before it; empty for the first."
        ),
    ]
    critical: Annotated[
        bool,
        Field(
            description="True when it destroys data, interrupts a service that others use, or "
            "cannot be undone: a person is then asked first."
        ),
    ]
    rollback: Annotated[Text, Field(description="A command that undoes it, or the empty string.")]
    idempotent: Annotated[
        bool, Field(description="True when running it twice has the same effect as once.")
    ]

    agent: SkipJsonSchema[AgentAnswer | None] = None  # see `offer_agents`

    def subtask(self, ordinal: int) -> Subtask:
        """The value, under its number."""
        work = None if self.agent is None else self.agent.work()
        return Subtask(
            ordinal=ordinal,
            key=self.id,
            title=self.title,
            command=self.command,
            check=self.check if self.check.strip() else None,
            timeout=self.timeout_seconds if work is None else work.time_budget,
            preconditions=tuple(self.preconditions),
            needs=tuple(self.needs),
            critical=self.critical,
            rollback=self.rollback if self.rollback.strip() else None,
            idempotent=self.idempotent,
            kind=SubtaskKind.COMMAND if work is None else SubtaskKind.AGENT,
            agent=work,
        )


class DetailAnswer(MayLook):
    """The subtasks of a step."""

    considerations: Considerations = ""
    subtasks: Annotated[
        list[SubtaskAnswer],
        Field(
            max_length=MOST_SUBTASKS,
            description="The commands in the order in which they are to run.",
        ),
    ]
    impossible: Impossible

    def listed(self) -> tuple[Subtask, ...]:
        """The subtasks as they are given; `check_subtasks` tells whether they fit together."""
        return _subtasks_of(self.subtasks)

    def to_subtasks(self) -> tuple[Subtask, ...]:
        """The subtasks; raises Rejected when they do not fit together."""
        subtasks = self.listed()
        check_subtasks(subtasks)
        return subtasks


class DroppedCheckAnswer(Document):
    """A check of the first plan that a revision no longer makes."""

    check: Annotated[Command, Field(description="The check, word for word.")]
    reason: Annotated[
        Text,
        Field(
            min_length=1,
            description="Why the step is done without it, with the output that shows it; a person "
            "reads this, and may be asked to confirm it.",
        ),
    ]


class RevisionAnswer(MayLook):
    """A step, revised from the evidence."""

    diagnosis: Annotated[
        Text,
        Field(
            description="What the evidence shows: which assumption was wrong, and the output that "
            "proves it. Two to five sentences; an operator reads them."
        ),
    ]
    subtasks: Annotated[
        list[SubtaskAnswer],
        Field(
            max_length=MOST_SUBTASKS,
            description="The whole step afresh, in order: diagnosis and preparation first, then "
            "all that is still needed. It replaces the old list entirely.",
        ),
    ]
    rollback: Annotated[
        list[Name],
        Field(
            description="The ids of earlier subtasks of this step whose rollback command is to be "
            "run before your list begins; usually none. Only what has run is undone."
        ),
    ]
    dropped_checks: Annotated[
        list[DroppedCheckAnswer],
        Field(
            max_length=MOST_SUBTASKS,
            description="The checks that stand for the step's result and that your list no longer "
            "makes; normally empty, because a revision keeps them.",
        ),
    ] = Field(default_factory=list)
    impossible: Impossible

    def listed(self) -> tuple[Subtask, ...]:
        """The subtasks as they are given; `check_subtasks` tells whether they fit together."""
        return _subtasks_of(self.subtasks)

    def to_subtasks(self) -> tuple[Subtask, ...]:
        """The subtasks; raises Rejected when they do not fit together."""
        subtasks = self.listed()
        check_subtasks(subtasks)
        return subtasks

    def dropped(self) -> tuple[DroppedCheck, ...]:
        """The checks that its author says it gives up."""
        return tuple(DroppedCheck(each.check, each.reason) for each in self.dropped_checks)


class AdviceAnswer(Document):
    """Whether a failed step is worth another try."""

    retry: Annotated[
        bool,
        Field(
            description="True only when the evidence shows a cause that goes away by itself or by "
            "waiting, so that the very same commands can succeed."
        ),
    ]
    delay_seconds: Annotated[
        float,
        Field(
            ge=0,
            le=3600,
            strict=False,
            allow_inf_nan=False,
            description="How long to wait before that try; 0 when it is not worth one.",
        ),
    ]
    reason: Annotated[
        Text,
        Field(
            min_length=1,
            description="The cause, with the output that shows it, in one or two sentences; an "
            "operator reads them.",
        ),
    ]


def _ordinal(key: str, step: str, ordinals: dict[str, int]) -> int:
    if key not in ordinals:
        raise Rejected(
            f"step {step!r} depends on {key!r}, which is {unknown(key, ordinals)}", stage="plan"
        )
    return ordinals[key]


def _subtasks_of(answers: list[SubtaskAnswer]) -> tuple[Subtask, ...]:
    return tuple(answer.subtask(ordinal) for ordinal, answer in enumerate(answers, 1))
