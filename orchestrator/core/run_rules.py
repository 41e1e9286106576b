"""What follows from a fact about a run."""

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from orchestrator.core.answer_rules import (
    after_allowance,
    after_answer,
    after_approval,
    after_denial,
    after_reply,
    after_settling,
)
from orchestrator.core.cleanup_rules import (
    after_cleanup,
    after_failed_cleanup,
    after_left_running,
    is_about_cleanup,
    overtaken_cleanup,
)
from orchestrator.core.decisions import (
    CancelAttempt,
    CancelJobs,
    CloseInterventions,
    Decision,
    FreeJob,
    ReportRun,
)
from orchestrator.core.detail_rules import after_detail, enqueue_detail
from orchestrator.core.job_rules import (
    AT_WORK,
    awaits_advice,
    overtaken_failure,
    overtaken_loss,
)
from orchestrator.core.lessons import with_lesson
from orchestrator.core.look_rules import after_looks, overtaken_looks
from orchestrator.core.plan_rules import OUT_OF_REACH, answer_draft, change_plan, is_met
from orchestrator.core.replacement_rules import overtaken_replacement, replace_steps
from orchestrator.core.state import RunState, StepState, WaitsFor
from orchestrator.core.step_rules import (
    after_advice,
    after_bundle,
    after_handing_up,
    after_pass,
    after_sending,
    drive_on,
    enqueue_pass,
    put_off_or_wait,
    request_revision,
)
from shared.domain import facts as f
from shared.domain.config import ASK, with_limits
from shared.domain.jobs import JobKind
from shared.domain.look import NOT_LOOKED
from shared.domain.plan import OnFailure, open_questions
from shared.domain.task import ENDED_RUN, ENDED_STEP, RunPhase, StepPhase

HELD_UP = frozenset({StepPhase.WAITING, StepPhase.BLOCKED})
RESUMABLE = HELD_UP | {StepPhase.ERROR, StepPhase.SKIPPED}
TOLD_BY_A_PERSON = frozenset({WaitsFor.OUTCOME, WaitsFor.RECORDS, WaitsFor.ANSWER, WaitsFor.BUDGET})
"""Waits that only the person can end who was asked; a resumption cannot."""

REVISABLE = AT_WORK | RESUMABLE | {StepPhase.NOT_STARTED, StepPhase.DETAILING, StepPhase.REPLANNING}

Advance = tuple[RunState, tuple[Decision, ...]]


def overtaken(state: RunState, fact: f.RunFact) -> bool:
    """Whether the fact is a duplicate, or belongs to an earlier pass or revision."""
    if state.phase is RunPhase.CANCELLED and not is_about_cleanup(fact):
        return True
    match fact:
        case f.RunStarted():
            return state.phase is not RunPhase.NOT_STARTED
        case f.CancelRequested():
            return state.phase in ENDED_RUN
        case f.ResumeRequested():
            return not any(map(_resumable, state.steps.values()))
        case f.PolicyChanged():
            return state.phase in {RunPhase.NOT_STARTED, RunPhase.DONE} or (
                with_limits(state.policy, fact.changes) == state.policy
            )
        case f.StepsReplaced():
            return overtaken_replacement(state, fact)
    step = state.steps.get(fact.step or 0)
    return step is None or _overtaken_step(step, fact)


def _overtaken_step(  # noqa: C901, PLR0912 - one case a fact
    step: StepState, fact: f.StepFact | f.PlanRevised | f.StepAbandoned
) -> bool:
    match fact:
        case f.StepDetailed():
            return step.phase is not StepPhase.DETAILING
        case f.PassStarted():
            return (step.phase, step.pass_no) != (StepPhase.READY, fact.pass_no)
        case f.PassFinished() | f.AttemptCancelRequested():
            return step.phase not in AT_WORK or step.pass_no != fact.pass_no
        case f.BundleReady() | f.StepHandedUp():
            return not _seeks_revision(step, fact.pass_no, handed_up=False)
        case f.PlanRevised():
            detailed = step.draft is None or all(each.subtasks for each in fact.steps)
            return not (detailed and _seeks_revision(step, fact.pass_no, handed_up=True))
        case f.BundleSent():
            return not _waits_for(step, WaitsFor.SENDING, fact.pass_no)
        case f.StepRevised():
            return step.phase not in REVISABLE or fact.revision != step.revision + 1
        case f.RevisionRequested():
            if step.phase is StepPhase.REPLANNING:
                return step.forced and step.note == fact.note
            return step.bare or step.phase not in AT_WORK | HELD_UP
        case f.StepAbandoned():
            return step.phase not in HELD_UP
        case f.OutcomeTold():
            return not _waits_for(step, WaitsFor.OUTCOME, fact.pass_no)
        case f.RecordsSettled():
            return not _waits_for(step, WaitsFor.RECORDS, fact.pass_no)
        case f.SpendingAllowed():
            asked = WaitsFor.SPENDING if fact.budget is None else WaitsFor.BUDGET
            return not _waits_for(step, asked, fact.pass_no)
        case f.CommandsApproved() | f.ApprovalDenied():
            return not _waits_for(step, WaitsFor.APPROVAL, fact.pass_no)
        case f.QuestionAnswered():
            return not (_waits_for(step, WaitsFor.ANSWER, fact.pass_no) and _asks(step, fact))
        case f.RetryAdvised():
            return not awaits_advice(step) or step.pass_no != fact.pass_no
        case f.LooksRequested() | f.LooksTaken():
            return overtaken_looks(step, fact)
        case f.CommandLeftRunning() | f.CleanupFinished():
            return overtaken_cleanup(step, fact)
        case f.JobFailed(kind=JobKind.CLEAN_UP):
            return overtaken_cleanup(step, fact)
        case f.JobFailed():
            return overtaken_failure(step, fact)
        case f.WorkerLost():
            return overtaken_loss(step, fact)
        case _:
            assert_never(fact)


def _waits_for(step: StepState, what: WaitsFor, pass_no: int) -> bool:
    """Whether that pass waits for a person to say this."""
    return step.waits_for is what and step.pass_no == pass_no


def _asks(step: StepState, fact: f.QuestionAnswered) -> bool:
    """Whether it is a question of the step's pass, or an open one of the changed plan."""
    if step.draft is None:
        return True
    return fact.question in {each.ask_question for each in open_questions(step.draft.steps)}


def _seeks_revision(step: StepState, pass_no: int, *, handed_up: bool) -> bool:
    """Whether its author or the planner of the task is being asked now; never both at once."""
    asked = step.phase is StepPhase.REPLANNING and step.handed_up is handed_up
    return asked and step.pass_no == pass_no


def apply(state: RunState, fact: f.RunFact) -> Advance:
    """Compute the next state and the decisions. The fact is not overtaken."""
    match fact:
        case f.RunStarted():
            begun = RunState(
                id=state.id,
                policy=fact.policy,
                steps={step.ordinal: StepState.of(step) for step in fact.plan.steps},
            )
            return _settle(state, begun, ())
        case f.CancelRequested():
            return _cancel(state)
        case f.ResumeRequested():
            return _resume(state)
        case f.PolicyChanged():
            return replace(state, policy=with_limits(state.policy, fact.changes)), ()
        case f.StepAbandoned():
            return _abandon(state, state.steps[fact.step])
        case f.PlanRevised():
            changed, decisions = change_plan(state, fact)
            return _settle(state, changed, decisions)
        case f.StepsReplaced():
            changed, decisions = replace_steps(state, fact)
            return _settle(state, changed, decisions)
    step = state.steps[fact.step or 0]
    if isinstance(fact, f.QuestionAnswered) and step.draft is not None:
        changed, decisions = answer_draft(state, fact)
        return _settle(state, changed, decisions)
    after, decisions = _apply_to_step(state, step, fact)
    return _settle(state, state.with_step(after), decisions)


def _apply_to_step(  # noqa: C901, PLR0912 - one case a fact
    state: RunState, step: StepState, fact: f.StepFact
) -> tuple[StepState, tuple[Decision, ...]]:
    match fact:
        case f.StepDetailed():
            return after_detail(step, fact)
        case f.PassStarted():
            return replace(step, phase=StepPhase.RUNNING, reason=""), ()
        case f.PassFinished():
            passed = after_pass(step, state.policy, fact, seed=state.id)
            return with_lesson(passed, state.policy, fact)
        case f.BundleReady():
            return after_bundle(step, state.policy)
        case f.BundleSent():
            return after_sending(step, fact)
        case f.StepHandedUp():
            return after_handing_up(step, state.policy, fact)
        case f.StepRevised():
            return _revise(step, fact)
        case f.RevisionRequested():
            return request_revision(step, fact.note)
        case f.OutcomeTold():
            return after_answer(step, fact)
        case f.RecordsSettled():
            return after_settling(step, fact)
        case f.SpendingAllowed():
            return after_allowance(step, fact)
        case f.CommandsApproved():
            return after_approval(step, fact)
        case f.ApprovalDenied():
            return after_denial(step, fact)
        case f.QuestionAnswered():
            return after_reply(step, fact)
        case f.RetryAdvised():
            return after_advice(step, fact)
        case f.LooksRequested() | f.LooksTaken():
            return after_looks(step, fact)
        case f.AttemptCancelRequested():
            return step, (CancelAttempt(fact.key),)
        case f.CommandLeftRunning():
            return after_left_running(step, fact)
        case f.CleanupFinished():
            return after_cleanup(step)
        case f.JobFailed(kind=JobKind.CLEAN_UP):
            return after_failed_cleanup(step, fact)
        case f.JobFailed():
            resting = StepPhase.READY if fact.kind is JobKind.EXECUTE else step.phase
            return put_off_or_wait(step, state.policy, fact, resting, seed=state.id)
        case f.WorkerLost():
            return step, (FreeJob(fact.kind, fact.step),)
        case _:
            assert_never(fact)


def _revise(step: StepState, fact: f.StepRevised) -> tuple[StepState, tuple[Decision, ...]]:
    """Take a new list of subtasks and count errors from zero again (S0.57–S0.58)."""
    revised = replace(
        step,
        author=fact.author,
        revision=fact.revision,
        errors=0,
        failures=0,
        postponed=0,
        forced=False,
        note="",
        answer=None,
        bare=False,
        reason="",
    )
    dropped = (CancelJobs(step.ordinal), CloseInterventions(step.ordinal))
    if step.phase in {StepPhase.NOT_STARTED, StepPhase.SKIPPED}:
        return replace(revised, phase=StepPhase.NOT_STARTED), dropped
    ready, enqueued = enqueue_pass(revised)
    return ready, (*dropped, *enqueued)


def _cancel(state: RunState) -> Advance:
    steps = {
        ordinal: step
        if step.phase in ENDED_STEP
        else replace(
            step,
            phase=StepPhase.CANCELLED,
            waits_for=None,
            draft=None,
            looks=NOT_LOOKED,
            reason="cancelled by an operator",
        )
        for ordinal, step in state.steps.items()
    }
    return _settle(
        state, replace(state, steps=steps), (CancelJobs(), CloseInterventions()), cancelled=True
    )


def _resumable(step: StepState) -> bool:
    """Whether a resumption brings a step back; it does not stand for an answer."""
    return step.phase in RESUMABLE and step.waits_for not in TOLD_BY_A_PERSON


def _resume(state: RunState) -> Advance:
    """Clear the counters and run again what failed, but nothing that is done (S1.13–S1.15).

    That includes the counter of a step at work (S1.13 says all). A resumption that brings nothing
    back changes nothing, so several in a row allow no more tries than one.
    """
    unanswered = tuple(s.ordinal for s in state.steps.values() if s.waits_for in TOLD_BY_A_PERSON)
    decisions: list[Decision] = [CloseInterventions(sparing=unanswered)]
    after = state
    for step in state.steps.values():
        if step.phase in AT_WORK:
            after = after.with_step(replace(step, failures=0))
        if not _resumable(step):
            continue
        cleared = replace(
            step,
            errors=0,
            failures=0,
            postponed=0,
            forced=False,
            note="",
            answer=None,
            reason="",
        )
        if step.phase is StepPhase.SKIPPED:
            after = after.with_step(replace(cleared, phase=StepPhase.NOT_STARTED))
            continue
        again, enqueued = _begin(cleared)
        after = after.with_step(again)
        decisions.extend(enqueued)
    return _settle(state, after, tuple(decisions))


def _begin(step: StepState) -> tuple[StepState, tuple[Decision, ...]]:
    """Have a step carried out, or driven on where its pass came to no end, or first detailed."""
    if step.bare:
        return enqueue_detail(step)
    return drive_on(step) if step.unfinished else enqueue_pass(step)


def _abandon(state: RunState, step: StepState) -> Advance:
    reason = step.reason or "given up by an operator"
    given_up = replace(step, phase=StepPhase.ERROR, waits_for=None, draft=None, reason=reason)
    after = state.with_step(given_up)
    if step.on_failure is OnFailure.STOP:
        for other in state.steps.values():
            if other.phase is StepPhase.NOT_STARTED:
                why = f"step {step.ordinal} was given up"
                after = after.with_step(replace(other, phase=StepPhase.SKIPPED, reason=why))
    return _settle(state, after, (CloseInterventions(step.ordinal),))


def _settle(
    before: RunState, state: RunState, decisions: tuple[Decision, ...], *, cancelled: bool = False
) -> Advance:
    """Start the steps that can start, then set the phase of the run."""
    state, started = _launch(_strand(state))
    phase = RunPhase.CANCELLED if cancelled else _phase(state)
    report = () if phase is before.phase else (ReportRun(phase),)
    return replace(state, phase=phase), (*decisions, *started, *report)


def _strand(state: RunState) -> RunState:
    """Skip every step whose needs can no longer be met."""
    while (stranded := next(_steps_to_skip(state), None)) is not None:
        state = state.with_step(stranded)
    return state


def _steps_to_skip(state: RunState) -> Iterator[StepState]:
    for step in state.steps.values():
        if step.phase is not StepPhase.NOT_STARTED:
            continue
        for needed in map(state.steps.__getitem__, step.depends_on):
            if needed.phase in OUT_OF_REACH and not is_met(needed):
                why = f"step {needed.ordinal} {OUT_OF_REACH[needed.phase]}"
                yield replace(step, phase=StepPhase.SKIPPED, reason=why)


def _launch(state: RunState) -> Advance:
    """Enqueue every step whose dependencies are met; a bare one is detailed first.

    Under `autonomy: ask` nothing further begins while a person is to approve something.
    """
    if state.policy.autonomy == ASK and any(
        s.waits_for is WaitsFor.APPROVAL for s in state.steps.values()
    ):
        return state, ()
    decisions: list[Decision] = []
    for step in state.steps.values():
        if step.phase is not StepPhase.NOT_STARTED:
            continue
        if all(is_met(state.steps[ordinal]) for ordinal in step.depends_on):
            begun, enqueued = _begin(step)
            state = state.with_step(begun)
            decisions.extend(enqueued)
    return state, tuple(decisions)


def _phase(state: RunState) -> RunPhase:
    phases = {step.phase for step in state.steps.values()} - {StepPhase.REPLACED}
    if phases <= ENDED_STEP:
        if StepPhase.CANCELLED in phases:
            return RunPhase.CANCELLED
        return RunPhase.DONE if phases == {StepPhase.DONE} else RunPhase.ERROR
    if phases & (AT_WORK | {StepPhase.DETAILING, StepPhase.REPLANNING}):
        return RunPhase.RUNNING
    return RunPhase.WAITING
