"""Files of tasks for coding agents (S4.12–S4.26, S4.49, S4.50, S4.59): YAML or JSON to a plan."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from shared.contracts.agent_runners import RunnerDefinition
from shared.contracts.agentwork import ValidationDocument, WatchdogDocument
from shared.contracts.complaints import Document, faults, unknown
from shared.contracts.documents import first_line
from shared.contracts.fields import Dollars, Goal, Key, Text
from shared.contracts.origin import Origin
from shared.contracts.planfile import BY_HAND
from shared.contracts.yamltext import Path, YamlText, read_yaml
from shared.domain.agent import (
    DEFAULT_TIME_BUDGET,
    NEEDS_COMMAND,
    RUNNERS,
    AgentWork,
    ExecutionMode,
    RunnerChoice,
    Trigger,
)
from shared.domain.config import LIMITS
from shared.domain.errors import Misconfigured, Rejected
from shared.domain.next_step import edit_file
from shared.domain.plan import Plan, Recovery, Step, Subtask, SubtaskKind

ReadFile = Callable[[str], str]
"""The text of a file that a task names; raises Rejected where there is none."""

_MINUTE = 60.0
_LONGEST = LIMITS["subtask_timeout"][1] / _MINUTE
_GOAL: TypeAdapter[str] = TypeAdapter(Goal)


def _minutes(given: Any) -> float:
    if isinstance(given, int | float) and given is not True and 0 < given <= _LONGEST:
        return float(given)
    raise PydanticCustomError(
        "minutes",
        "{given} is not a number of minutes; allowed: more than 0, at most {longest}",
        {"given": repr(given)[:60], "longest": f"{_LONGEST:g}"},
    )


Minutes = Annotated[
    float,
    BeforeValidator(_minutes),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0, "maximum": _LONGEST}),
]
"""A span in minutes, as these files give it."""


class RunnerEntry(Document):
    """One runner of a fallback chain (S4.50)."""

    type: Annotated[Key, Field(description="Its name under `runners`, or a known runner.")]
    priority: Annotated[
        int | None, Field(description="The lowest is tried first; its place if left out.")
    ] = None
    timeout: Annotated[
        Minutes | None, Field(description="Minutes that it may take; the budget if left out.")
    ] = None
    trigger: Annotated[
        Literal["on_timeout", "on_failure"] | None,
        Field(description="When this runner is entered; in both cases if left out."),
    ] = None


class TaskDocument(Document):
    """One task (S4.15)."""

    id: Annotated[Key, Field(description="What `depends_on` names it by.")]
    file: Annotated[Text, Field(min_length=1, description="The file that says what to do.")]
    runner: Annotated[
        Key | None, Field(description="Its name under `runners`, or a known runner.")
    ] = None
    execution_mode: Annotated[
        Literal["autonomous", "interactive"] | None,
        Field(description="An autonomous agent must not ask a person."),
    ] = None
    time_budget: Annotated[Minutes, Field(description="Minutes that an attempt may take.")] = (
        DEFAULT_TIME_BUDGET / _MINUTE
    )
    cost_budget: Annotated[
        Dollars | None,
        Field(description="Dollars that all attempts may cost; what the policy says if left out."),
    ] = None
    depends_on: Annotated[
        list[Key], Field(description="Tasks that must be done before; none if left out.")
    ] = Field(default_factory=list)
    runner_strategy: Annotated[
        Literal["fallback"] | None, Field(description="How `runners` are used.")
    ] = None
    runners: Annotated[
        list[RunnerEntry], Field(description="In place of `runner`: who does it, by priority.")
    ] = Field(default_factory=list)
    watchdog: WatchdogDocument = Field(default_factory=WatchdogDocument)
    validation: ValidationDocument = Field(default_factory=ValidationDocument)

    @model_validator(mode="after")
    def _one_strategy(self) -> "TaskDocument":
        if self.runner is not None and self.runners:
            raise PydanticCustomError(
                "one_strategy", "has both `runner` and `runners`; leave one of them out", {}
            )
        if self.runner_strategy is not None and not self.runners:
            raise PydanticCustomError(
                "no_runners",
                "has `runner_strategy: fallback`, and no `runners` to fall back on",
                {},
            )
        return self


class TasksDocument(Document):
    """A whole file."""

    runners: Annotated[
        dict[Key, RunnerDefinition],
        Field(description="How runners are started, by the name that tasks use."),
    ] = Field(default_factory=dict)
    tasks: Annotated[list[TaskDocument], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class AgentTasks:
    """The plan of a file of tasks, and what a person should know about it."""

    plan: Plan
    notes: tuple[str, ...] = ()


def load_tasks(text: str, *, read: ReadFile, source: str | None = None) -> AgentTasks:
    """The plan of a file of tasks: a step for each, with one subtask for an agent.

    `read` gives the text of the files that it names: tasks and protocols. Tasks that depend on
    nothing begin at once. `source` is the name that errors give the file. Raises Rejected, at stage
    `plan`, for every fault, naming line, path, value and what is allowed.
    """
    step = edit_file(source or "FILE")
    origin = Origin(source or "the tasks", "plan", step)
    # JSON may be indented with tabs, and has none inside its texts.
    plain = text.replace("\t", " ") if text.lstrip().startswith("{") else text
    yaml = read_yaml(plain, origin)
    return _Loader(yaml, TasksDocument.read(yaml, origin), read, origin).load()


@dataclass
class _Loader:
    """Makes the plan of one file; collects all faults before it raises the first."""

    yaml: YamlText
    document: TasksDocument
    read: ReadFile
    origin: Origin
    found: list[str] = field(default_factory=list)

    def load(self) -> AgentTasks:
        self._check_runners()
        protocols = dict(self._protocols())
        tasks = self.document.tasks
        ordinals = self._ordinals()
        for place, task in enumerate(tasks):
            self._check_dependencies(place, task, ordinals)
        if not self.found:
            self._check_circle()
        steps = tuple(
            self._step(place, task, ordinals, protocols) for place, task in enumerate(tasks)
        )
        if self.found:
            raise self.origin.faults(self.found)
        definitions = self.document.runners.items()
        notes = (note for name, each in definitions for note in each.notes(name))
        return AgentTasks(Plan(steps), tuple(notes))

    def _fault(self, path: Path, fault: str) -> None:
        self.found.append(f"{self.yaml.place(path)}: {fault}")

    def _check_runners(self) -> None:
        for name, definition in self.document.runners.items():
            runner = definition.runner(name)
            if runner in NEEDS_COMMAND and definition.command is None:
                typed = "" if definition.type else f", and no `type`; one of {', '.join(RUNNERS)}"
                self._fault(("runners", name), f"has no `command` that starts it{typed}")

    def _ordinals(self) -> dict[str, int]:
        ordinals: dict[str, int] = {}
        for place, task in enumerate(self.document.tasks):
            if task.id in ordinals:
                self._fault(("tasks", place, "id"), f"{task.id!r} is the id of two tasks")
            ordinals.setdefault(task.id, place + 1)
        return ordinals

    def _check_dependencies(
        self, place: int, task: TaskDocument, ordinals: Mapping[str, int]
    ) -> None:
        for position, key in enumerate(task.depends_on):
            if key not in ordinals:
                path = ("tasks", place, "depends_on", position)
                self._fault(path, f"{key!r} is {unknown(key, ordinals)}")

    def _check_circle(self) -> None:
        """Complain about the tasks that can never begin, because they need one another."""
        needs = {task.id: set(task.depends_on) for task in self.document.tasks}
        while free := [key for key, needed in needs.items() if not needed]:
            for key in free:
                del needs[key]
            needs = {key: needed.difference(free) for key, needed in needs.items()}
        if needs:
            place = next(i for i, task in enumerate(self.document.tasks) if task.id in needs)
            listed = ", ".join(map(repr, needs))
            self._fault(
                ("tasks", place, "depends_on"), f"tasks need one another in a circle: {listed}"
            )

    def _protocols(self) -> Iterator[tuple[str, str | None]]:
        """The protocol of each runner that has a definition; see `RunnerChoice.protocol`."""
        for name, definition in self.document.runners.items():
            path = ("runners", name, "autonomous_mode", "protocol_file")
            if (file := definition.protocol_file) is None:
                yield name, None if definition.gives_protocol else ""
            else:
                yield name, self._text(path, file)

    def _step(
        self,
        place: int,
        task: TaskDocument,
        ordinals: Mapping[str, int],
        protocols: Mapping[str, str | None],
    ) -> Step:
        goal = self._text(("tasks", place, "file"), task.file)
        title = first_line(goal.lstrip("# \n")) or task.id
        work = self._work(place, task, protocols)
        subtask = Subtask(
            ordinal=1,
            key=task.id,
            title=title,
            command=goal,
            timeout=work.time_budget,
            kind=SubtaskKind.AGENT,
            agent=work,
        )
        needed = (ordinals[key] for key in task.depends_on if key in ordinals)
        return Step(
            ordinal=place + 1,
            key=task.id,
            title=title,
            instruction="",
            author=BY_HAND,
            depends_on=tuple(sorted(set(needed))),
            recovery=Recovery.RETRY,
            subtasks=(subtask,),
        )

    def _work(
        self, place: int, task: TaskDocument, protocols: Mapping[str, str | None]
    ) -> AgentWork:
        entries = task.runners
        if task.runner is not None:
            path: Path = ("tasks", place, "runner")
            chain = [self._choice(path, RunnerEntry(type=task.runner), 1, protocols)]
        else:
            chain = [
                self._choice(("tasks", place, "runners", n - 1, "type"), entry, n, protocols)
                for n, entry in enumerate(entries, 1)
            ]
        mode = task.execution_mode
        return AgentWork(
            runners=tuple(chain),
            mode=None if mode is None else ExecutionMode(mode),
            time_budget=task.time_budget * _MINUTE,
            cost_budget=task.cost_budget,
            watchdog=task.watchdog.watchdog(),
            compliance=task.validation.compliance(),
        )

    def _choice(
        self, path: Path, entry: RunnerEntry, place: int, protocols: Mapping[str, str | None]
    ) -> RunnerChoice:
        definition = self.document.runners.get(entry.type)
        if definition is None and entry.type not in RUNNERS:
            known = {*self.document.runners, *RUNNERS}
            self._fault(path, f"{entry.type!r} is {unknown(entry.type, known)}")
        elif definition is None and entry.type in NEEDS_COMMAND:
            self._fault(path, f"{entry.type!r} needs a `command` that starts it, under `runners`")
        runner = entry.type if definition is None else definition.runner(entry.type)
        return RunnerChoice(
            runner=runner,
            priority=place if entry.priority is None else entry.priority,
            timeout=None if entry.timeout is None else entry.timeout * _MINUTE,
            trigger=None if entry.trigger is None else Trigger(entry.trigger),
            command=None if definition is None else definition.program(entry.type),
            protocol=protocols.get(entry.type),
            alias=None if runner == entry.type else entry.type,
        )

    def _text(self, path: Path, file: str) -> str:
        """The text of a file; with a complaint about it, a text that stands for it."""
        try:
            return _GOAL.validate_python(self.read(file))
        except (Rejected, Misconfigured) as error:
            self._fault(path, error.reason)
        except ValidationError as error:
            for _, fault in faults(error):
                self._fault(path, f"{file} {fault}")
        return file
