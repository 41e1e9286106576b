"""Having the next pass of one step carried out now (S2.56, S2.81)."""

from orchestrator.access import audit
from orchestrator.access.audit import Act
from orchestrator.acts.caller import Caller
from orchestrator.acts.done import Done
from orchestrator.acts.post import post
from orchestrator.acts.verbs import act
from orchestrator.core.job_rules import AT_WORK
from orchestrator.core.overtaken_rules import TOLD_BY_A_PERSON, is_resumable
from orchestrator.views.interventions import list_interventions
from orchestrator.views.standing_steps import PassWay, RunPass, StandingStep, standing_step
from shared.domain.errors import Rejected
from shared.domain.facts import ResumeRequested
from shared.domain.ids import Ref
from shared.domain.next_step import Advice, NextStep
from shared.domain.task import StepPhase
from shared.store import jobs


def preview(caller: Caller, ref: Ref) -> RunPass:
    """What `run` would do. Raises the same errors."""
    caller.may("attempt.run")
    step, way = _way(caller, ref)
    return _value(step, way, applied=False)


@act("attempt.run")
def run(caller: Caller, ref: Ref) -> Done[RunPass]:
    """Have the next pass of a step carried out now, and of no other one.

    Raises Rejected for a step that nobody waits for: one that is done or at work, whose needs are
    not met, or that waits for an answer.
    """
    step, way = _way(caller, ref)
    place, ordinal = step.place, step.state.ordinal
    entry = Act("attempt.run", str(step.ref), {"way": way.value})
    if way is PassWay.NOW:
        with caller.database.begin() as connection:
            jobs.hasten(connection, place.run_id, ordinal)
            audit.record(connection, caller.actor, entry)
        return Done(_value(step, way, applied=True))
    taken = post(caller, entry, [(place.task_id, place.run_id, ResumeRequested(ordinal))])
    with caller.database.begin() as connection:
        after = standing_step(connection, step.ref)
    return Done(_value(after, way, applied=True), taken)


def _way(caller: Caller, ref: Ref) -> tuple[StandingStep, PassWay]:
    with caller.database.begin() as connection:
        step = standing_step(connection, ref)
        state = step.state
        if is_resumable(state) and state.phase is not StepPhase.SKIPPED:
            return step, PassWay.ON if state.unfinished else PassWay.AGAIN
        if state.phase is StepPhase.READY and (step.due_in or 0.0) > 0 and not step.held:
            return step, PassWay.NOW
        asked = list_interventions(connection, task_id=step.place.task_id)
    answer = next((each.next_step for each in asked if each.ref == step.ref), None)
    raise _refusal(step, answer)


def _refusal(step: StandingStep, answer: Advice | None) -> Rejected:
    state = step.state
    look: Advice = NextStep.of("step show", step.ref)
    if state.waits_for in TOLD_BY_A_PERSON:
        why, look = "waits for an answer, which another pass does not give", answer or look
    elif state.phase is StepPhase.READY and not step.held:
        why, look = "waits for a worker", NextStep.of("worker start", "executor")
    elif state.phase in AT_WORK:
        why, look = "is at work already", NextStep.of("attempt list", step.ref)
    elif state.phase in {StepPhase.NOT_STARTED, StepPhase.SKIPPED}:
        needs = ", ".join(map(str, state.depends_on))
        why = f"is {state.phase}: it needs step {needs}" if needs else f"is {state.phase}"
    else:
        why = f"is {state.phase}: it waits for no pass"
    return Rejected(f"{step.ref} {why}", stage="input", next_step=look)


def _value(step: StandingStep, way: PassWay, *, applied: bool) -> RunPass:
    fresh = not applied and way is PassWay.AGAIN
    return RunPass(step.ref, step.state.phase, way, step.state.pass_no + fresh, applied=applied)
