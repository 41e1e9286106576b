"""How the delivery of a step comes to the head of its session, or back to its author.

Whoever has to look at it looks first, at the delivery merged with the head. Then it stands in the
queue of its session. It is judged behind all that is ahead of it there, so that many are checked at
once, each on the tree that will exist. The first of the queue is accepted once it is green.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from orchestrator.core.decisions import (
    CloseInterventions,
    Decision,
    Enqueue,
    OpenIntervention,
    SettleDelivery,
)
from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.core.lessons import lesson
from orchestrator.core.state import RunState, StepState, WaitsFor
from orchestrator.core.step_rules import (
    StepAdvance,
    after_last_rejection,
    enqueue_again,
    enqueue_pass,
)
from shared.domain.config import Policy
from shared.domain.delivery import Acceptance, DeliveryStatus, Line, Published, Rejection, Stage
from shared.domain.delivery_facts import (
    DeliveryAllowed,
    DeliveryJudged,
    DeliveryRejected,
    DeliveryReviewed,
)
from shared.domain.facts import JobFailed
from shared.domain.jobs import JobKind
from shared.domain.task import StepPhase

DeliveryFact = DeliveryJudged | DeliveryReviewed | DeliveryAllowed | DeliveryRejected
Advance = tuple[RunState, tuple[Decision, ...]]


def after_publishing(step: StepState, published: Published) -> StepAdvance:
    """Begin with the acceptance of what a pass has published."""
    eyes = published.reviewed or published.allowed
    acceptance = Acceptance(published, Stage.JUDGING if eyes else Stage.QUEUED)
    accepting = replace(
        step, phase=StepPhase.ACCEPTING, failures=0, postponed=0, reason="", acceptance=acceptance
    )
    return accepting, (CloseInterventions(step.ordinal),)


def overtaken_delivery(step: StepState, fact: DeliveryFact) -> bool:
    """Whether the step awaits this of another delivery, of another judgement, or not at all."""
    acceptance = step.acceptance
    if acceptance is None or step.pass_no != fact.pass_no:
        return True
    if acceptance.published.delivery != fact.delivery:
        return True
    accepting = step.phase is StepPhase.ACCEPTING
    match fact:
        case DeliveryJudged():
            other = acceptance.turn != fact.turn or not acceptance.awaits_judgement
            return other or not accepting
        case DeliveryReviewed():
            return not accepting or acceptance.stage is not Stage.REVIEWING
        case DeliveryAllowed() | DeliveryRejected():
            return step.waits_for is not WaitsFor.ACCEPTANCE


def after_delivery(step: StepState, policy: Policy, fact: DeliveryFact) -> StepAdvance:
    """Follow what was said about the delivery of a step."""
    acceptance = _acceptance_of(step)
    step = replace(step, postponed=0)
    match fact:
        case DeliveryJudged(judgement=judgement):
            judged = replace(step, acceptance=replace(acceptance, judgement=judgement))
            if acceptance.stage is Stage.QUEUED:
                return judged, ()
            if judgement.rejection is None:
                return _show_on(judged)
            return _reject(judged, policy, judgement.rejection, judgement.reason)
        case DeliveryReviewed():
            if fact.approved:
                return _show_on(step)
            return _reject(step, policy, Rejection.REVIEWER, fact.reason, by=fact.reviewer)
        case DeliveryAllowed():
            queued = replace(acceptance, stage=Stage.QUEUED)
            goes_on = replace(step, phase=StepPhase.ACCEPTING, waits_for=None, reason="")
            return replace(goes_on, acceptance=queued), (CloseInterventions(step.ordinal),)
        case DeliveryRejected():
            back, decisions = _reject(
                step, policy, Rejection.PERSON, fact.note or "rejected", by=fact.rejected_by
            )
            return back, (CloseInterventions(step.ordinal), *decisions)


def after_failed_review(step: StepState, fact: JobFailed) -> StepAdvance:
    """Have a person accept or reject what no reviewer has given an answer about that can be used.

    Who was asked is not asked again: that would cost the same, and bring no more.
    """
    acceptance = _acceptance_of(step)
    why = acceptance.published.why if acceptance.published.allowed else ""
    reason = "; ".join(filter(None, (fact.reason, why)))
    return _show_person(replace(step, postponed=0), reason, fact.stage)


def after_refusal(step: StepState, policy: Policy, *, repeated: bool = False) -> StepAdvance:
    """Follow the end of a pass of which the gates let nothing be published.

    A step that `repeated` what was rejected before would do so once more: its planner is asked.
    """
    if repeated:
        step = replace(step, rejections=max(step.rejections, policy.max_delivery_attempts - 1))
    return _back_to_author(step, policy)


def resume_acceptance(step: StepState) -> StepAdvance:
    """Go on with a delivery whose acceptance waited for an operator."""
    fresh = replace(_acceptance_of(step), asked=False, line=None, judgement=None, place=0)
    goes_on = replace(step, phase=StepPhase.ACCEPTING, waits_for=None, acceptance=fresh)
    return goes_on, (CloseInterventions(step.ordinal),)


def advance_line(state: RunState) -> Advance:
    """Accept and reject what has come to the front, and ask for the judgements that are missing."""
    state = _with_places(state)
    decisions: list[Decision] = []
    while (front := next(_queue(state), None)) is not None and _is_judged(state, front):
        state, settled = _settle_front(state, front)
        decisions += settled
    state, asked = _ask(state)
    return state, (*decisions, *asked)


def _acceptance_of(step: StepState) -> Acceptance:
    assert step.acceptance is not None  # noqa: S101 - narrows the type
    return step.acceptance


def _show_on(step: StepState) -> StepAdvance:
    """Show it to whoever has to look at it next; after all of them it goes into the queue."""
    acceptance = _acceptance_of(step)
    if acceptance.stage is Stage.JUDGING and acceptance.published.reviewed:
        shown = replace(acceptance, stage=Stage.REVIEWING, asked=False)
        return replace(step, acceptance=shown), ()
    if acceptance.published.allowed:
        reason = acceptance.published.why or "a person is to accept what is changed here"
        return _show_person(step, reason, "accept")
    return replace(step, acceptance=replace(acceptance, stage=Stage.QUEUED)), ()


def _show_person(step: StepState, reason: str, stage: str) -> StepAdvance:
    waiting = replace(
        step,
        phase=StepPhase.WAITING,
        waits_for=WaitsFor.ACCEPTANCE,
        acceptance=replace(_acceptance_of(step), stage=Stage.ALLOWING),
        reason=reason,
    )
    return waiting, (OpenIntervention(InterventionKind.DELIVERY, step.ordinal, reason, stage),)


def _reject(
    step: StepState, policy: Policy, rejection: Rejection, reason: str, *, by: str | None = None
) -> StepAdvance:
    settled = SettleDelivery(
        step.ordinal,
        DeliveryStatus.REJECTED,
        delivery=_acceptance_of(step).published.delivery,
        rejection=rejection,
        reason=reason,
        settled_by=by,
    )
    back, decisions = _back_to_author(replace(step, reason=reason), policy)
    return back, (settled, *decisions)


def _back_to_author(step: StepState, policy: Policy) -> StepAdvance:
    """Have the step worked on again, or its planner asked after too many rejections (S3.36)."""
    rejected = replace(step, rejections=step.rejections + 1, postponed=0)
    if rejected.rejections < policy.max_delivery_attempts:
        return enqueue_pass(replace(rejected, errors=0))
    after, decisions = after_last_rejection(rejected, policy)
    return after, (*decisions, *lesson(after, policy, worked=False))


def _queue(state: RunState) -> Iterator[StepState]:
    """The steps whose deliveries stand in the queue, the first one first."""
    queued = (step for step in state.steps.values() if _is_queued(step))
    return iter(sorted(queued, key=lambda step: _acceptance_of(step).place))


def _is_queued(step: StepState) -> bool:
    acceptance = step.acceptance
    accepting = step.phase is StepPhase.ACCEPTING and acceptance is not None
    return accepting and _acceptance_of(step).stage is Stage.QUEUED


def _with_places(state: RunState) -> RunState:
    """The run with everything that has come to the queue at its end.

    What others saw was judged behind the head alone, which counts only at the front.
    """
    last = max((_acceptance_of(step).place for step in _queue(state)), default=0)
    for step in _queue(state):
        acceptance = _acceptance_of(step)
        if not acceptance.place:
            behind = replace(acceptance, line=None, judgement=None) if last else acceptance
            last += 1
            state = state.with_step(replace(step, acceptance=replace(behind, place=last)))
    return state


def _is_judged(state: RunState, front: StepState) -> bool:
    """Whether the first of the queue was judged behind the head as it is now."""
    acceptance = _acceptance_of(front)
    return acceptance.judgement is not None and acceptance.line == Line(state.head)


def _settle_front(state: RunState, front: StepState) -> Advance:
    acceptance = _acceptance_of(front)
    judgement = acceptance.judgement
    assert judgement is not None  # noqa: S101 - narrows the type
    if judgement.rejection is not None:
        back, decisions = _reject(front, state.policy, judgement.rejection, judgement.reason)
        return state.with_step(back), decisions
    delivery, commit, before = acceptance.published.delivery, judgement.commit, state.head
    accepted = replace(
        front,
        phase=StepPhase.ACCEPTED,
        acceptance=None,
        accepted_as=state.accepted + 1,
        reason="",
    )
    state = replace(state, head=commit, accepted=state.accepted + 1).with_step(accepted)
    for step in state.steps.values():
        behind = step.acceptance
        if behind is not None and behind.line is not None:
            line = behind.line
            if line.head == before and line.ahead[:1] == (delivery,):
                moved = replace(behind, line=Line(commit, line.ahead[1:]))
                state = state.with_step(replace(step, acceptance=moved))
    settled = SettleDelivery(
        front.ordinal, DeliveryStatus.ACCEPTED, delivery=delivery, commit=commit
    )
    learnt = lesson(accepted, state.policy, worked=True)
    return state, (settled, CloseInterventions(front.ordinal), *learnt)


def _ask(state: RunState) -> Advance:
    """Ask for what is missing: judgements, and reviews."""
    decisions: list[Decision] = []
    ahead: tuple[str, ...] = ()
    for step in islice(_queue(state), state.policy.accept_at_once):
        line = Line(state.head, ahead)
        ahead = (*ahead, _acceptance_of(step).published.delivery)
        if _acceptance_of(step).line != line:
            asked, enqueued = _judge(step, line)
            state = state.with_step(asked)
            decisions.append(enqueued)
    for step in state.steps.values():
        acceptance = step.acceptance
        if acceptance is None or step.phase is not StepPhase.ACCEPTING:
            continue
        if acceptance.stage is Stage.JUDGING and acceptance.line is None:
            asked, enqueued = _judge(step, Line(state.head))
        elif acceptance.stage is Stage.REVIEWING and not acceptance.asked:
            asked = replace(step, acceptance=replace(acceptance, asked=True))
            enqueued = enqueue_again(asked, JobKind.REVIEW)
        else:
            continue
        state = state.with_step(asked)
        decisions.append(enqueued)
    return state, tuple(decisions)


def _judge(step: StepState, line: Line) -> tuple[StepState, Enqueue]:
    acceptance = _acceptance_of(step)
    asked = replace(acceptance, asked=True, turn=acceptance.turn + 1, line=line, judgement=None)
    step = replace(step, acceptance=asked)
    return step, replace(enqueue_again(step, JobKind.ACCEPT), postponed=step.postponed)
