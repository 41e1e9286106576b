"""Acts called by no command line: what an HTTP route, a button or a bot would do with a token."""

import pytest
from sqlalchemy import text

from orchestrator.access.roles import AccessRole
from orchestrator.acts import interventions, plans, steps, tasks
from orchestrator.acts.caller import Caller
from orchestrator.acts.plan_text import PlanText
from orchestrator.acts.tasks import TaskRequest
from orchestrator.views.interventions import list_interventions
from orchestrator.views.tasks import task_view
from shared.domain.errors import Rejected
from shared.domain.ids import Ref
from shared.store.database import Database
from tests.integration.acts.conftest import CallerWith

PLAN = PlanText("steps:\n  - {title: Greet, subtasks: [{run: echo hello}]}\n", "plans/greet.yaml")


def asked_for(caller: Caller, *settings: str) -> Ref:
    """A task that a person plans."""
    request = TaskRequest("greet", ("localhost",), ("planner=human", *settings))
    ref = tasks.submit(caller, request).value.ref
    while True:
        with caller.reading("task.show") as connection:
            if task_view(connection, ref).waits:
                return ref


def done(database: Database) -> list[tuple[str, str, str]]:
    """Who did what to what, after the tokens were made."""
    query = text("SELECT actor, verb, ref FROM audit WHERE verb NOT LIKE 'token.%' ORDER BY seq")
    with database.begin() as connection:
        return [tuple(row) for row in connection.execute(query).all()]


def test_a_task_is_cancelled_by_who_may_and_told_where_it_stands(
    database: Database, caller_with: CallerWith
) -> None:
    operator, viewer = caller_with(AccessRole.OPERATOR), caller_with(AccessRole.VIEWER)
    ref = asked_for(operator)
    with pytest.raises(Rejected, match=r"task\.cancel takes the role operator"):
        tasks.cancel(viewer, ref)
    cancelled = tasks.cancel(operator, ref)
    assert cancelled.taken
    assert (cancelled.value.ref, cancelled.value.phase) == (ref, "cancelled")
    with pytest.raises(Rejected, match="has already ended") as refused:
        tasks.cancel(operator, ref)
    assert refused.value.next_step is not None
    assert done(database) == [
        ("token:operator", "task.submit", str(ref)),
        ("token:operator", "task.cancel", str(ref)),
    ]


def test_a_plan_is_given_seen_and_approved_and_no_operator_approves(
    database: Database, caller_with: CallerWith
) -> None:
    operator, approver = caller_with(AccessRole.OPERATOR), caller_with(AccessRole.APPROVER)
    ref = asked_for(operator, "autonomy=plan")
    assert plans.provide(operator, ref, PLAN).taken
    with approver.reading("intervention.list") as connection:
        (waits,) = list_interventions(connection, task_id=ref.task)
    assert waits.kind == "plan_approval"
    (wanted,) = plans.preview_approval(approver, ref).wanted
    assert wanted.command == "echo hello"
    with pytest.raises(Rejected, match=r"plan\.approve takes the role approver"):
        plans.approve(operator, ref)
    with pytest.raises(Rejected, match="approve it as a whole"):
        interventions.approve(approver, waits.name)
    approved = plans.approve(approver, ref)
    assert approved.taken
    assert approved.value.task.phase == "running"
    assert done(database)[-1] == ("token:approver", "plan.approve", str(ref))


def test_a_step_is_revised_by_a_text_that_no_file_holds(
    database: Database, caller_with: CallerWith
) -> None:
    operator = caller_with(AccessRole.OPERATOR)
    request = TaskRequest(None, ("localhost",), plan=PLAN)
    ref = tasks.submit(operator, request).value.ref
    step = Ref(ref.task, step=1)
    while True:
        with operator.reading("task.show") as connection:
            if task_view(connection, ref).runs[0].steps:
                break
    given = PlanText("subtasks: [{run: echo hello again}]\n", "an answer")
    revised = steps.revise(operator, step, given)
    assert (revised.taken, revised.value.revision) == (True, 1)
    with pytest.raises(Rejected, match="does not wait for you"):
        steps.abandon(operator, step)
    with operator.reading("task.show") as connection:
        assert task_view(connection, ref).prompt == "greet"
    assert [verb for _, verb, _ in done(database)] == ["task.submit", "step.revise"]
