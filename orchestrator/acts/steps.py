"""What a person may do with a step in a run: revise it, have it revised, abandon it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from orchestrator.access.audit import Act
from orchestrator.acts.agents import require_row_of, settle_agents_of
from orchestrator.acts.caller import Caller
from orchestrator.acts.check_warnings import notes, warnings_on_list
from orchestrator.acts.done import Done, Note
from orchestrator.acts.plan_text import PlanText
from orchestrator.acts.post import post
from orchestrator.acts.verbs import act
from orchestrator.views.places import require_step
from orchestrator.views.steps import StepLine, StepView, step_view
from orchestrator.views.tasks import task_view
from shared.contracts.planfile import load_revision, rollback_of
from shared.domain.acceptance import acceptance_of, missing_checks
from shared.domain.errors import Rejected
from shared.domain.facts import RevisionRequested, RunFact, StepAbandoned, StepRevised
from shared.domain.host import LOCALHOST
from shared.domain.ids import Ref
from shared.domain.next_step import Advice, Blank, NextStep, edit_file
from shared.domain.plan import DroppedCheck, Revision, Subtask
from shared.guard.proofs import proof_rules
from shared.secrets.sent import check_secrets


@act("step.revise")
def revise(
    caller: Caller, ref: Ref, given: PlanText | None = None, note: str = ""
) -> Done[StepLine]:
    """Give a step new subtasks or, without any, have its planner revise it now.

    The step keeps its author: later evidence goes to its first planner. `given` may name subtasks
    of earlier lists under `rollback`: those that ran are undone first. Acceptance checks that it
    does not make any more are recorded as dropped, with the note. Raises Rejected when
    nothing is left to revise, when there is no evidence for a revision, and for subtasks that
    cannot be carried out.
    """
    with caller.database.begin() as connection:
        view = step_view(connection, ref)
        policy = task_view(connection, ref).policy
    step = view.step
    if step.phase in {"done", "cancelled", "replaced"}:
        raise Rejected(
            f"{step.ref} is {step.phase}: there is nothing to revise",
            stage="input",
            next_step=NextStep.of("step show", step.ref),
        )
    if given is not None:
        target = step.ref.target or LOCALHOST.name
        listed = load_revision(
            given.text, policy=policy, source=given.source, next_step=edit_file(given.source)
        )
        listed = settle_agents_of(caller.database, step.run_id, step.ordinal, target, listed)
        fact = _revision_fact(view, listed, given, note)
        by_plan = NextStep.of("plan revise", Ref(ref.task, target=target), file=Blank("FILE"))
        require_row_of(caller.database, step.run_id, step.ordinal, target, by_plan)
        told = (*_notes_on_drops(fact), *notes(warnings_on_list(step.ordinal, fact.subtasks)))
        return replace(_post(caller, "step.revise", ref, fact), notes=told)
    if step.bare or step.phase in {"not_started", "error", "skipped"}:
        raise Rejected(
            f"{step.ref} is {step.phase}: there is no evidence for a revision",
            stage="input",
            next_step=NextStep.of("step revise", step.ref, file=Blank("FILE")),
        )
    return _post(caller, "step.revise", ref, RevisionRequested(step.ordinal, note))


@act("step.abandon")
def abandon(caller: Caller, ref: Ref) -> Done[StepLine]:
    """Abandon a step that waits for a person: it ends in error. Raises Rejected for any other."""
    step = _step(caller, ref)
    if step.phase not in {"waiting", "blocked"}:
        raise Rejected(
            f"{step.ref} does not wait for you: it is {step.phase}",
            stage="input",
            next_step=NextStep.of("step show", step.ref),
        )
    return _post(caller, "step.abandon", ref, StepAbandoned(step.ordinal))


def _revision_fact(
    view: StepView, subtasks: tuple[Subtask, ...], given: PlanText, note: str
) -> StepRevised:
    step = view.step
    undone = rollback_of(given.text, source=given.source, next_step=edit_file(given.source))
    _refuse_unknown(undone, view, edit_file(given.source))
    check_secrets(subtasks, where=f"step {step.ordinal}")
    reason = note or f"given by hand: {given.name}"
    return StepRevised(
        step.ordinal,
        step.revision + 1,
        step.author,
        subtasks,
        reason,
        undone,
        dropped_checks=tuple(DroppedCheck(check, reason) for check in _dropped(view, subtasks)),
    )


def _dropped(view: StepView, subtasks: Sequence[Subtask]) -> tuple[str, ...]:
    """The acceptance checks of the first plan that a new list does not make."""
    revisions = [
        Revision(
            view.step.ordinal,
            each.revision,
            each.author,
            each.subtasks,
            dropped_checks=each.dropped_checks,
        )
        for each in view.revisions
    ]
    return missing_checks(acceptance_of(revisions, proof_rules()), subtasks)


def _notes_on_drops(fact: StepRevised) -> Iterator[Note]:
    for each in fact.dropped_checks:
        yield Note(f"the check `{each.check}` of the first plan is dropped: {each.reason}")


def _refuse_unknown(undone: tuple[str, ...], view: StepView, next_step: Advice) -> None:
    for key in undone:
        named = [s for each in view.revisions for s in each.subtasks if s.key == key]
        if any(subtask.rollback is not None for subtask in named):
            continue
        why = "has no rollback command" if named else "is not a subtask of any of its lists"
        raise Rejected(
            f"rollback: {key!r} of {view.step.ref} {why}", stage="revise", next_step=next_step
        )


def _post(caller: Caller, verb: str, ref: Ref, fact: RunFact) -> Done[StepLine]:
    with caller.database.begin() as connection:
        place, _ = require_step(connection, ref)
        step = step_view(connection, ref).step
    entry = Act(verb, str(step.ref), {"fact": type(fact).__name__})
    taken = post(caller, entry, [(place.task_id, place.run_id, fact)])
    return Done(_step(caller, ref), taken)


def _step(caller: Caller, ref: Ref) -> StepLine:
    with caller.database.begin() as connection:
        return step_view(connection, ref).step
