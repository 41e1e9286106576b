"""What a person may do with a plan: provide it, approve it, resume it, replay its planning."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from orchestrator.access import audit
from orchestrator.access.audit import Act
from orchestrator.acts import approvals
from orchestrator.acts.agents import named_repositories, require_rows, settle_agents
from orchestrator.acts.caller import Caller
from orchestrator.acts.check_warnings import notes, warnings_on_plan
from orchestrator.acts.done import Done, Note
from orchestrator.acts.plan_text import PlanText
from orchestrator.acts.plan_verdicts import stop_notes, stops_of_steps
from orchestrator.acts.post import post
from orchestrator.acts.resumption import resume_task
from orchestrator.acts.rights_warnings import rights_notes, warnings_on_rights
from orchestrator.acts.secret_grants import named_in_plan
from orchestrator.acts.secret_warnings import secret_notes, warnings_on_secrets
from orchestrator.acts.verbs import act
from orchestrator.acts.whole_plan import stored_steps
from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.probes.models import replay_call
from orchestrator.views.approvals import ApprovalView, approval_view, in_seconds
from orchestrator.views.remaining import RemainingSteps, remaining_steps
from orchestrator.views.spending import call_to_replay
from orchestrator.views.tasks import TaskView, task_view
from shared.contracts.planfile import load_plan
from shared.domain.approval import ApprovalRequest, ApprovalScope, plan_digest
from shared.domain.config import PLAN
from shared.domain.errors import Rejected
from shared.domain.facts import PlanApproved, PlanDrafted, StepsReplaced
from shared.domain.ids import Ref, parse_ref
from shared.domain.next_step import NextStep
from shared.domain.plan import Plan
from shared.secrets.sent import check_plan_secrets
from shared.store import targets

RESUMED = "Plan resumed successfully"
"""S1.17, word for word."""


@dataclass(frozen=True, slots=True)
class PlanApproval:
    """A task whose plan waits for approval or got it, and everything that the approval lets run."""

    task: TaskView
    wanted: tuple[ApprovalView, ...]


@dataclass(frozen=True, slots=True)
class _PendingPlan:
    """A plan that waits for a person's approval; `until` is when that approval would expire."""

    task: TaskView
    plan: Plan
    asked: tuple[ApprovalRequest, ...]
    until: datetime


@act("plan.provide")
def provide(caller: Caller, ref: Ref, given: PlanText) -> Done[TaskView]:
    """Provide the plan of a task that waits for a person to plan it.

    Raises Rejected for a plan that cannot be carried out or asks for another autonomy, and when the
    task does not wait for a plan.
    """
    view = _task(caller, ref)
    policy = view.policy
    plan = load_plan(given.text, policy=policy, source=given.source)
    check_plan_secrets(plan)
    on = [run.target for run in view.runs]
    plan = replace(plan, steps=settle_agents(caller.database, plan.steps, on))
    require_rows(caller.database, plan.steps, on)
    with caller.database.begin() as connection:
        targets.require_usable(connection, named_repositories(plan))
    if plan.autonomy not in {None, policy.autonomy}:
        raise Rejected(
            f"{given.source} asks for autonomy {plan.autonomy}, but {view.ref} was submitted with "
            f"{policy.autonomy}, which cannot change: remove it from the plan",
            stage="plan",
            next_step=NextStep.of("task show", view.ref),
        )
    if view.phase != "waiting" or any(run.phase != "not_started" for run in view.runs):
        raise Rejected(
            f"{view.ref} does not wait for a plan: it is {view.phase}",
            stage="input",
            next_step=NextStep.of("task show", view.ref),
        )
    stops = stops_of_steps(caller, plan.steps, on, policy)
    entry = Act("plan.provide", str(view.ref), {"file": given.name})
    taken = post(caller, entry, [(ref.task, None, PlanDrafted(plan))])
    told = (*notes(warnings_on_plan(plan)), *_needs(caller, plan, on), *stop_notes(stops))
    return Done(_task(caller, ref), taken, told)


@act("plan.revise")
def revise(
    caller: Caller, ref: Ref, given: PlanText, replaced: Sequence[int] = ()
) -> Done[TaskView]:
    """Put other steps in the place of those that remain on one target, or of some of them.

    What is done stays, and so does what is at work and not named. Raises Rejected for a plan that
    cannot be carried out or asks something, for a step that may not be replaced now, and when one
    that stays needs one that goes.
    """
    with caller.database.begin() as connection:
        left = remaining_steps(connection, ref)
    policy = _task(caller, ref.of_task()).policy
    by_hand = NextStep.of("plan revise", left.place.ref, file=given.source)
    plan = load_plan(given.text, policy=policy, source=given.source)
    check_plan_secrets(plan)
    on = [left.place.target]
    plan = replace(plan, steps=settle_agents(caller.database, plan.steps, on))
    with caller.database.begin() as connection:
        targets.require_usable(connection, named_repositories(plan))
    free = tuple(step.ordinal for step in left.steps)
    gone = tuple(sorted({*replaced})) or free
    _refuse_replacement(left, plan, gone, all_of_it=not replaced)
    after = left.run_with(plan, gone)
    look = NextStep.of("task show", left.place.ref)
    require_rows(caller.database, after, on, known=left.known, next_step=look)
    stops = stops_of_steps(caller, plan.steps, on, policy)
    fact = StepsReplaced(left.known, gone, plan.steps, caller.actor.name)
    entry = Act("plan.revise", str(left.place.ref), {"file": given.name, "replaces": list(gone)})
    taken = post(caller, entry, [(left.place.task_id, left.place.run_id, fact)])
    with caller.database.begin() as connection:
        now = remaining_steps(connection, ref)
    if taken and now.known == left.known:
        raise Rejected(
            f"the plan of {left.place.ref} has changed meanwhile: look at it again",
            stage="plan",
            next_step=by_hand,
        )
    told = (*_needs(caller, plan, on), *stop_notes(stops))
    return Done(_task(caller, ref.of_task()), taken, told)


def _needs(caller: Caller, plan: Plan, on: Iterable[str]) -> tuple[Note, ...]:
    """What is to be known of the rights and the secrets that a plan by hand needs."""
    secrets = warnings_on_secrets(caller.settings.server, os.environ, named_in_plan(plan))
    rights = warnings_on_rights(caller, plan.steps, on)
    return (*rights_notes(rights), *secret_notes(secrets))


def _refuse_replacement(
    left: RemainingSteps, plan: Plan, gone: Sequence[int], *, all_of_it: bool
) -> None:
    place = left.place.ref
    look = NextStep.of("task show", place)
    at_work = ", ".join(map(str, left.at_work))
    if all_of_it and left.at_work:
        why = f"step {at_work} of {place} is at work: wait for it, or name the others with --steps"
        raise Rejected(why, stage="plan", next_step=look)
    free = {step.ordinal: step for step in left.steps}
    if not gone or not free.keys() >= {*gone}:
        wrong = ", ".join(str(each) for each in gone if each not in free)
        why = f"step {wrong} of {place} cannot be replaced now" if wrong else "no step remains"
        raise Rejected(why, stage="plan", next_step=look)
    for step in free.values():
        if step.ordinal not in gone and {*step.depends_on} & {*gone}:
            why = f"step {step.ordinal} of {place} needs one of those: name it, too"
            raise Rejected(why, stage="plan", next_step=look)
    if asks := [step.key for step in plan.steps if step.ask_question]:
        why = f"step {asks[0]!r} asks a question, and you are the one to answer it: write it down"
        raise Rejected(why, stage="plan", next_step=look)


def preview_approval(caller: Caller, ref: Ref) -> PlanApproval:
    """What `approve` would let run. Raises the same errors."""
    caller.may("plan.approve")
    pending = _pending_plan(caller, ref.of_task())
    return PlanApproval(pending.task, _requests(pending.asked))


@act("plan.approve")
def approve(caller: Caller, ref: Ref) -> Done[PlanApproval]:
    """Let a waiting plan begin: exactly its commands, on each of its hosts.

    Raises Rejected when the plan does not wait for approval, when it contains something forbidden,
    and when it has changed in the meantime.
    """
    place = ref.of_task()
    pending = _pending_plan(caller, place)
    by = caller.actor.name
    given = approvals.approvals_of(pending.asked, ApprovalScope.ONCE, by, pending.until)
    signed = tuple(caller.signer.sign(place.task, each) for each in approvals.often(given))
    fact = PlanApproved(plan_digest(pending.plan), by, signed)
    entry = Act("plan.approve", str(pending.task.ref), {"plan": fact.plan_digest})
    taken = post(caller, entry, [(place.task, None, fact)])
    after = _task(caller, place)
    if taken and _waits_for_approval(after):
        raise Rejected(
            f"the plan of {after.ref} has changed: look at it again",
            stage="plan",
            next_step=NextStep.of("plan approve", after.ref, list=True),
        )
    return Done(PlanApproval(after, _requests(pending.asked)), taken)


def _pending_plan(caller: Caller, ref: Ref) -> _PendingPlan:
    with caller.database.begin() as connection:
        view = task_view(connection, ref)
        _refuse_unless_plan_waits(view)
        plan, places = stored_steps(connection, ref)
        policy = view.policy
        until = in_seconds(connection, policy.approval_ttl)
    guard_for = approvals.guards_of(caller.settings.server, policy)
    return _PendingPlan(view, plan, approvals.texts_to_approve(places, ref.task, guard_for), until)


def _refuse_unless_plan_waits(task: TaskView) -> None:
    if _waits_for_approval(task):
        return
    how = "is already approved" if task.policy.autonomy == PLAN else "needs no approval"
    raise Rejected(
        f"the plan of {task.ref} does not wait for an approval: the task is {task.phase}"
        + (f", and the plan {how}" if task.steps_planned else ""),
        stage="plan",
        next_step=NextStep.of("task show", task.ref),
    )


def _waits_for_approval(task: TaskView) -> bool:
    return any(waits.kind == InterventionKind.PLAN_APPROVAL for waits in task.interventions)


def _requests(asked: Iterable[ApprovalRequest]) -> tuple[ApprovalView, ...]:
    return tuple(approval_view(each) for each in asked)


@act("plan.resume")
def resume(caller: Caller, plan_id: str) -> Done[TaskView]:
    """Resume a plan by its id, `12` or `T12`, after the cause was removed (S1.16, S1.18).

    Raises what `resume_task` raises, and Rejected when `plan_id` is not a valid id.
    """
    text = plan_id.strip()
    ref = parse_ref(f"T{text}" if text.isdigit() else text).of_task()
    return resume_task(caller, "plan.resume", ref)


@act("plan.replay")
def replay(
    caller: Caller, ref: Ref, model: str, *, call: int | None = None
) -> Done[dict[str, Any]]:
    """Ask another model a question that was asked for a task or one of its steps; nothing follows.

    The stored question is asked unchanged: that of the `call`, or the newest that was answered. The
    call costs money and counts towards the caps. Raises Rejected when there is no such question,
    and what asking a model raises.
    """
    with caller.database.begin() as connection:
        chosen = call_to_replay(connection, ref, call)
        entry = Act("plan.replay", str(ref), {"call": chosen, "model": model})
        audit.record(connection, caller.actor, entry)
    return Done(replay_call(chosen, model, caller.settings.file))


def _task(caller: Caller, ref: Ref) -> TaskView:
    with caller.database.begin() as connection:
        return task_view(connection, ref)
