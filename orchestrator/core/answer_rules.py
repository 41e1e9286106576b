"""What follows for a step from what a person says to it."""

from dataclasses import replace

from orchestrator.core.decisions import (
    CloseInterventions,
    Decision,
    Grant,
    SetBudget,
    SettleAttempt,
    SettleClaims,
)
from orchestrator.core.state import StepState
from orchestrator.core.step_rules import StepAdvance, drive_on, enqueue_pass, request_revision
from shared.domain.facts import (
    ApprovalDenied,
    CommandsApproved,
    OutcomeTold,
    QuestionAnswered,
    RecordsSettled,
    SpendingAllowed,
)
from shared.domain.question import Reply
from shared.domain.records import RecordsAnswer


def after_answer(step: StepState, fact: OutcomeTold) -> StepAdvance:
    """Go on after a person said how a command ended; the errors stay counted."""
    ready, enqueued = enqueue_pass(replace(step, reason=""))
    return ready, (
        CloseInterventions(step.ordinal),
        SettleAttempt(step.ordinal, fact.revision, fact.pass_no, fact.answer),
        *enqueued,
    )


def after_settling(step: StepState, fact: RecordsSettled) -> StepAdvance:
    """Go on after a person said whether the records of a host belong to the pass.

    If they do, the same pass is driven on, as after the loss of a worker. If not, a new pass
    begins, whose number no record of the host has.
    """
    if fact.answer is RecordsAnswer.ADOPT:
        ready, enqueued = drive_on(replace(step, reason=""))
    else:
        newest = max(step.pass_no, fact.newest)
        ready, enqueued = enqueue_pass(replace(step, reason="", pass_no=newest))
    return ready, (
        CloseInterventions(step.ordinal),
        SettleClaims(step.ordinal, fact.pass_no, fact.claims, fact.answer),
        *enqueued,
    )


def after_allowance(step: StepState, fact: SpendingAllowed) -> StepAdvance:
    """Go on after a person let its agents spend more; the errors stay counted."""
    ready, enqueued = enqueue_pass(replace(step, reason=""))
    raised: tuple[Decision, ...] = ()
    if fact.budget is not None:
        raised = (SetBudget(step.ordinal, fact.revision, fact.subtask, fact.budget),)
    return ready, (CloseInterventions(step.ordinal), *raised, *enqueued)


def after_reply(step: StepState, fact: QuestionAnswered) -> StepAdvance:
    """Go on with a person's answer; the errors stay counted."""
    note = str(Reply(fact.question, fact.answer))
    ready, enqueued = enqueue_pass(replace(step, reason="", note=note, answer=fact.answer))
    return ready, (CloseInterventions(step.ordinal), *enqueued)


def after_approval(step: StepState, fact: CommandsApproved) -> StepAdvance:
    """Go on after a person approved the command; the errors stay counted."""
    ready, enqueued = enqueue_pass(replace(step, reason=""))
    return ready, (CloseInterventions(step.ordinal), Grant(fact.approvals), *enqueued)


def after_denial(step: StepState, fact: ApprovalDenied) -> StepAdvance:
    """Ask the planner for another way, with the person's reason."""
    why = f": {fact.note}" if fact.note else ""
    denied = replace(step, reason=f"{fact.denied_by} denied it{why} ({step.reason})")
    return request_revision(denied, f"A person did not approve this ({step.reason}){why}")
