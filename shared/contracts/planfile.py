"""A plan given by hand: YAML to a plan and back, with errors that say where and what is allowed."""

from collections.abc import Callable

from shared.contracts.complaints import unknown
from shared.contracts.documents import (
    PlanDocument,
    PlannerName,
    RevisionDocument,
    StepDocument,
    subtasks_of,
)
from shared.contracts.origin import Origin
from shared.contracts.plandump import dump_plan, dump_subtasks
from shared.contracts.yamltext import YamlText, read_yaml
from shared.domain.author import Author, PlanningRole
from shared.domain.config import Policy
from shared.domain.errors import Rejected
from shared.domain.next_step import Advice, Blank, NextStep, edit_file
from shared.domain.plan import (
    OnFailure,
    Plan,
    Recovery,
    Step,
    Subtask,
    check_steps,
    check_subtasks,
    default_dependencies,
    keep_apart,
)

__all__ = [
    "BY_HAND",
    "authorship",
    "dump_plan",
    "dump_subtasks",
    "load_plan",
    "load_revision",
    "plan_in",
    "revision_in",
    "rollback_of",
]

BY_HAND = Author(PlanningRole.HUMAN, "human")

REVISE_BY_HAND = NextStep.of("step revise", Blank("STEP"), file=Blank("FILE"))


def load_plan(text: str, *, policy: Policy, source: str | None = None) -> Plan:
    """The plan in the text of a plan file; `source` is the name that errors give it.

    A plan that names no planner was planned by a person and is tried again when it fails (X6); one
    that names a planner is revised by that planner. A subtask without a timeout gets the policy's.
    Raises Rejected, at stage `plan`, for every fault, naming line, path, value and what is allowed.
    """
    step = edit_file(source or "FILE")
    origin = Origin(source or "the plan", "plan", step)
    return _plan(read_yaml(text, origin), policy, origin)


def plan_in(data: object, *, policy: Policy, origin: Origin) -> Plan:
    """The plan in data of the same form; raises the origin's error as `load_plan` does."""
    return _plan(YamlText(data, {}), policy, origin)


def load_revision(
    text: str,
    *,
    policy: Policy,
    source: str = "the revision",
    next_step: Advice = REVISE_BY_HAND,
) -> tuple[Subtask, ...]:
    """The subtasks in a text: a list of them, `{subtasks: [...]}`, or a plan with one step.

    Raises Rejected, at stage `revise`, as `load_plan` does.
    """
    origin = Origin(source, "revise", next_step)
    return _revision(read_yaml(text, origin), policy, origin)


def rollback_of(text: str, *, source: str, next_step: Advice) -> tuple[str, ...]:
    """The keys that the same text names under `rollback`; raises Rejected as `load_revision`."""
    origin = Origin(source, "revise", next_step)
    read = read_yaml(text, origin)
    if not isinstance(read.data, dict) or "rollback" not in read.data:
        return ()
    return tuple(RevisionDocument.read(read, origin).rollback)


def revision_in(data: object, *, policy: Policy, origin: Origin) -> tuple[Subtask, ...]:
    """The subtasks in data of the same forms; raises the origin's error as `load_revision` does."""
    return _revision(YamlText(data, {}), policy, origin)


def _plan(read: YamlText, policy: Policy, origin: Origin) -> Plan:
    document = PlanDocument.read(read, origin)
    steps = _steps(document, policy, read, origin)
    _check(lambda: check_steps(steps), origin)
    return Plan(steps=keep_apart(steps), summary=document.summary, autonomy=document.autonomy)


def _revision(read: YamlText, policy: Policy, origin: Origin) -> tuple[Subtask, ...]:
    if isinstance(read.data, list):
        inner = {("subtasks", *path): line for path, line in read.lines.items()}
        read = YamlText({"subtasks": read.data}, inner)
    if isinstance(read.data, dict) and "steps" in read.data:
        plan = PlanDocument.read(read, origin)
        if len(plan.steps) != 1:
            raise origin.error(f"a revision is of one step, and here are {len(plan.steps)}")
        documents = plan.steps[0].subtasks
    else:
        documents = RevisionDocument.read(read, origin).subtasks
    subtasks = subtasks_of(documents, policy)
    _check(lambda: check_subtasks(subtasks), origin)
    return subtasks


def authorship(planner: PlannerName | None) -> tuple[Author, Recovery]:
    """Who gets a step's evidence, and the default recovery of a failed pass (X6)."""
    if planner is None:
        return BY_HAND, Recovery.RETRY
    if planner == "human":
        return BY_HAND, Recovery.REPLAN
    return Author(PlanningRole.SUBTASK_PLANNER, planner), Recovery.REPLAN


def _steps(
    document: PlanDocument, policy: Policy, read: YamlText, origin: Origin
) -> tuple[Step, ...]:
    keys = [step.key(ordinal) for ordinal, step in enumerate(document.steps, 1)]
    named = _named_dependencies(document.steps, keys, read, origin)
    depends = default_dependencies(
        (ordinal, step.own_group, named[ordinal]) for ordinal, step in enumerate(document.steps, 1)
    )
    return tuple(
        _step(ordinal, step, depends[ordinal], document.planner, policy)
        for ordinal, step in enumerate(document.steps, 1)
    )


def _named_dependencies(
    steps: list[StepDocument], keys: list[str], read: YamlText, origin: Origin
) -> dict[int, tuple[int, ...] | None]:
    ordinals = {key: ordinal for ordinal, key in enumerate(keys, 1)}
    named: dict[int, tuple[int, ...] | None] = {}
    faults: list[str] = []
    for ordinal, step in enumerate(steps, 1):
        for position, key in enumerate(step.depends_on or ()):
            if key not in ordinals:
                path = ("steps", ordinal - 1, "depends_on", position)
                faults.append(f"{read.place(path)}: {key!r} is {unknown(key, keys)}")
        if step.depends_on is None:
            named[ordinal] = None
        else:
            named[ordinal] = tuple(ordinals[key] for key in step.depends_on if key in ordinals)
    if faults:
        raise origin.faults(faults)
    return named


def _step(
    ordinal: int,
    document: StepDocument,
    depends_on: tuple[int, ...],
    planner: PlannerName | None,
    policy: Policy,
) -> Step:
    author, recovery = authorship(document.planner or planner)
    return Step(
        ordinal=ordinal,
        key=document.key(ordinal),
        title=document.title,
        instruction=document.instruction,
        author=author,
        depends_on=depends_on,
        parallel_group=document.parallel_group,
        recovery=recovery if document.recovery is None else Recovery(document.recovery),
        on_failure=OnFailure(document.on_failure),
        subtasks=subtasks_of(document.subtasks, policy),
        **document.details(),
    )


def _check(check: Callable[[], None], origin: Origin) -> None:
    try:
        check()
    except Rejected as error:
        raise origin.error(error.reason) from error
