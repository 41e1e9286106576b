"""What follows from a fact about a task: planning, then its runs."""

from dataclasses import replace
from typing import assert_never

from orchestrator.core.decisions import (
    CancelJobs,
    CancelRuns,
    CloseInterventions,
    Decision,
    DisableHost,
    Enqueue,
    FreeJob,
    Grant,
    OpenIntervention,
    ResumeRuns,
    StartRuns,
    TellPolicy,
)
from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.core.look_rules import (
    after_task_looks,
    is_of_other_turn,
    looking_of,
    overtaken_task_looks,
)
from orchestrator.core.retry_rules import put_off
from orchestrator.core.state import TaskState
from shared.domain import facts as f
from shared.domain.approval import plan_digest
from shared.domain.author import PlanningRole
from shared.domain.budget import may_postpone
from shared.domain.config import PLAN, details_in_turn, with_limits
from shared.domain.jobs import JobKind
from shared.domain.next_step import Advice
from shared.domain.plan import Plan
from shared.domain.spending import SPENDING
from shared.domain.task import ENDED_RUN, ENDED_TASK, RunPhase, TaskPhase

Advance = tuple[TaskState, tuple[Decision, ...]]

PLANNING_JOBS = {
    JobKind.REFINE: TaskPhase.REFINING,
    JobKind.PLAN: TaskPhase.PLANNING,
    JobKind.DETAIL: TaskPhase.DETAILING,
}


def overtaken(  # noqa: C901, PLR0912 - one case a fact
    state: TaskState, fact: f.TaskFact
) -> bool:
    """Whether the fact is a duplicate or comes too late."""
    match fact:
        case f.TaskSubmitted():
            return state.phase is not TaskPhase.SUBMITTED
        case f.PromptRefined() | f.QuestionAsked():
            return state.phase is not TaskPhase.REFINING
        case f.PlanDrafted():
            return not _wants_plan(state, fact.plan)
        case f.StepDetailed():
            plans = state.phase in {TaskPhase.DETAILING, TaskPhase.WAITING}
            return fact.step not in state.bare_steps() or not plans or _has_begun(state)
        case f.PlanApproved():
            return not _asks_for_plan(state) or fact.plan_digest != _digest(state)
        case f.RunChanged():
            return (
                state.phase in {TaskPhase.DONE, TaskPhase.CANCELLED}
                or state.runs.get(fact.run_id, fact.phase) is fact.phase
            )
        case f.HostKeyChanged():
            return False  # the task does not remember which hosts are disabled
        case f.LooksRequested() | f.LooksTaken():
            return overtaken_task_looks(state, fact)
        case f.JobFailed():
            return _phase_of(fact) is not state.phase or _is_answered(state, fact)
        case f.WorkerLost():
            return _phase_of(fact) is not state.phase
        case f.CancelRequested():
            return state.phase in ENDED_TASK
        case f.ResumeRequested():
            goes_on = {TaskPhase.WAITING, TaskPhase.ERROR, TaskPhase.RUNNING}
            return state.phase not in goes_on or _asks(state)
        case f.QuestionAnswered():
            return not _awaits(state, fact)
        case f.PolicyChanged():
            unheard = {TaskPhase.SUBMITTED, TaskPhase.DONE, TaskPhase.CANCELLED}
            return state.phase in unheard or with_limits(state.policy, fact.changes) == state.policy
        case _:
            assert_never(fact)


def _asks(state: TaskState) -> bool:
    """Whether the taskmaster waits for an answer; a resumption does not stand for one."""
    return state.phase is TaskPhase.WAITING and state.asking


def _awaits(state: TaskState, fact: f.QuestionAnswered) -> bool:
    """Whether a person is being asked this."""
    if fact.step is None:
        return _asks(state)
    asked = {step.ordinal: step.ask_question for step in state.open_questions()}
    waits = state.phase is TaskPhase.WAITING and not _has_begun(state)
    return waits and asked.get(fact.step) == fact.question


def _wants_plan(state: TaskState, plan: Plan) -> bool:
    if state.phase is TaskPhase.PLANNING:
        return True
    complete = all(step.subtasks for step in plan.steps)
    return (
        state.phase is TaskPhase.WAITING
        and not _has_begun(state)
        and (state.plan is None or complete)
    )


def _asks_for_plan(state: TaskState) -> bool:
    """Whether only a person's approval of the plan is missing."""
    complete = state.plan is not None and not state.bare_steps()
    wanted = complete and not state.open_questions() and not _has_begun(state)
    return state.phase is TaskPhase.WAITING and wanted


def _digest(state: TaskState) -> str:
    return "" if state.plan is None else plan_digest(state.plan)


def _has_begun(state: TaskState) -> bool:
    """Whether the runs were started; one may be cancelled before that."""
    untouched = {RunPhase.NOT_STARTED, RunPhase.CANCELLED}
    return state.phase is TaskPhase.RUNNING or not untouched.issuperset(state.runs.values())


def _phase_of(fact: f.JobFailed | f.WorkerLost) -> TaskPhase | None:
    """The phase in which a task has such a job."""
    if fact.kind is JobKind.LOOK:
        return TaskPhase.PLANNING if fact.step is None else TaskPhase.DETAILING
    return PLANNING_JOBS.get(fact.kind)


def _is_answered(state: TaskState, fact: f.JobFailed) -> bool:
    if is_of_other_turn(looking_of(state, fact.step), fact):
        return True
    if fact.step is not None:
        return fact.step not in state.bare_steps()
    return fact.postponed != state.postponed


def apply(  # noqa: C901, PLR0912 - one case a fact
    state: TaskState, fact: f.TaskFact
) -> Advance:
    """Compute the next state and the decisions. The fact is not overtaken."""
    match fact:
        case f.TaskSubmitted():
            return _submit(fact)
        case f.PromptRefined():
            return _plan(replace(state, postponed=0, unrefined=False))
        case f.PlanDrafted():
            planned = replace(state, plan=fact.plan, postponed=0, reason="")
            return _detail(replace(planned, unrefined=False, asking=False))
        case f.StepDetailed():
            return _with_step(state, fact)
        case f.PlanApproved():
            running, decisions = _run(state)
            return running, (Grant(fact.approvals), *decisions)
        case f.RunChanged():
            return _follow(state, fact)
        case f.HostKeyChanged():
            return state, (DisableHost(fact.host, fact.reason),)
        case f.LooksRequested() | f.LooksTaken():
            return after_task_looks(state, fact)
        case f.JobFailed():
            return _after_failed_job(state, fact)
        case f.WorkerLost():
            return state, (FreeJob(fact.kind, fact.step),)
        case f.CancelRequested():
            return _cancel(state)
        case f.ResumeRequested():
            return _resume(state)
        case f.QuestionAsked():
            return _ask_for_taskmaster(state, fact)
        case f.QuestionAnswered():
            return _answer(state, fact)
        case f.PolicyChanged():
            limited = with_limits(state.policy, fact.changes)
            return replace(state, policy=limited), (TellPolicy(fact.changes),)
        case _:
            assert_never(fact)


def _submit(fact: f.TaskSubmitted) -> Advance:
    state = TaskState(
        policy=fact.policy,
        runs=dict.fromkeys(fact.run_ids, RunPhase.NOT_STARTED),
    )
    if fact.plan is not None:
        return _detail(replace(state, plan=fact.plan))
    if fact.policy.taskmaster_enabled:
        return _refine(replace(state, unrefined=True))
    return _plan(state)


def _refine(state: TaskState) -> Advance:
    return replace(state, phase=TaskPhase.REFINING), (Enqueue(JobKind.REFINE),)


def _plan(state: TaskState) -> Advance:
    if state.policy.planner == "human":
        return _wait(state, "a person is to plan this task", stage="plan")
    return replace(state, phase=TaskPhase.PLANNING, looks={}), (
        Enqueue(JobKind.PLAN, role=PlanningRole.PLANNER),
    )


def _detail(state: TaskState) -> Advance:
    """Ask for the subtasks of every step that has none; with all of them, begin.

    Where steps are detailed in their turn, the runs ask for them. What a person has to be asked
    comes first: the answer is part of what is planned.
    """
    if state.open_questions():
        return _ask_for_steps(state)
    missing = state.bare_steps()
    if not missing or details_in_turn(state.policy):
        return _start(state)
    if state.policy.subtask_planner == "human":
        numbers = ", ".join(map(str, missing))
        waiting, asked = _wait(state, f"a person is to detail step {numbers}", stage="detail")
        return waiting, (CloseInterventions(), *asked)
    detailing = replace(state, phase=TaskPhase.DETAILING, looks={})
    return detailing, (
        CloseInterventions(),
        *(Enqueue(JobKind.DETAIL, ordinal) for ordinal in missing),
    )


def _with_step(state: TaskState, fact: f.StepDetailed) -> Advance:
    assert state.plan is not None  # noqa: S101 - narrows the type
    steps = tuple(
        replace(step, subtasks=fact.subtasks, author=fact.author)
        if step.ordinal == fact.step
        else step
        for step in state.plan.steps
    )
    detailed = replace(state, plan=replace(state.plan, steps=steps))
    if not detailed.bare_steps() and not detailed.open_questions():
        return _start(detailed)
    by_hand = fact.author.role is PlanningRole.HUMAN and state.phase is TaskPhase.WAITING
    return _detail(detailed) if by_hand else (detailed, ())


def _start(state: TaskState) -> Advance:
    """Begin, or ask for approval first (S0.88); a dry run changes nothing and need not ask."""
    planned = state.plan is not None and bool(state.plan.steps)
    if state.policy.autonomy == PLAN and planned and not state.policy.dry_run_mode:
        reason = "nothing of this plan runs before a person has approved it"
        waiting, asked = _wait(state, reason, stage="plan", kind=InterventionKind.PLAN_APPROVAL)
        return waiting, (CloseInterventions(), *asked)
    return _run(state)


def _ask_for_steps(state: TaskState) -> Advance:
    """Ask the questions of all steps at once, so that a person answers them in one go (S3.11)."""
    asked = tuple(
        OpenIntervention(
            InterventionKind.QUESTION,
            step.ordinal,
            step.ask_question,
            "plan",
            options=step.ask_options,
        )
        for step in state.open_questions()
    )
    numbers = ", ".join(str(step.ordinal) for step in state.open_questions())
    reason = f"a person is to answer the question of step {numbers}"
    waiting = replace(state, phase=TaskPhase.WAITING, reason=reason, postponed=0)
    return waiting, (CloseInterventions(), *asked)


def _ask_for_taskmaster(state: TaskState, fact: f.QuestionAsked) -> Advance:
    asked = fact.question
    waiting = replace(state, phase=TaskPhase.WAITING, reason=asked.text, postponed=0, asking=True)
    return waiting, (
        OpenIntervention(
            InterventionKind.QUESTION, None, asked.text, "refine", options=asked.options
        ),
    )


def _answer(state: TaskState, fact: f.QuestionAnswered) -> Advance:
    """Start the taskmaster again with the answer, or plan and run the step with it."""
    if fact.step is None or state.plan is None:
        refining, decisions = _refine(replace(state, asking=False, reason=""))
        return refining, (CloseInterventions(), *decisions)
    steps = tuple(
        replace(step, answer=fact.answer) if step.ordinal == fact.step else step
        for step in state.plan.steps
    )
    answered = replace(state, plan=replace(state.plan, steps=steps))
    if answered.open_questions():
        return answered, (CloseInterventions(fact.step),)
    return _detail(replace(answered, reason=""))


def _run(state: TaskState) -> Advance:
    assert state.plan is not None  # noqa: S101 - narrows the type
    return replace(state, phase=TaskPhase.RUNNING, reason=""), (
        CloseInterventions(),
        StartRuns(state.policy, state.plan),
    )


def _follow(state: TaskState, fact: f.RunChanged) -> Advance:
    """Set the phase of a task from its runs: it ends with the last one."""
    state = replace(state, runs={**state.runs, fact.run_id: fact.phase})
    phases = set(state.runs.values())
    if not _has_begun(state):
        return _cancel(state) if phases == {RunPhase.CANCELLED} else (state, ())
    if phases <= ENDED_RUN:
        phase = TaskPhase(_worst(phases).value)
    elif phases & {RunPhase.RUNNING, RunPhase.NOT_STARTED}:
        phase = TaskPhase.RUNNING
    else:
        phase = TaskPhase.WAITING
    return replace(state, phase=phase), ()


def _worst(phases: set[RunPhase]) -> RunPhase:
    return next(p for p in (RunPhase.ERROR, RunPhase.CANCELLED, RunPhase.DONE) if p in phases)


def _after_failed_job(state: TaskState, fact: f.JobFailed) -> Advance:
    if may_postpone(fact.family, fact.postponed, state.policy):
        delay = put_off(state.policy, fact, fact.postponed + 1, *state.runs)
        role = PlanningRole.PLANNER if fact.kind is JobKind.PLAN else PlanningRole.SUBTASK_PLANNER
        rounds = looking_of(state, fact.step).rounds
        again = Enqueue(fact.kind, fact.step, role=role, delay=delay, looks=rounds)
        again = replace(again, postponed=fact.postponed + 1)
        counted = state.postponed + (fact.step is None)
        return replace(state, postponed=counted, reason=fact.reason), (again,)
    if fact.kind is JobKind.REFINE and fact.family == "rejected":
        return _plan(replace(state, postponed=0, unrefined=False, reason=fact.reason))
    kind = InterventionKind.SPENDING if fact.stage == SPENDING else InterventionKind.PLAN
    return _wait(
        state, fact.reason, stage=fact.stage, step=fact.step, next_step=fact.next_step, kind=kind
    )


def _wait(
    state: TaskState,
    reason: str,
    *,
    stage: str,
    step: int | None = None,
    next_step: Advice | None = None,
    kind: InterventionKind = InterventionKind.PLAN,
) -> Advance:
    waiting = replace(state, phase=TaskPhase.WAITING, reason=reason, postponed=0, looks={})
    return waiting, (OpenIntervention(kind, step, reason, stage, next_step),)


def _cancel(state: TaskState) -> Advance:
    if _has_begun(state):
        return state, (CancelRuns(),)
    reason = "cancelled by an operator"
    return replace(state, phase=TaskPhase.CANCELLED, reason=reason), (
        CancelJobs(),
        CloseInterventions(),
        CancelRuns(),
    )


def _resume(state: TaskState) -> Advance:
    if _has_begun(state):
        phase = TaskPhase.RUNNING if state.phase is TaskPhase.ERROR else state.phase
        return replace(state, phase=phase), (ResumeRuns(),)
    resumed = replace(state, postponed=0, reason="")
    if state.plan is not None:
        return _detail(resumed)
    planning, decisions = _refine(resumed) if state.unrefined else _plan(resumed)
    return planning, (CloseInterventions(), *decisions)
