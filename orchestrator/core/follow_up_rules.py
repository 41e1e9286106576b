"""What every fact about a run leads to in the end.

Steps that can begin do, deliveries that can be accepted are, a checkpoint may be due, and the run
has a phase.
"""

from collections.abc import Iterator
from dataclasses import replace

from orchestrator.core.acceptance_rules import advance_line, resume_acceptance
from orchestrator.core.checkpoint_rules import BUSY, drive_checkpoint
from orchestrator.core.decisions import Decision, ReportRun, SettleDelivery
from orchestrator.core.detail_rules import enqueue_detail
from orchestrator.core.job_rules import AT_WORK
from orchestrator.core.plan_rules import OUT_OF_REACH, is_met
from orchestrator.core.state import RunState, StepState, WaitsFor
from orchestrator.core.step_rules import drive_on, enqueue_pass
from shared.domain.config import ASK
from shared.domain.delivery import CheckpointPhase, DeliveryStatus
from shared.domain.task import ENDED_RUN, ENDED_STEP, RunPhase, StepPhase

Advance = tuple[RunState, tuple[Decision, ...]]

_OVER = frozenset({StepPhase.DONE, StepPhase.CANCELLED, StepPhase.REPLACED})
"""The phases from which nothing brings a step back."""


def follow_up(
    before: RunState, state: RunState, decisions: tuple[Decision, ...], *, cancelled: bool = False
) -> Advance:
    """Let everything go on that can, then set the phase of the run."""
    state, accepted = advance_line(state)
    state, started = _launch(_strand(state))
    state, published = drive_checkpoint(state)
    phase = RunPhase.CANCELLED if cancelled else _phase(state)
    made = (*decisions, *accepted, *started, *published)
    report = () if phase is before.phase else (ReportRun(phase),)
    paused = state.paused and phase not in ENDED_RUN  # a pause ends with the run at the latest
    return replace(state, phase=phase, paused=paused), (
        *made,
        *_withdrawn(before, state, made),
        *report,
    )


def begin(step: StepState) -> tuple[StepState, tuple[Decision, ...]]:
    """Have a step carried out, or driven on where its pass came to no end, or first detailed.

    One that has published goes on with its delivery.
    """
    if step.acceptance is not None:
        return resume_acceptance(step)
    if step.bare:
        return enqueue_detail(step)
    return drive_on(step) if step.unfinished else enqueue_pass(step)


def _withdrawn(
    before: RunState, state: RunState, decisions: tuple[Decision, ...]
) -> Iterator[SettleDelivery]:
    """The deliveries that are on their way no more, and that nobody has judged.

    A pass may have published without a word of it: its worker had no time to report, or the pass
    had been withdrawn by then.
    """
    settled = {each.delivery for each in decisions if isinstance(each, SettleDelivery)}
    for ordinal, step in before.steps.items():
        now = state.steps[ordinal]
        if step.acceptance is None:
            left = now.pass_no != step.pass_no or not _may_publish(now)
            if _may_publish(step) and left and now.acceptance is None and state.policy.deliver:
                yield SettleDelivery(ordinal, DeliveryStatus.WITHDRAWN)
            continue
        delivery = step.acceptance.published.delivery
        goes_on = now.acceptance is not None and now.acceptance.published.delivery == delivery
        if not goes_on and delivery not in settled:
            yield SettleDelivery(ordinal, DeliveryStatus.WITHDRAWN, delivery=delivery)


def _may_publish(step: StepState) -> bool:
    """Whether the present pass of a step may still publish something, or may have done so."""
    if step.phase in AT_WORK:
        return True
    driven_on = step.unfinished or step.waits_for is WaitsFor.RECORDS
    return driven_on and step.phase not in _OVER


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

    Nothing begins while the run is paused and, under `autonomy: ask`, while a person is to approve
    something.
    """
    asks = state.policy.autonomy == ASK and any(
        s.waits_for is WaitsFor.APPROVAL for s in state.steps.values()
    )
    if asks or state.paused:
        return state, ()
    decisions: list[Decision] = []
    for step in state.steps.values():
        if step.phase is not StepPhase.NOT_STARTED:
            continue
        if all(is_met(state.steps[ordinal]) for ordinal in step.depends_on):
            begun, enqueued = begin(step)
            state = state.with_step(begun)
            decisions.extend(enqueued)
    return state, tuple(decisions)


def _phase(state: RunState) -> RunPhase:
    if state.phase is RunPhase.CANCELLED:
        return RunPhase.CANCELLED
    phases = {step.phase for step in state.steps.values()} - {StepPhase.REPLACED}
    if phases <= ENDED_STEP and not state.held_open:
        if StepPhase.CANCELLED in phases:
            return RunPhase.CANCELLED
        return RunPhase.DONE if phases <= {StepPhase.DONE} else RunPhase.ERROR
    if phases & BUSY or state.checkpoint.phase is CheckpointPhase.UNDER_WAY:
        return RunPhase.RUNNING
    return RunPhase.WAITING
