"""How the plan of a run changes: what replaces the remaining steps."""

from collections.abc import Collection
from dataclasses import replace

from orchestrator.core.decisions import (
    AddSteps,
    CancelJobs,
    CloseInterventions,
    Decision,
    OpenIntervention,
)
from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.core.state import RunState, StepState, WaitsFor
from orchestrator.core.step_rules import StepAdvance, after_draft, ask_planner
from shared.domain.changed_plan import needs_left, renumber
from shared.domain.config import details_in_turn
from shared.domain.facts import PlanRevised, QuestionAnswered
from shared.domain.look import NOT_LOOKED
from shared.domain.plan import Draft, OnFailure, Step, open_questions
from shared.domain.task import StepPhase

NOT_BEGUN = frozenset({StepPhase.NOT_STARTED, StepPhase.SKIPPED})

OUT_OF_REACH = {
    StepPhase.ERROR: "was given up",
    StepPhase.SKIPPED: "was skipped",
    StepPhase.CANCELLED: "was cancelled",
}


def is_met(step: StepState) -> bool:
    """Whether what depends on this step may begin."""
    return step.phase in {StepPhase.DONE, StepPhase.ACCEPTED} or (
        step.phase is StepPhase.ERROR and step.on_failure is OnFailure.CONTINUE
    )


def change_plan(state: RunState, fact: PlanRevised) -> tuple[RunState, tuple[Decision, ...]]:
    """Put new steps in the place of the one that was handed up and of all that have not begun.

    What has begun stays as it is, finished or not. A planner that did not know all steps, because
    another answer came before its own, is asked again. What its steps ask a person is asked
    first, all of it at once (S3.11); then what it left bare is detailed, at once or in its turn.
    """
    present, last = state.steps[fact.step], max(state.steps)
    if fact.known != last:
        asked = replace(present, postponed=0, draft=None, looks=NOT_LOOKED)
        return state.with_step(asked), (ask_planner(asked),)
    if open_questions(fact.steps):
        waiting, decisions = _ask_for_draft(present, fact)
        return state.with_step(waiting), decisions
    if not (details_in_turn(state.policy) or all(step.subtasks for step in fact.steps)):
        waiting, decisions = after_draft(present, state.policy, fact)
        return state.with_step(waiting), decisions
    gone = {o for o, step in state.steps.items() if _has_not_begun(step)} | {fact.step}
    added = renumber(fact.steps, last, remaining_needs(state, gone))
    why = f"replaced by a changed plan: {fact.reason}".rstrip(": ")
    steps = mark_replaced(state, gone, why)
    generation = present.generation + 1
    steps |= {step.ordinal: replace(StepState.of(step), generation=generation) for step in added}
    at_it = sorted(ordinal for ordinal in gone if state.steps[ordinal].phase not in NOT_BEGUN)
    return replace(state, steps=steps), (
        *(CancelJobs(ordinal) for ordinal in at_it),
        *(CloseInterventions(ordinal) for ordinal in at_it),
        AddSteps(added),
    )


def mark_replaced(state: RunState, gone: Collection[int], why: str) -> dict[int, StepState]:
    """The steps of a run, of which others have replaced those in `gone`."""
    return {
        ordinal: replace(
            step,
            phase=StepPhase.REPLACED,
            waits_for=None,
            acceptance=None,
            handed_up=False,
            draft=None,
            reason=why,
        )
        if ordinal in gone
        else step
        for ordinal, step in state.steps.items()
    }


def _has_not_begun(step: StepState) -> bool:
    """Whether nothing of it has run; a bare step may be being detailed, or wait for a person."""
    detailing = step.bare and step.phase in {StepPhase.DETAILING, StepPhase.WAITING}
    return step.phase in NOT_BEGUN or detailing


def answer_draft(state: RunState, fact: QuestionAnswered) -> tuple[RunState, tuple[Decision, ...]]:
    """Put a person's answer into a changed plan; with the last one, the plan is changed.

    If the plan of the run has changed meanwhile, its planner is asked again, and reads the answer.
    """
    present = state.steps[fact.step or 0]
    draft = present.draft
    assert draft is not None  # noqa: S101 - narrows the type
    steps = tuple(
        replace(step, answer=fact.answer) if _is_asked(step, fact.question) else step
        for step in draft.steps
    )
    if open_questions(steps):
        answered = replace(present, draft=replace(draft, steps=steps))
        return state.with_step(answered), (
            CloseInterventions(fact.step, intervention=fact.intervention),
        )
    goes_on = replace(
        present, phase=StepPhase.REPLANNING, waits_for=None, draft=None, reason="", postponed=0
    )
    changed = PlanRevised(
        present.ordinal, present.revision, present.pass_no, draft.known, steps, draft.reason
    )
    after, decisions = change_plan(state.with_step(goes_on), changed)
    return after, (CloseInterventions(fact.step), *decisions)


def _ask_for_draft(step: StepState, fact: PlanRevised) -> StepAdvance:
    """Ask a person what the steps of a changed plan ask, each question once."""
    asked = {each.ask_question: each for each in open_questions(fact.steps)}
    waiting = replace(
        step,
        phase=StepPhase.WAITING,
        waits_for=WaitsFor.ANSWER,
        postponed=0,
        reason=next(iter(asked)),
        draft=Draft(fact.known, fact.steps, fact.reason),
    )
    return waiting, (
        CancelJobs(step.ordinal),
        *(
            OpenIntervention(
                InterventionKind.QUESTION,
                step.ordinal,
                each.ask_question,
                "replan",
                options=each.ask_options,
            )
            for each in asked.values()
        ),
    )


def _is_asked(step: Step, question: str) -> bool:
    return step.ask_question == question and step.answer is None


def remaining_needs(state: RunState, gone: set[int]) -> tuple[int, ...]:
    """The dependencies of removed steps on kept steps that can still be met."""
    lost = {*OUT_OF_REACH, StepPhase.REPLACED}
    needs = {ordinal: step.depends_on for ordinal, step in state.steps.items()}
    return needs_left(
        needs, gone, lambda n: is_met(state.steps[n]) or state.steps[n].phase not in lost
    )
