"""What follows when a planner wants to see something on a host before it answers.

The planning job has ended with its request. A worker takes the looks, and the same planning job is
enqueued again. A round is known by its number; a planning that begins anew counts from 1.
"""

from dataclasses import replace

from orchestrator.core.decisions import Decision, Enqueue, KeepLooks
from orchestrator.core.state import StepState, TaskState
from orchestrator.core.step_rules import StepAdvance, enqueue_again
from shared.domain.author import PlanningRole
from shared.domain.facts import JobFailed, LooksRequested, LooksTaken
from shared.domain.jobs import JobKind
from shared.domain.look import NOT_LOOKED, Looking
from shared.domain.task import StepPhase, TaskPhase

LooksFact = LooksRequested | LooksTaken
TaskAdvance = tuple[TaskState, tuple[Decision, ...]]


_PLANNED = frozenset({StepPhase.DETAILING, StepPhase.REPLANNING})


def overtaken_looks(step: StepState, fact: LooksFact) -> bool:
    """Whether the step does not await this: another planning or another round is at hand."""
    asked = step.phase in _PLANNED and _planning_of(step) is fact.kind
    return not asked or step.pass_no != fact.pass_no or _is_other_round(step.looks, fact)


def after_looks(step: StepState, fact: LooksFact) -> StepAdvance:
    """Have the looks taken, or ask the same planner again."""
    looking = _looking(fact)
    step = replace(step, looks=looking, postponed=0)
    if looking.under_way:
        return step, _take(fact)
    return step, (enqueue_again(step, fact.kind),)


def overtaken_task_looks(state: TaskState, fact: LooksFact) -> bool:
    """Whether the task does not await this; see `overtaken_looks`."""
    if planning_phase(fact) is not state.phase:
        return True
    if fact.step is not None and fact.step not in state.bare_steps():
        return True
    return _is_other_round(looking_of(state, fact.step), fact)


def after_task_looks(state: TaskState, fact: LooksFact) -> TaskAdvance:
    """Have the looks taken, or ask the same planner again."""
    looking = _looking(fact)
    looks = {**state.looks, fact.step or 0: looking}
    postponed = 0 if fact.step is None else state.postponed
    state = replace(state, looks=looks, postponed=postponed)
    if looking.under_way:
        return state, _take(fact)
    role = PlanningRole.PLANNER if fact.kind is JobKind.PLAN else PlanningRole.SUBTASK_PLANNER
    return state, (Enqueue(fact.kind, fact.step, role=role, looks=looking.rounds),)


def looking_of(state: TaskState, step: int | None) -> Looking:
    """How far the planning of that step has looked, or that of the plan itself."""
    return state.looks.get(step or 0, NOT_LOOKED)


def is_of_other_planning(step: StepState, fact: JobFailed) -> bool:
    """Whether a failed job is not the one that a step waits for while it is being planned."""
    if is_of_other_turn(step.looks, fact):
        return True
    answers = fact.kind if fact.kind in {JobKind.REPLAN, JobKind.DETAIL} else JobKind.REVISE
    return fact.kind is not JobKind.LOOK and _planning_of(step) is not answers


def is_of_other_turn(looking: Looking, fact: JobFailed) -> bool:
    """Whether a failed job is a planner's while its looks are taken, or the other way round."""
    return looking.under_way is not (fact.kind is JobKind.LOOK)


def planning_phase(fact: LooksFact) -> TaskPhase | None:
    """The phase of a task in which it is planned like that."""
    return {JobKind.PLAN: TaskPhase.PLANNING, JobKind.DETAIL: TaskPhase.DETAILING}.get(fact.kind)


def _planning_of(step: StepState) -> JobKind:
    """The kind of the job that answers for a step that is being detailed or replanned."""
    if step.phase is StepPhase.DETAILING:
        return JobKind.DETAIL
    if not step.handed_up:
        return JobKind.REVISE
    return JobKind.REPLAN if step.draft is None else JobKind.DETAIL


def _is_other_round(looking: Looking, fact: LooksFact) -> bool:
    if isinstance(fact, LooksRequested):
        return looking != Looking(fact.round_no - 1)
    return looking != Looking(fact.round_no, under_way=True)


def _looking(fact: LooksFact) -> Looking:
    return Looking(fact.round_no, under_way=isinstance(fact, LooksRequested))


def _take(fact: LooksFact) -> tuple[Decision, ...]:
    assert isinstance(fact, LooksRequested)  # noqa: S101 - narrows the type
    place = (fact.kind, fact.step, fact.revision, fact.pass_no)
    return (
        KeepLooks(*place, fact.round_no, fact.looks),
        Enqueue(
            JobKind.LOOK,
            fact.step,
            revision=fact.revision,
            pass_no=fact.pass_no,
            looks=fact.round_no,
        ),
    )
