"""Whether a fact about a run is a duplicate, or belongs to an earlier pass or revision."""

from typing import assert_never

from orchestrator.core.acceptance_rules import overtaken_delivery
from orchestrator.core.checkpoint_rules import is_about_checkpoint, overtaken_checkpoint
from orchestrator.core.cleanup_rules import is_about_cleanup, overtaken_cleanup
from orchestrator.core.job_rules import (
    AT_WORK,
    awaits_advice,
    overtaken_failure,
    overtaken_loss,
)
from orchestrator.core.look_rules import overtaken_looks
from orchestrator.core.replacement_rules import overtaken_replacement
from orchestrator.core.state import RunState, StepState, WaitsFor
from shared.domain import facts as f
from shared.domain.config import with_limits
from shared.domain.delivery import CheckpointPhase
from shared.domain.jobs import JobKind
from shared.domain.plan import open_questions
from shared.domain.task import ENDED_RUN, RunPhase, StepPhase

HELD_UP = frozenset({StepPhase.WAITING, StepPhase.BLOCKED})
RESUMABLE = HELD_UP | {StepPhase.ERROR, StepPhase.SKIPPED}
TOLD_BY_A_PERSON = frozenset(
    {
        WaitsFor.OUTCOME,
        WaitsFor.RECORDS,
        WaitsFor.ANSWER,
        WaitsFor.BUDGET,
        WaitsFor.ACCEPTANCE,
    }
)
"""Waits that only the person can end who was asked; a resumption cannot."""

REVISABLE = (
    AT_WORK
    | RESUMABLE
    | {
        StepPhase.NOT_STARTED,
        StepPhase.DETAILING,
        StepPhase.REPLANNING,
        StepPhase.ACCEPTING,
    }
)


def overtaken(  # noqa: C901 - one case a fact
    state: RunState, fact: f.RunFact
) -> bool:
    """Whether the fact is a duplicate, or belongs to an earlier pass or revision."""
    heard = is_about_cleanup(fact) or is_about_checkpoint(fact)
    if state.phase is RunPhase.CANCELLED and not heard:
        return True
    match fact:
        case f.RunStarted():
            return state.phase is not RunPhase.NOT_STARTED
        case f.CancelRequested():
            return state.phase in ENDED_RUN
        case f.ResumeRequested() if fact.step is not None:
            resumed = state.steps.get(fact.step)
            return resumed is None or not is_resumable(resumed)
        case f.ResumeRequested():
            return not (
                any(map(is_resumable, state.steps.values()))
                or state.paused
                or state.checkpoint.phase is CheckpointPhase.WAITING
            )
        case f.SessionClosed():
            return not state.held_open
        case f.RunPaused():
            return state.paused or state.phase in ENDED_RUN | {RunPhase.NOT_STARTED}
        case f.PolicyChanged():
            return state.phase in {RunPhase.NOT_STARTED, RunPhase.DONE} or (
                with_limits(state.policy, fact.changes) == state.policy
            )
        case f.StepsReplaced():
            return overtaken_replacement(state, fact)
        case f.CheckpointRequested() | f.CheckpointFinished():
            return overtaken_checkpoint(state, fact)
        case f.JobFailed() | f.WorkerLost() if is_about_checkpoint(fact):
            return overtaken_checkpoint(state, fact)
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
            return step.bare or step.phase not in AT_WORK | HELD_UP | {StepPhase.ACCEPTING}
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
        case f.DeliveryJudged() | f.DeliveryReviewed() | f.DeliveryAllowed() | f.DeliveryRejected():
            return overtaken_delivery(step, fact)
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


def is_resumable(step: StepState) -> bool:
    """Whether a resumption brings a step back; it does not stand for an answer."""
    return step.phase in RESUMABLE and step.waits_for not in TOLD_BY_A_PERSON
