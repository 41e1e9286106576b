"""What follows for one step from each fact about it."""

from dataclasses import replace

from orchestrator.core.decisions import (
    CancelJobs,
    CloseInterventions,
    Decision,
    Enqueue,
    OpenIntervention,
)
from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.core.retry_rules import pause, put_off, retry_limit
from orchestrator.core.state import StepState, WaitsFor
from shared.domain.approval import ApprovalRequest
from shared.domain.author import PlanningRole
from shared.domain.budget import Ending, Next, after_failed_pass, may_postpone
from shared.domain.config import Policy
from shared.domain.error_class import ErrorClass
from shared.domain.facts import (
    BundleSent,
    JobFailed,
    PassFinished,
    PlanRevised,
    RetryAdvised,
    StepHandedUp,
)
from shared.domain.jobs import JobKind
from shared.domain.look import NOT_LOOKED
from shared.domain.next_step import Advice
from shared.domain.plan import Draft, OnFailure
from shared.domain.records import HostRecord
from shared.domain.spending import SPENDING, Cap, Unpaid
from shared.domain.task import StepPhase

StepAdvance = tuple[StepState, tuple[Decision, ...]]

WITH_EVIDENCE = frozenset(
    {JobKind.REVISE, JobKind.REPLAN, JobKind.DETAIL, JobKind.ADVISE, JobKind.LOOK}
)
"""The jobs that answer a bundle: if one fails, the evidence has been gathered."""


def enqueue_pass(step: StepState, *, delay: float = 0.0) -> StepAdvance:
    """Enqueue the next pass of a step under its present revision."""
    ready = replace(
        step,
        phase=StepPhase.READY,
        pass_no=step.pass_no + 1,
        waits_for=None,
        unfinished=False,
        handed_up=False,
        draft=None,
        acceptance=None,
        looks=NOT_LOOKED,
    )
    return ready, (
        Enqueue(
            JobKind.EXECUTE,
            step.ordinal,
            revision=ready.revision,
            pass_no=ready.pass_no,
            delay=delay,
            note=ready.note,
            answer=ready.answer,
        ),
    )


def drive_on(step: StepState) -> StepAdvance:
    """Enqueue the same pass again, because its last worker could not go on."""
    ready = replace(
        step,
        phase=StepPhase.READY,
        waits_for=None,
        unfinished=False,
        handed_up=False,
        draft=None,
        acceptance=None,
    )
    return ready, (replace(_again(ready, JobKind.EXECUTE), driven_on=True),)


def after_pass(
    step: StepState, policy: Policy, fact: PassFinished, *, seed: int = 0
) -> StepAdvance:
    """Follow the end of a pass."""
    counted = replace(step, errors=fact.errors, postponed=0, reason=fact.reason)
    match fact.ending:
        case Ending.DONE:
            done = replace(counted, phase=StepPhase.DONE, failures=0, reason="")
            return done, (CloseInterventions(step.ordinal),)
        case Ending.CANCELLED:
            return replace(counted, phase=StepPhase.CANCELLED), ()
        case Ending.BLOCKED:
            return _block(counted)
        case Ending.NEEDS_APPROVAL:
            return _wait(
                counted,
                InterventionKind.APPROVAL,
                WaitsFor.APPROVAL,
                stage="guard",
                asked=fact.asked,
            )
        case Ending.UNKNOWN:
            return _wait(counted, InterventionKind.UNKNOWN, WaitsFor.OUTCOME, stage="execute")
        case Ending.NEEDS_INPUT | Ending.FORGOTTEN | Ending.OVER_BUDGET:
            return _ask(counted, fact)
        case Ending.ROLLBACK_FAILED:
            return _wait(counted, InterventionKind.ROLLBACK, stage="rollback")
    failed = replace(counted, failures=step.failures + 1)
    allowed = retry_limit(policy, fact.error_class)
    match _next(failed, policy, fact.error_class):
        case Next.RETRY if not allowed.ask:
            delay = pause(
                policy, policy.retry_delay * allowed.patience, failed.failures, seed, step.ordinal
            )
            return enqueue_pass(replace(failed, errors=0), delay=delay)
        case Next.GIVE_UP:
            return replace(failed, phase=StepPhase.ERROR), ()
    return gather(failed)


def after_bundle(step: StepState, policy: Policy) -> StepAdvance:
    """Send the gathered evidence to the author of the step, or to a person (X4, S0.96).

    `hold_bundles` holds every bundle, whoever asked for it.
    """
    step = replace(step, postponed=0, looks=NOT_LOOKED)
    following = Next.REVISE if step.forced else _next(step, policy)
    if following is Next.RETRY and retry_limit(policy, ErrorClass.OTHER).ask:
        return replace(step, phase=StepPhase.REPLANNING), (_again(step, JobKind.ADVISE),)
    if following is Next.REVISE and step.author.backend == "human":
        return _ask_person(step)
    if following is Next.REVISE and not policy.hold_bundles:
        return replace(step, phase=StepPhase.REPLANNING), (_ask_author(step),)
    if following in {Next.REVISE, Next.HOLD}:
        return _wait(step, InterventionKind.HELD_BUNDLE, WaitsFor.SENDING, stage="escalate")
    return _wait(step, InterventionKind.ESCALATION, WaitsFor.SENDING, stage="escalate")


def after_sending(step: StepState, fact: BundleSent) -> StepAdvance:
    """Send the evidence on as the person saw it; it is not gathered again."""
    sent = replace(
        step,
        phase=StepPhase.REPLANNING,
        waits_for=None,
        note=fact.note or step.note,
        postponed=0,
        handed_up=False,
        draft=None,
        looks=NOT_LOOKED,
    )
    if step.author.backend == "human":
        waiting, decisions = _ask_person(sent)
        return waiting, (CloseInterventions(step.ordinal), *decisions)
    return replace(sent, reason=""), (CloseInterventions(step.ordinal), _ask_author(sent))


def after_handing_up(step: StepState, policy: Policy, fact: StepHandedUp) -> StepAdvance:
    """Ask the planner of the task, or a person, because the author cannot do it as planned.

    A step that came of `human_escalation_threshold` changes of the plan is not replanned again.
    """
    told = replace(step, postponed=0, looks=NOT_LOOKED, reason=fact.reason)
    used_up = step.generation >= policy.human_escalation_threshold
    if used_up or fact.planner.backend == "human":
        return _wait(told, InterventionKind.ESCALATION, WaitsFor.SENDING, stage="revise")
    notes = (step.note, f"The author of the step says: {fact.reason}")
    handed_up = replace(told, handed_up=True, note="\n".join(filter(None, notes)))
    return handed_up, (ask_planner(handed_up),)


def after_draft(step: StepState, policy: Policy, fact: PlanRevised) -> StepAdvance:
    """Ask the subtask planner for the steps that a changed plan leaves without subtasks."""
    if policy.subtask_planner == "human":
        bare = ", ".join(each.title for each in fact.steps if not each.subtasks)
        reason = f"the planner has changed the plan, and a person is to detail it: {bare}"
        told = replace(step, postponed=0, draft=None, reason=reason)
        return _wait(told, InterventionKind.ESCALATION, WaitsFor.SENDING, stage="replan")
    draft = Draft(fact.known, fact.steps, fact.reason)
    drafted = replace(step, postponed=0, looks=NOT_LOOKED, draft=draft)
    return drafted, (_again(drafted, JobKind.DETAIL),)


def after_advice(step: StepState, fact: RetryAdvised) -> StepAdvance:
    """Follow the advice of the planner on another try (S1.35)."""
    advised = replace(step, postponed=0, reason=fact.reason or step.reason)
    if fact.retry:
        return _retry(advised, max(0.0, fact.delay))
    if step.on_failure is OnFailure.CONTINUE:
        return replace(advised, phase=StepPhase.ERROR), (CancelJobs(step.ordinal),)
    return _wait(advised, InterventionKind.ESCALATION, WaitsFor.SENDING, stage="escalate")


def request_revision(step: StepState, note: str) -> StepAdvance:
    """Ask for a revision whatever the counters say, because an operator wants it (S0.85)."""
    reason = step.reason or "an operator wants it revised"
    asked = replace(
        step,
        forced=True,
        note=note,
        answer=None,
        reason=reason,
        postponed=0,
        handed_up=False,
        draft=None,
    )
    gathering, decisions = gather(asked)
    return gathering, (CancelJobs(step.ordinal), CloseInterventions(step.ordinal), *decisions)


def put_off_or_wait(
    step: StepState, policy: Policy, fact: JobFailed, resting: StepPhase, *, seed: int = 0
) -> StepAdvance:
    """Try a failed job again later if that can help; otherwise wait for a person."""
    failed = replace(step, phase=resting, reason=fact.reason)
    if may_postpone(fact.family, step.postponed, policy):
        later = replace(failed, postponed=step.postponed + 1)
        delay = put_off(policy, fact, later.postponed, seed, step.ordinal)
        again = enqueue_again(later, fact.kind)
        return later, (replace(again, delay=delay, postponed=later.postponed),)
    if fact.kind is JobKind.ADVISE:  # nobody advises against it: the count alone decides
        delay = pause(policy, policy.retry_delay, step.failures, seed, step.ordinal)
        return _retry(replace(failed, postponed=0), delay)
    kind = InterventionKind.ESCALATION if fact.family == "rejected" else InterventionKind.OPERATOR
    kind = InterventionKind.SPENDING if fact.stage == SPENDING else kind
    failed = replace(failed, unfinished=fact.kind is JobKind.EXECUTE)
    return _wait(
        replace(failed, postponed=0, draft=None),
        kind,
        WaitsFor.SENDING if fact.kind in WITH_EVIDENCE and not step.bare else WaitsFor.DECISION,
        stage=fact.stage,
        next_step=fact.next_step,
    )


def _ask(step: StepState, fact: PassFinished) -> StepAdvance:
    """Wait for a person's answer (S3.24, S3.28), money, or what becomes of a host's records."""
    if fact.ending is Ending.OVER_BUDGET:
        return _await_money(step, fact.unpaid)
    if fact.ending is Ending.FORGOTTEN:
        return _wait(
            step,
            InterventionKind.FORGOTTEN,
            WaitsFor.RECORDS,
            stage="execute",
            records=fact.records,
        )
    asked = fact.question
    return _wait(
        step if asked is None else replace(step, reason=asked.text),
        InterventionKind.QUESTION,
        WaitsFor.ANSWER,
        stage="execute",
        options=() if asked is None else asked.options,
    )


def _await_money(step: StepState, unpaid: Unpaid | None) -> StepAdvance:
    """Wait until a person raises the budget of a subtask, or the cap of the task or the day."""
    of_subtask = unpaid is not None and unpaid.reached.cap is Cap.BUDGET
    return _wait(
        step,
        InterventionKind.BUDGET if of_subtask else InterventionKind.SPENDING,
        WaitsFor.BUDGET if of_subtask else WaitsFor.SPENDING,
        stage="execute",
        unpaid=unpaid,
    )


def _retry(step: StepState, delay: float) -> StepAdvance:
    """Enqueue another pass, and ask nobody about it any more."""
    ready, enqueued = enqueue_pass(replace(step, errors=0), delay=delay)
    return ready, (CancelJobs(step.ordinal), *enqueued)


def _next(step: StepState, policy: Policy, error: ErrorClass = ErrorClass.OTHER) -> Next:
    """What follows; a step whose deliveries were rejected too often is not tried again."""
    allowed = retry_limit(policy, error).failures
    used_up = step.rejections >= policy.max_delivery_attempts
    return after_failed_pass(
        policy,
        recovery=step.recovery,
        revision=step.revision,
        failures=allowed if used_up else step.failures,
        may_continue=step.on_failure is OnFailure.CONTINUE,
        allowed=allowed,
    )


def after_last_rejection(step: StepState, policy: Policy) -> StepAdvance:
    """Ask the planner of a step after too many rejections, or give it up if the plan allows it."""
    if _next(step, policy) is Next.GIVE_UP:
        return replace(step, phase=StepPhase.ERROR, waits_for=None, acceptance=None), ()
    return gather(step)


def gather(step: StepState) -> StepAdvance:
    """Have the evidence gathered for the author of the step."""
    replanning = replace(
        step, phase=StepPhase.REPLANNING, waits_for=None, looks=NOT_LOOKED, acceptance=None
    )
    return replanning, (_again(replanning, JobKind.GATHER),)


def _again(step: StepState, kind: JobKind) -> Enqueue:
    place = Enqueue(kind, step.ordinal, revision=step.revision, pass_no=step.pass_no)
    asked = replace(place, looks=step.looks.rounds)
    return replace(asked, note=step.note, answer=step.answer) if kind is JobKind.EXECUTE else asked


def enqueue_again(step: StepState, kind: JobKind) -> Enqueue:
    """Ask for the same work again: what its planning has looked at is not forgotten."""
    match kind:
        case JobKind.REVISE:
            return _ask_author(step)
        case JobKind.REPLAN:
            return ask_planner(step)
    return _again(step, kind)


def ask_planner(step: StepState) -> Enqueue:
    """Ask the planner of the task to change what remains, from this step on."""
    return replace(_again(step, JobKind.REPLAN), role=PlanningRole.PLANNER, note=step.note)


def _ask_person(step: StepState) -> StepAdvance:
    """Wait for the author, who is a person."""
    return _wait(step, InterventionKind.REVISION, stage="revise")


def _ask_author(step: StepState) -> Enqueue:
    return replace(_again(step, JobKind.REVISE), role=step.author.role, note=step.note)


def _block(step: StepState) -> StepAdvance:
    """Block the step on a forbidden command until it is revised or resumed."""
    return replace(step, phase=StepPhase.BLOCKED), (
        CancelJobs(step.ordinal),
        OpenIntervention(InterventionKind.BLOCKED, step.ordinal, step.reason, "guard"),
    )


def _wait(
    step: StepState,
    kind: InterventionKind,
    waits_for: WaitsFor = WaitsFor.DECISION,
    *,
    stage: str,
    next_step: Advice | None = None,
    asked: tuple[ApprovalRequest, ...] = (),
    options: tuple[str, ...] = (),
    records: tuple[HostRecord, ...] = (),
    unpaid: Unpaid | None = None,
) -> StepAdvance:
    """Ask a person, and withdraw every open job of the step."""
    waiting = replace(step, phase=StepPhase.WAITING, waits_for=waits_for, looks=NOT_LOOKED)
    reason = step.reason
    return waiting, (
        CancelJobs(step.ordinal),
        OpenIntervention(
            kind, step.ordinal, reason, stage, next_step, asked, options, records, unpaid
        ),
    )
