"""A step that the subtask planner cannot do goes to the planner; a repeated list is sent back."""

from pathlib import Path

from orchestrator.acts.submission import Submission, submit
from orchestrator.views.plans import plan_view
from orchestrator.views.steps import step_view
from shared.domain.config import Policy
from shared.domain.ids import parse_ref
from tests.fakes.model_server import Says
from tests.integration.planning.at_work import Installation
from tests.unit.planning.given import (
    detail_answer,
    plan_answer,
    revision_answer,
    step_answer,
    subtask_answer,
)


def submit_task(installation: Installation) -> None:
    policy = Policy(auto_correction_enabled=False)
    submit(installation.database, Submission("serve pages", ("localhost",), policy))


PLANNED = plan_answer(
    step_answer("folder"),
    step_answer("package", depends_on=["folder"]),
    step_answer("look", depends_on=["package"]),
)


def test_a_plan_is_changed_from_the_step_that_cannot_be_done(
    installation: Installation, tmp_path: Path
) -> None:
    """Finished work is kept; the rest is replaced, detailed and carried out."""
    run = f"echo once >> {tmp_path}/ledger"
    installation.model.will(
        Says(PLANNED),
        Says(detail_answer(subtask_answer("mkdir", run))),
        Says(detail_answer(subtask_answer("install", "echo no such package >&2; exit 100"))),
        Says(detail_answer(subtask_answer("see", "true"))),
        Says(revision_answer(impossible="There is no such package anywhere.")),
        Says(plan_answer(step_answer("container"), step_answer("seen", depends_on=["container"]))),
        Says(detail_answer(subtask_answer("start", f"echo container >> {tmp_path}/ledger"))),
        Says(detail_answer(subtask_answer("see", "true"))),
    )
    submit_task(installation)
    installation.carry_on()
    assert (tmp_path / "ledger").read_text().split() == ["once", "container"]
    assert installation.rows("SELECT phase FROM tasks") == [("done",)]
    assert installation.rows(
        "SELECT step, phase, author_role, generation FROM run_steps ORDER BY step"
    ) == [
        (1, "done", "subtask_planner", 0),
        (2, "replaced", "subtask_planner", 0),
        (3, "replaced", "subtask_planner", 0),
        (4, "done", "subtask_planner", 1),
        (5, "done", "subtask_planner", 1),
    ]
    assert installation.rows("SELECT queue FROM jobs WHERE kind = 'replan'") == [("planning",)]
    upward = installation.model.asked[5].said[0]
    assert "1. Title of folder [done]" in upward
    assert "2. Title of package [replanning]" in upward
    assert "There is no such package anywhere." in upward
    assert "no such package" in upward
    with installation.database.begin() as connection:
        shown = step_view(connection, parse_ref("T1.4@localhost"))
        planned = plan_view(connection, parse_ref("T1"))
    assert [str(step.ref) for step in planned.steps] == ["T1.1", "T1.2", "T1.3"]
    assert [(str(step.ref), step.depends_on) for step in planned.added] == [
        ("T1.4@localhost", ("folder",)),
        ("T1.5@localhost", ("container",)),
    ]
    assert shown.instruction == "Bring about container."
    assert [subtask.status for subtask in shown.subtasks] == ["ok"]


def test_where_the_planner_knows_no_way_either_a_person_is_asked(
    installation: Installation,
) -> None:
    """With the words of the planner that was asked last."""
    installation.model.will(
        Says(plan_answer(step_answer("package"))),
        Says(detail_answer(subtask_answer("install", "exit 100"))),
        Says(revision_answer(impossible="There is no such package.")),
        Says(plan_answer(impossible="A person must buy a licence.")),
    )
    submit_task(installation)
    installation.carry_on()
    assert installation.rows("SELECT phase, handed_up FROM run_steps") == [("waiting", True)]
    ((kind, stage, reason),) = installation.rows("SELECT kind, stage, reason FROM interventions")
    assert (kind, stage) == ("escalation", "replan")
    assert "licence" in str(reason)


def test_a_revision_that_has_failed_is_asked_for_again_and_may_undo_what_ran(
    installation: Installation, tmp_path: Path
) -> None:
    """Once, with the reason; its rollbacks then run before its list (S0.56)."""
    ledger = tmp_path / "ledger"
    first = subtask_answer("mark", f"echo did >> {ledger}", rollback=f"echo undid >> {ledger}")
    fails = subtask_answer("fail", "exit 9", needs=["mark"])
    then = subtask_answer("then", f"echo then >> {ledger}")
    installation.model.will(
        Says(plan_answer(step_answer("one"))),
        Says(detail_answer(first, fails)),
        Says(revision_answer(first, fails)),
        Says({**revision_answer(then), "rollback": ["mark"]}),
    )
    submit_task(installation)
    installation.carry_on()
    assert ledger.read_text().split() == ["did", "undid", "then"]
    assert installation.rows("SELECT phase FROM tasks") == [("done",)]
    again = installation.model.asked[3].said
    assert "this repeats revision 0 of the step" in again[-1]
    assert "it ran) $ echo undid" in again[0]
