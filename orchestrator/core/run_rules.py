"""What follows from a fact about a run."""

from dataclasses import replace
from typing import assert_never

from orchestrator.core.acceptance_rules import (
    after_delivery,
    after_failed_review,
    after_publishing,
    after_refusal,
)
from orchestrator.core.answer_rules import (
    after_allowance,
    after_answer,
    after_approval,
    after_denial,
    after_reply,
    after_settling,
)
from orchestrator.core.checkpoint_rules import (
    after_checkpoint,
    cancel_checkpoint,
    is_about_checkpoint,
    resume_checkpoint,
)
from orchestrator.core.cleanup_rules import (
    after_cleanup,
    after_failed_cleanup,
    after_left_running,
)
from orchestrator.core.decisions import (
    CancelAttempt,
    CancelJobs,
    CloseInterventions,
    Decision,
    FreeJob,
)
from orchestrator.core.detail_rules import after_detail
from orchestrator.core.follow_up_rules import begin, follow_up
from orchestrator.core.job_rules import (
    AT_WORK,
)
from orchestrator.core.lessons import with_lesson
from orchestrator.core.look_rules import after_looks
from orchestrator.core.overtaken_rules import TOLD_BY_A_PERSON, is_resumable
from orchestrator.core.plan_rules import answer_draft, change_plan
from orchestrator.core.replacement_rules import replace_steps
from orchestrator.core.state import RunState, StepState
from orchestrator.core.step_rules import (
    StepAdvance,
    after_advice,
    after_bundle,
    after_handing_up,
    after_pass,
    after_sending,
    enqueue_pass,
    put_off_or_wait,
    request_revision,
)
from shared.domain import facts as f
from shared.domain.budget import Ending
from shared.domain.config import with_limits
from shared.domain.errors import Rejected
from shared.domain.jobs import JobKind
from shared.domain.look import NOT_LOOKED
from shared.domain.plan import OnFailure
from shared.domain.task import ENDED_STEP, StepPhase

Advance = tuple[RunState, tuple[Decision, ...]]


def apply(  # noqa: C901, PLR0912 - one case a fact
    state: RunState, fact: f.RunFact
) -> Advance:
    """Compute the next state and the decisions. The fact is not overtaken."""
    match fact:
        case f.RunStarted():
            begun = RunState(
                id=state.id,
                policy=fact.policy,
                steps={step.ordinal: StepState.of(step) for step in fact.plan.steps},
                held_open=fact.policy.deliver and not fact.plan.steps,
            )
            return follow_up(state, begun, ())
        case f.CancelRequested():
            return _cancel(state)
        case f.ResumeRequested() if fact.step is not None:
            again, enqueued = _bring_back(state.steps[fact.step])
            closed = CloseInterventions(fact.step)
            return follow_up(state, state.with_step(again), (closed, *enqueued))
        case f.ResumeRequested():
            return _resume(state)
        case f.PolicyChanged():
            return replace(state, policy=with_limits(state.policy, fact.changes)), ()
        case f.CheckpointRequested() | f.CheckpointFinished():
            return follow_up(state, *after_checkpoint(state, fact))
        case f.JobFailed() | f.WorkerLost() if is_about_checkpoint(fact):
            return follow_up(state, *after_checkpoint(state, fact))
        case f.SessionClosed():
            return follow_up(state, replace(state, held_open=False), ())
        case f.RunPaused():
            return replace(state, paused=True), ()
        case f.StepAbandoned():
            return _abandon(state, state.steps[fact.step])
        case f.PlanRevised():
            changed, decisions = change_plan(state, fact)
            return follow_up(state, changed, decisions)
        case f.StepsReplaced():
            changed, decisions = replace_steps(state, fact)
            return follow_up(state, changed, decisions)
    step = state.steps[fact.step or 0]
    if isinstance(fact, f.QuestionAnswered) and step.draft is not None:
        changed, decisions = answer_draft(state, fact)
        return follow_up(state, changed, decisions)
    after, decisions = _apply_to_step(state, step, fact)
    return follow_up(state, state.with_step(after), decisions)


def _apply_to_step(  # noqa: C901, PLR0912 - one case a fact
    state: RunState, step: StepState, fact: f.StepFact
) -> tuple[StepState, tuple[Decision, ...]]:
    match fact:
        case f.StepDetailed():
            return after_detail(step, fact)
        case f.PassStarted():
            return replace(step, phase=StepPhase.RUNNING, reason=""), ()
        case f.PassFinished():
            return with_lesson(_after_pass(state, step, fact), state.policy, fact)
        case f.DeliveryJudged() | f.DeliveryReviewed() | f.DeliveryAllowed() | f.DeliveryRejected():
            return after_delivery(step, state.policy, fact)
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
        case f.JobFailed(kind=JobKind.REVIEW, family=Rejected.family):
            return after_failed_review(step, fact)
        case f.JobFailed():
            resting = StepPhase.READY if fact.kind is JobKind.EXECUTE else step.phase
            return put_off_or_wait(step, state.policy, fact, resting, seed=state.id)
        case f.WorkerLost():
            return step, (FreeJob(fact.kind, fact.step),)
        case _:
            assert_never(fact)


def _after_pass(state: RunState, step: StepState, fact: f.PassFinished) -> StepAdvance:
    counted = replace(step, errors=fact.errors, reason=fact.reason)
    if fact.ending is Ending.DONE and fact.published is not None:
        return after_publishing(counted, fact.published)
    if fact.ending is Ending.REFUSED:
        return after_refusal(counted, state.policy, repeated=fact.repeated)
    return after_pass(step, state.policy, fact, seed=state.id)


def _revise(step: StepState, fact: f.StepRevised) -> tuple[StepState, tuple[Decision, ...]]:
    """Take a new list of subtasks and count errors from zero again (S0.57–S0.58)."""
    revised = replace(_cleared(step), author=fact.author, revision=fact.revision, bare=False)
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
            acceptance=None,
            looks=NOT_LOOKED,
            reason="cancelled by an operator",
        )
        for ordinal, step in state.steps.items()
    }
    after, ended = cancel_checkpoint(replace(state, steps=steps))
    return follow_up(state, after, (CancelJobs(), CloseInterventions(), *ended), cancelled=True)


def _resume(state: RunState) -> Advance:
    """Clear the counters and run again what failed, but nothing that is done (S1.13–S1.15).

    That includes the counters of a step at work (S1.13 says all). A resumption that brings nothing
    back changes nothing, so several in a row allow no more tries than one.
    """
    unanswered = tuple(s.ordinal for s in state.steps.values() if s.waits_for in TOLD_BY_A_PERSON)
    after, closed = resume_checkpoint(replace(state, paused=False))
    decisions: list[Decision] = [CloseInterventions(sparing=unanswered), *closed]
    for step in state.steps.values():
        if step.phase in AT_WORK | {StepPhase.ACCEPTING}:
            after = after.with_step(replace(step, failures=0, rejections=0))
        if is_resumable(step):
            again, enqueued = _bring_back(step)
            after = after.with_step(again)
            decisions.extend(enqueued)
    return follow_up(state, after, tuple(decisions))


def _bring_back(step: StepState) -> StepAdvance:
    """Clear the counters of a step and have it carried out; a skipped one waits for its needs."""
    cleared = _cleared(step)
    if step.phase is StepPhase.SKIPPED:
        return replace(cleared, phase=StepPhase.NOT_STARTED), ()
    return begin(cleared)


def _cleared(step: StepState) -> StepState:
    """The step with nothing counted against it, and nothing said to it."""
    return replace(
        step,
        errors=0,
        failures=0,
        rejections=0,
        postponed=0,
        forced=False,
        note="",
        answer=None,
        reason="",
    )


def _abandon(state: RunState, step: StepState) -> Advance:
    reason = step.reason or "given up by an operator"
    given_up = replace(
        step,
        phase=StepPhase.ERROR,
        waits_for=None,
        draft=None,
        acceptance=None,
        reason=reason,
    )
    after = state.with_step(given_up)
    if step.on_failure is OnFailure.STOP:
        for other in state.steps.values():
            if other.phase is StepPhase.NOT_STARTED:
                why = f"step {step.ordinal} was given up"
                after = after.with_step(replace(other, phase=StepPhase.SKIPPED, reason=why))
    return follow_up(state, after, (CloseInterventions(step.ordinal),))
