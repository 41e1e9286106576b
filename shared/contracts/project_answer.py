"""What a manager answers to the goal of a project: what is there, and what remains (S3.55).

The tasks and the analysis are those of `shared.contracts.project`. The descriptions of the fields
are instructions to the model; what only the course of a project can say is not in its schema.
"""

from typing import Annotated, Literal

from pydantic import Field, ValidationError
from pydantic.json_schema import SkipJsonSchema

from shared.contracts.answers import MOST_STEPS, Considerations, Impossible
from shared.contracts.complaints import describe, unknown
from shared.contracts.fields import Goal, Name, Text
from shared.contracts.look_answer import MayLook
from shared.contracts.project import DevTask, Moment, ProjectAnalysis, ProjectPlan
from shared.domain.agent import AgentWork
from shared.domain.author import Author
from shared.domain.errors import Rejected
from shared.domain.plan import Plan, Step, Subtask, SubtaskKind, check_steps

_LONGEST_TITLE = 200


class AnalysisAnswer(ProjectAnalysis):
    """What the repository has already, and what is still missing."""

    current_state: Annotated[
        Text,
        Field(
            min_length=1,
            description="What the repository is and does today, as far as the goal is concerned: "
            "languages, layout, how it is built and tested. Only what you have seen or been told.",
        ),
    ]
    already_done: Annotated[
        list[Text], Field(description="Each part of the goal that is there already; often none.")
    ]
    remaining_work: Annotated[
        list[Text], Field(description="Each part of the goal that is missing.")
    ]


class DevTaskAnswer(DevTask):
    """One development task."""

    id: Annotated[
        Name,
        Field(description="A short name: lower-case words joined by hyphens, unique."),
    ]
    title: Annotated[
        Text,
        Field(
            min_length=1,
            max_length=_LONGEST_TITLE,
            description="A headline of at most ten words, imperative.",
        ),
    ]
    description: Annotated[
        Goal,
        Field(
            description="What has to be different in the files afterwards, for a developer who "
            "sees this text, the criteria and the repository, and nothing else: every name, path, "
            "format and constraint that matters.",
        ),
    ]
    acceptance_criteria: Annotated[
        list[Goal],
        Field(
            min_length=1,
            description="What a reviewer holds the work to, one sentence each, each of which can "
            "be seen in the files or shown by a command.",
        ),
    ]
    depends_on: Annotated[
        list[Name],
        Field(
            description="The ids of the tasks whose accepted work it builds on. Tasks that do not "
            "depend on each other are developed at the same time: keep them to different files."
        ),
    ]
    check: Annotated[
        Text,
        Field(
            description="A command that exits with 0 if and only if the task is done, run at the "
            "top of a checkout that holds the work; it looks, and changes nothing. The empty "
            "string only where the checks of the repository show it.",
        ),
    ]
    ask_question: Annotated[
        Text,
        Field(
            description="Normally the empty string. Only where the task needs a decision that is "
            "nobody's but the person's: one short question, asked before anybody begins it."
        ),
    ] = ""
    # The course of a task is not planned.
    status: SkipJsonSchema[
        Literal["pending", "running", "review", "approved", "rejected", "failed"]
    ] = "pending"
    attempt: SkipJsonSchema[int] = 0
    max_attempts: SkipJsonSchema[int] = 3
    dev_report: SkipJsonSchema[Text] = ""
    review_verdict: SkipJsonSchema[Literal["approved", "rejected"] | None] = None
    review_comments: SkipJsonSchema[list[Text]] = Field(default_factory=list)
    rejection_history: SkipJsonSchema[list[Text]] = Field(default_factory=list)
    started_at: SkipJsonSchema[Moment | None] = None
    completed_at: SkipJsonSchema[Moment | None] = None

    def task(self, max_attempts: int) -> DevTask:
        """The task as it is before anybody has begun it, whatever the answer says of its course."""
        return DevTask(
            id=self.id,
            title=self.title,
            description=self.description,
            acceptance_criteria=self.acceptance_criteria,
            depends_on=self.depends_on,
            max_attempts=max_attempts,
        )

    def step(self, ordinal: int, author: Author, depends_on: tuple[int, ...]) -> Step:
        """The step that it becomes: the work of one agent, who is held to its criteria."""
        work = AgentWork(acceptance=tuple(self.acceptance_criteria))
        develop = Subtask(
            ordinal=1,
            key=self.id,
            title=self.title,
            command=self.description,
            check=self.check if self.check.strip() else None,
            timeout=work.time_budget,
            kind=SubtaskKind.AGENT,
            agent=work,
        )
        return Step(
            ordinal=ordinal,
            key=self.id,
            title=self.title,
            instruction=self.description,
            author=author,
            depends_on=depends_on,
            subtasks=(develop,),
            ask_question=self.ask_question.strip(),
        )


class ProjectAnswer(MayLook):
    """A project: what is there, and the development tasks that remain."""

    considerations: Considerations = ""
    summary: Annotated[Text, Field(description="The plan in one or two sentences.")] = ""
    analysis: Annotated[
        AnalysisAnswer | None, Field(description="What you have found in the repository.")
    ] = None
    tasks: Annotated[
        list[DevTaskAnswer],
        Field(
            max_length=MOST_STEPS,
            description="The development tasks in order; as few as make sense, usually two to six.",
        ),
    ]
    impossible: Impossible = ""

    def project(self, goal: str, max_attempts: int) -> ProjectPlan:
        """The plan of the project; raises Rejected for tasks that do not fit together."""
        found = self.analysis
        analysis = None if found is None else ProjectAnalysis(**found.model_dump())
        tasks = [task.task(max_attempts) for task in self.tasks]
        try:
            return ProjectPlan(project_goal=goal, tasks=tasks, analysis=analysis)
        except ValidationError as error:
            raise Rejected(describe(error), stage="plan") from error

    def plan(self, author: Author) -> Plan:
        """The steps of the project, one for each task; raises Rejected if nobody could begin."""
        ordinals = {task.id: ordinal for ordinal, task in enumerate(self.tasks, 1)}
        steps = tuple(
            task.step(
                ordinal, author, tuple(_ordinal(key, task.id, ordinals) for key in task.depends_on)
            )
            for ordinal, task in enumerate(self.tasks, 1)
        )
        check_steps(steps)
        return Plan(steps=steps, summary=self.summary)


def _ordinal(key: str, task: str, ordinals: dict[str, int]) -> int:
    if key not in ordinals:
        raise Rejected(
            f"task {task!r} depends on {key!r}, which is {unknown(key, ordinals)}", stage="plan"
        )
    return ordinals[key]
