"""The message for each kind of fact."""

from collections.abc import Mapping
from typing import assert_never

from orchestrator.words.deliveries import delivery_words
from orchestrator.words.kinds import MessageKind, Tone, Words
from orchestrator.words.quantities import count_of
from orchestrator.words.workers import name_worker
from shared.domain import facts as f
from shared.domain.approval import ApprovalScope
from shared.domain.attempt import Answer
from shared.domain.budget import UNAVAILABLE, Ending
from shared.domain.ids import Ref
from shared.domain.jobs import JobKind, LossSign
from shared.domain.records import RecordsAnswer
from shared.domain.spending import exact

_TOLD_BY_OTHERS = (f.RunStarted, f.RunChanged, f.BundleReady, f.LooksTaken)
"""Facts that other messages cover: the first pass, the end, the evidence being sent, each look."""

_TOLD_OF_THE_TASK = (f.PolicyChanged, f.CancelRequested, f.ResumeRequested)
"""A task passes these on to its runs; one message, of the task, is enough."""

_ANSWERS: Mapping[Answer, str] = {
    Answer.RAN: "the command ran",
    Answer.NOT_RUN: "the command did not run",
    Answer.AGAIN: "run the command again",
}

_RECORDS: Mapping[RecordsAnswer, str] = {
    RecordsAnswer.ADOPT: "the results on the host are those of the pass",
    RecordsAnswer.DISCARD: "the results on the host do not count, and its commands run again",
}

_WORK: Mapping[JobKind, str] = {
    JobKind.REFINE: "while it improved the prompt",
    JobKind.PLAN: "while it planned",
    JobKind.DETAIL: "while it detailed step {step}",
    JobKind.REVISE: "while it revised step {step}",
    JobKind.REPLAN: "while it changed the plan from step {step} on",
    JobKind.EXECUTE: "while it carried out step {step}",
    JobKind.GATHER: "while it gathered the evidence of step {step}",
    JobKind.ADVISE: "while it judged step {step}",
    JobKind.LOOK: "while it looked at the host for the planner",
    JobKind.CLEAN_UP: "while it cleaned up step {step}",
    JobKind.ACCEPT: "while it checked the delivery of step {step}",
    JobKind.REVIEW: "while it reviewed the delivery of step {step}",
    JobKind.CHECKPOINT: "while it published what was accepted",
}

_SIGNS: Mapping[LossSign, str] = {
    LossSign.PRESENCE: "its connection to the database ended",
    LossSign.LEASE: "it did not renew its lease",
}

_ENDINGS: Mapping[Ending, str] = {
    Ending.DONE: "step {step} done",
    Ending.THRESHOLD: "step {step} stopped at the error threshold",
    Ending.INCOMPLETE: "step {step} could not be completed",
    Ending.BLOCKED: "step {step} stopped: a forbidden command",
    Ending.NEEDS_APPROVAL: "step {step} stopped: a command needs approval",
    Ending.CANCELLED: "step {step} was cancelled",
    Ending.UNKNOWN: "step {step} stopped: nobody can say how a command ended",
    Ending.NEEDS_INPUT: "step {step} asks a person",
    Ending.OVER_BUDGET: "step {step} stopped: what its agents may cost is used up",
    Ending.REFUSED: "step {step} stopped: the gates refused its delivery",
    Ending.ROLLBACK_FAILED: "step {step} stopped: a rollback before it failed",
    Ending.FORGOTTEN: "step {step} stopped: its host knows more than the database",
}


def told_by_others(fact: f.Fact, ref: Ref) -> bool:
    """Whether other messages cover a fact about that place."""
    if isinstance(fact, f.ResumeRequested) and fact.step is not None:
        return False
    return isinstance(fact, _TOLD_BY_OTHERS) or (
        ref.target is not None and isinstance(fact, _TOLD_OF_THE_TASK)
    )


def words(  # noqa: C901, PLR0912, PLR0915 - one case a fact
    fact: f.Fact, title: str = ""
) -> Words:
    """The kind, tone and text of the message for a fact; `title` is that of its step."""
    match fact:
        case f.TaskSubmitted():
            planned = "submitted" if fact.plan is None else "submitted with a plan"
            return MessageKind.TASK, Tone.PLAIN, planned
        case f.PromptRefined():
            return MessageKind.PLAN, Tone.PLAIN, "the prompt was improved"
        case f.QuestionAsked():
            return MessageKind.INTERVENTION, Tone.PLAIN, "the taskmaster has a question"
        case f.PlanDrafted():
            planned = f"planned in {count_of(len(fact.plan.steps), 'step')}"
            return MessageKind.PLAN, Tone.GOOD, planned
        case f.StepDetailed():
            count = count_of(len(fact.subtasks), "subtask")
            return MessageKind.PLAN, Tone.PLAIN, f"step {fact.step} detailed: {count}"
        case f.PlanApproved():
            return MessageKind.INTERVENTION, Tone.PLAIN, f"{fact.given_by} approved the plan"
        case f.RunChanged():
            return MessageKind.TASK, Tone.PLAIN, f"a run is {fact.phase.replace('_', ' ')}"
        case f.HostKeyChanged():
            told = f"host {fact.host} is disabled: {fact.reason}"
            return MessageKind.ERROR, Tone.BAD, told
        case f.RunStarted():
            count = count_of(len(fact.plan.steps), "step")
            return MessageKind.TASK, Tone.PLAIN, f"the run begins with {count}"
        case f.PassStarted():
            return MessageKind.STEP_STARTED, Tone.PLAIN, _pass_start(fact, title)
        case f.PassFinished():
            tone = Tone.GOOD if fact.ending is Ending.DONE else Tone.BAD
            return MessageKind.STEP_ENDED, tone, _pass_end(fact)
        case f.BundleReady():
            gathered = f"the evidence of step {fact.step} has been gathered"
            return MessageKind.ESCALATION, Tone.PLAIN, gathered
        case f.BundleSent():
            told = f"an operator sent the evidence of step {fact.step} to its planner"
            return MessageKind.REVISION, Tone.PLAIN, told + _why(fact.note)
        case f.StepRevised():
            return MessageKind.REVISION, Tone.ATTENTION, _revision(fact)
        case f.StepHandedUp():
            told = f"step {fact.step} cannot be done as planned: {fact.reason}"
            return MessageKind.REVISION, Tone.ATTENTION, told
        case f.PlanRevised():
            count = count_of(len(fact.steps), "step")
            if bare := sum(not step.subtasks for step in fact.steps):
                told = f"the plan will change from step {fact.step} on: {count}, {bare} to detail"
                return MessageKind.PLAN, Tone.PLAIN, told
            told = f"the plan changed from step {fact.step} on: now {count}"
            return MessageKind.PLAN, Tone.ATTENTION, told + _why(fact.reason)
        case f.StepsReplaced():
            gone = ", ".join(map(str, fact.replaces))
            told = (
                f"{fact.replaced_by} replaced step {gone}: now {count_of(len(fact.steps), 'step')}"
            )
            return MessageKind.PLAN, Tone.ATTENTION, told
        case f.RevisionRequested():
            told = f"an operator asked for a revision{_why(fact.note)}"
            return MessageKind.REVISION, Tone.PLAIN, told
        case f.StepAbandoned():
            told = f"an operator abandoned step {fact.step}"
            return MessageKind.STEP_ENDED, Tone.BAD, told
        case f.OutcomeTold():
            told = f"a person answered for step {fact.step}: {_ANSWERS[fact.answer]}"
            return MessageKind.INTERVENTION, Tone.PLAIN, told
        case f.RecordsSettled():
            told = f"{fact.settled_by} answered for step {fact.step}: {_RECORDS[fact.answer]}"
            return MessageKind.INTERVENTION, Tone.PLAIN, told
        case f.SpendingAllowed():
            return MessageKind.INTERVENTION, Tone.PLAIN, _allowance(fact)
        case f.CommandsApproved():
            return MessageKind.INTERVENTION, Tone.PLAIN, _approval(fact)
        case f.ApprovalDenied():
            told = f"{fact.denied_by} did not approve what step {fact.step} would run"
            return MessageKind.INTERVENTION, Tone.PLAIN, told + _why(fact.note)
        case f.RetryAdvised():
            word = "another try" if fact.retry else "against another try"
            told = f"the planner of step {fact.step} advises {word}{_why(fact.reason)}"
            return MessageKind.REVISION, Tone.PLAIN, told
        case f.AttemptCancelRequested():
            told = f"{fact.requested_by} asked to end attempt {fact.number} of subtask "
            return MessageKind.SUBTASK, Tone.PLAIN, told + f"{fact.step}.{fact.subtask}"
        case f.CommandLeftRunning():
            told = f"a worker is sent to end what step {fact.step} left running"
            return MessageKind.TASK, Tone.ATTENTION, told
        case f.CleanupFinished():
            told = f"the clean-up of step {fact.step} is finished"
            return MessageKind.TASK, Tone.PLAIN, told
        case f.JobFailed():
            if fact.kind is JobKind.CLEAN_UP:
                told = f"the clean-up of step {fact.step} failed: {fact.reason}"
                return MessageKind.ERROR, Tone.BAD, told
            if fact.family == UNAVAILABLE and fact.kind is JobKind.CHECKPOINT:
                told = f"the remote cannot be reached: {fact.reason}; it is tried again"
                return MessageKind.TASK, Tone.ATTENTION, told
            if fact.family == UNAVAILABLE:
                told = f"{fact.kind} waits for the provider: {fact.reason}"
                return MessageKind.TASK, Tone.ATTENTION, told
            return MessageKind.ERROR, Tone.BAD, f"{fact.kind} failed: {fact.reason}"
        case f.WorkerLost():
            return MessageKind.TASK, Tone.ATTENTION, _loss(fact)
        case f.QuestionAnswered():
            return MessageKind.INTERVENTION, Tone.PLAIN, f"{fact.given_by}: {fact.answer}"
        case f.LooksRequested():
            return MessageKind.PLAN, Tone.PLAIN, _looks(fact)
        case f.LooksTaken():
            return MessageKind.PLAN, Tone.PLAIN, f"the looks of round {fact.round_no} were taken"
        case (
            f.DeliveryJudged()
            | f.DeliveryReviewed()
            | f.DeliveryAllowed()
            | f.DeliveryRejected()
            | f.CheckpointRequested()
            | f.CheckpointFinished()
            | f.SessionClosed()
            | f.RunPaused()
        ):
            return delivery_words(fact)
        case f.PolicyChanged():
            changes = ", ".join(f"{key}={value}" for key, value in fact.changes.items())
            return MessageKind.TASK, Tone.PLAIN, f"an operator changed limits: {changes}"
        case f.CancelRequested():
            return MessageKind.TASK, Tone.PLAIN, "an operator asked to cancel"
        case f.ResumeRequested():
            what = "it" if fact.step is None else f"step {fact.step}"
            return MessageKind.TASK, Tone.PLAIN, f"an operator resumed {what}"
        case _:
            assert_never(fact)


def _looks(fact: f.LooksRequested) -> str:
    planner = "the planner" if fact.step is None else f"the planner of step {fact.step}"
    asked = "; ".join(f"{look.command}{_why(look.why)}" for look in fact.looks)
    count = count_of(len(fact.looks), "look")
    return f"{planner} asks for {count} before it answers (round {fact.round_no}): {asked}"


def _why(reason: str) -> str:
    return f": {reason}" if reason else ""


def _pass_start(fact: f.PassStarted, title: str) -> str:
    named = f"step {fact.step} started{_why(title)}"
    if fact.pass_no > 1:
        named += f" (pass {fact.pass_no}, revision {fact.revision})"
    return named


def _pass_end(fact: f.PassFinished) -> str:
    told = _ENDINGS[fact.ending].format(step=fact.step)
    if fact.published is not None:
        return f"step {fact.step} delivered {fact.published.delivery[:12]}"
    if fact.ending is Ending.DONE:
        return told
    errors = f" ({count_of(fact.errors, 'error')})" if fact.errors else ""
    return f"{told}{errors}{_why(fact.reason)}"


def _revision(fact: f.StepRevised) -> str:
    count = count_of(len(fact.subtasks), "subtask")
    undoes = f", after undoing {', '.join(fact.rollback)}" if fact.rollback else ""
    author = f"{fact.author.role} ({fact.author.backend})"
    drops = count_of(len(fact.dropped_checks), "check")
    without = f", without {drops} of the first plan" if fact.dropped_checks else ""
    told = f"revision {fact.revision} of step {fact.step} by {author}, {count}{undoes}{without}"
    return told + _why(fact.reason)


def _loss(fact: f.WorkerLost) -> str:
    work = _WORK[fact.kind].format(step=fact.step)
    lost = f"{name_worker(fact.worker)} was lost {work} ({_SIGNS[fact.sign]})"
    return f"{lost}: another worker takes over"


def _allowance(fact: f.SpendingAllowed) -> str:
    if fact.budget is None:
        return f"{fact.allowed_by} let step {fact.step} go on spending"
    limit = f"may cost ${exact(fact.budget)}" if fact.budget else "has no cost budget any more"
    return f"{fact.allowed_by} raised a budget: subtask {fact.step}.{fact.subtask} {limit}"


def _approval(fact: f.CommandsApproved) -> str:
    given_by = fact.approvals[0].given_by if fact.approvals else "somebody"
    once = not fact.approvals or fact.approvals[0].scope is ApprovalScope.ONCE
    often = "once" if once else "for this task"
    return f"{given_by} approved what step {fact.step} would run, {often}"
