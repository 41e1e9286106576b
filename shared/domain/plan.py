"""A plan: steps, the subtasks of each, and who planned them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from shared.domain.agent import AgentWork
from shared.domain.author import Author
from shared.domain.errors import Defect, Rejected


class Recovery(StrEnum):
    """What follows a failed pass (X6): a revision by the author, or another pass."""

    REPLAN = "replan"
    RETRY = "retry"


class OnFailure(StrEnum):
    """What happens to the rest of the plan when a step cannot be done."""

    STOP = "stop"
    CONTINUE = "continue"


class SubtaskKind(StrEnum):
    """The kind of a subtask's text.

    A shell command, a Python snippet that sets `result`, or the goal of a coding agent.
    """

    COMMAND = "command"
    CODE = "code"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class Subtask:
    """One command with its check, timeout and preconditions (S0.29); spans in seconds.

    `needs` names the subtasks (by key) that must be done before this one (X3). A subtask without a
    check is done when its command exits with 0. `failure` is the message for a snippet that fails
    without giving a reason (S1.28). `agent` belongs to the kind `agent` and to no other: its
    command is the goal in words, which no shell reads, and its timeout the time budget.
    """

    ordinal: int
    key: str
    title: str
    command: str
    check: str | None = None
    timeout: float = 300.0
    preconditions: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    critical: bool = False
    rollback: str | None = None
    idempotent: bool = False
    kind: SubtaskKind = SubtaskKind.COMMAND
    failure: str | None = None
    agent: AgentWork | None = None

    def __post_init__(self) -> None:
        """Raise Defect where the kind and `agent` do not fit together."""
        if (self.kind is SubtaskKind.AGENT) is (self.agent is None):
            raise Defect(
                f"subtask {self.key!r} is of kind {self.kind.value}, which does not fit its agent",
                stage="plan",
            )


S = TypeVar("S", bound=Subtask)


@dataclass(frozen=True, slots=True)
class Step:
    """A main step. `subtasks` is empty until the subtask planner has detailed it.

    With `ask_question`, none of it is detailed or run before a person gives the `answer` (S3.11);
    `ask_options` lists the answers to choose from. `allowed_tools` lists the programs that its
    commands may start, None for any. `step_type` and `parallelizable_reason` are for readers of the
    plan; `keep_apart` enforces `parallelizable`. `repository` names where it happens, None for the
    target of its run.
    """

    ordinal: int
    key: str
    title: str
    instruction: str
    author: Author
    depends_on: tuple[int, ...] = ()
    parallel_group: str | None = None
    recovery: Recovery = Recovery.REPLAN
    on_failure: OnFailure = OnFailure.STOP
    subtasks: tuple[Subtask, ...] = ()
    step_type: str = "task"
    parallelizable: bool | None = None
    parallelizable_reason: str = ""
    allowed_tools: tuple[str, ...] | None = None
    ask_question: str = ""
    ask_options: tuple[str, ...] = ()
    answer: str | None = None
    repository: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """An ordered list of steps.

    `autonomy` is what a plan given by hand sets for its task (`Policy.autonomy`), None for the
    configured value; in any other plan it means nothing.
    """

    steps: tuple[Step, ...]
    summary: str = ""
    autonomy: str | None = None

    def step(self, ordinal: int) -> Step:
        """The step with that number; raises Rejected when there is none."""
        for step in self.steps:
            if step.ordinal == ordinal:
                return step
        raise Rejected(f"the plan has no step {ordinal}", stage="plan")


@dataclass(frozen=True, slots=True)
class Draft:
    """The replacement for the remaining steps, while some of it is bare or asks a person.

    `known` is the highest step number that its planner knew.
    """

    known: int
    steps: tuple[Step, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class DroppedCheck:
    """An acceptance check of a step's first plan that a revision no longer makes, and why."""

    check: str
    reason: str


@dataclass(frozen=True, slots=True)
class Revision:
    """The n-th list of subtasks of a step; 0 is the first plan. Immutable.

    `rollback` names, by key, subtasks of earlier lists to undo before it begins. `dropped_checks`
    are those that this revision gives up.
    """

    step: int
    revision: int
    author: Author
    subtasks: tuple[Subtask, ...]
    reason: str = ""
    rollback: tuple[str, ...] = ()
    dropped_checks: tuple[DroppedCheck, ...] = ()


def default_needs(
    given: Iterable[tuple[str, tuple[str, ...] | None]],
) -> dict[str, tuple[str, ...]]:
    """Fill in missing needs: a subtask needs the one before it (X3)."""
    needs: dict[str, tuple[str, ...]] = {}
    before: tuple[str, ...] = ()
    for key, named in given:
        needs[key] = before if named is None else named
        before = (key,)
    return needs


def default_dependencies(
    given: Iterable[tuple[int, str | None, tuple[int, ...] | None]],
) -> dict[int, tuple[int, ...]]:
    """Fill in missing dependencies: a step depends on the step, or parallel group, before it.

    Takes (ordinal, parallel group, depends_on or None) in the plan's order.
    """
    depends: dict[int, tuple[int, ...]] = {}
    previous: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    group: str | None = None
    for ordinal, own_group, named in given:
        if own_group is None or own_group != group:
            previous, block = block, ()
        group = own_group
        block = (*block, ordinal)
        depends[ordinal] = previous if named is None else named
    return depends


def keep_apart(steps: Iterable[Step]) -> tuple[Step, ...]:
    """The steps, with each `parallelizable: false` step ordered against its whole group (S3.8).

    If one of two steps in a group may not run beside the other, the later one in the plan depends
    on the earlier one, unless they are ordered already. This never creates a cycle.
    """
    listed = tuple(steps)
    needs = {step.ordinal: step.depends_on for step in listed}
    for position, later in enumerate(listed):
        for earlier in listed[:position]:
            if not _kept_apart(earlier, later):
                continue
            first, second = earlier.ordinal, later.ordinal
            if first not in behind(second, needs) and second not in behind(first, needs):
                needs[second] = (*needs[second], first)
    return tuple(replace(step, depends_on=needs[step.ordinal]) for step in listed)


def _kept_apart(one: Step, other: Step) -> bool:
    if one.parallel_group is None or one.parallel_group != other.parallel_group:
        return False
    return one.parallelizable is False or other.parallelizable is False


def behind(ordinal: int, needs: Mapping[int, tuple[int, ...]]) -> set[int]:
    """All steps that must be done before that one, however far back."""
    found: set[int] = set()
    waiting = [ordinal]
    while waiting:
        for needed in needs.get(waiting.pop(), ()):
            if needed not in found:
                found.add(needed)
                waiting.append(needed)
    return found


def open_questions(steps: Iterable[Step]) -> tuple[Step, ...]:
    """The steps whose question nobody has answered yet."""
    return tuple(step for step in steps if step.ask_question and step.answer is None)


def check_steps(steps: Iterable[Step]) -> None:
    """Raise Rejected for a plan that cannot be carried out: empty, duplicate keys, a cycle."""
    listed = tuple(steps)
    if not listed:
        raise Rejected("the plan has no steps", stage="plan")
    _unique("step", (step.key for step in listed))
    keys = {step.ordinal: step.key for step in listed}
    _acyclic("step", {s.key: tuple(keys.get(n, str(n)) for n in s.depends_on) for s in listed})
    for step in listed:
        if step.subtasks:
            check_subtasks(step.subtasks, where=f"step {step.ordinal}")


def check_subtasks(subtasks: Iterable[Subtask], *, where: str = "the step") -> None:
    """Raise Rejected for impossible subtasks: none, duplicate keys, unknown needs."""
    listed = tuple(subtasks)
    if not listed:
        raise Rejected(f"{where} has no subtasks", stage="plan")
    _unique(f"{where}: subtask", (subtask.key for subtask in listed))
    for subtask in listed:
        if not subtask.command.strip():
            raise Rejected(f"{where}: subtask {subtask.key!r} has an empty command", stage="plan")
    _refuse_goals_as_commands(listed, where)
    _acyclic(f"{where}: subtask", {subtask.key: subtask.needs for subtask in listed})


def _refuse_goals_as_commands(subtasks: tuple[Subtask, ...], where: str) -> None:
    """Raise Rejected for a goal that is also a text of a shell: it would not be judged as one."""
    goals = {each.command for each in subtasks if each.kind is SubtaskKind.AGENT}
    for each in subtasks:
        own = () if each.kind is SubtaskKind.AGENT else (each.command,)
        if not goals.isdisjoint((*own, each.check, each.rollback, *each.preconditions)):
            raise Rejected(
                f"{where}: subtask {each.key!r} has a command that is also the goal of an agent",
                stage="plan",
            )


def in_order(subtasks: Iterable[S]) -> tuple[S, ...]:
    """The subtasks, each after those that it needs, otherwise in the plan's order."""
    waiting = list(subtasks)
    placed: list[S] = []
    keys: set[str] = set()
    while waiting:
        ready = next((s for s in waiting if keys.issuperset(s.needs)), None)
        if ready is None:
            keys_left = ", ".join(subtask.key for subtask in waiting)
            raise Rejected(
                f"these subtasks need one another in a circle: {keys_left}", stage="plan"
            )
        waiting.remove(ready)
        placed.append(ready)
        keys.add(ready.key)
    return tuple(placed)


def _unique(what: str, keys: Iterable[str]) -> None:
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            raise Rejected(f"{what} {key!r} stands twice", stage="plan")
        seen.add(key)


def _acyclic(what: str, edges: Mapping[str, tuple[str, ...]]) -> None:
    for key, targets in edges.items():
        for target in targets:
            if target not in edges:
                raise Rejected(f"{what} {key!r} needs {target!r}, which is unknown", stage="plan")
    settled: set[str] = set()
    while len(settled) < len(edges):
        free = [k for k, t in edges.items() if k not in settled and settled.issuperset(t)]
        if not free:
            cycle = ", ".join(repr(key) for key in edges if key not in settled)
            raise Rejected(f"{what}s that need one another in a circle: {cycle}", stage="plan")
        settled.update(free)
