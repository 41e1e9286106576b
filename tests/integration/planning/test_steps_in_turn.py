"""Under `detail_steps: in_turn` a step is detailed when its turn comes, and sees what was found."""

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.acts.plan_text import PlanText
from orchestrator.acts.steps import revise
from orchestrator.acts.submission import Submission, submit
from orchestrator.views.plans import plan_view
from orchestrator.views.steps import step_view
from shared.domain.config import PLAN, Policy
from shared.domain.errors import Rejected
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

POLICY = Policy(auto_correction_enabled=False, detail_steps="in_turn")
PLANNED = plan_answer(step_answer("look"), step_answer("act", depends_on=["look"]))
NEW = plan_answer(step_answer("first"), step_answer("second", depends_on=["first"]))


def submit_task(installation: Installation) -> None:
    submit(installation.database, Submission("use the port", ("localhost",), POLICY))


def test_a_later_step_is_detailed_with_what_an_earlier_one_has_found(
    installation: Installation, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger"
    installation.model.will(
        Says(PLANNED),
        Says(detail_answer(subtask_answer("see", f"echo port-4711; touch {ledger}"))),
        Says(detail_answer(subtask_answer("use", f"echo 4711 >> {ledger}"))),
    )
    submit_task(installation)
    installation.carry_on()
    assert installation.rows("SELECT phase FROM tasks") == [("done",)]
    assert ledger.read_text() == "4711\n"
    first, second = (asked.said[0] for asked in installation.model.asked[1:])
    assert "port-4711" not in first
    assert "port-4711" in second.partition("<found-")[2].partition("</found-")[0]
    assert "1. Title of look [done]" in second
    with installation.database.begin() as connection:
        shown = step_view(connection, parse_ref("T1.2@localhost"))
        planned = plan_view(connection, parse_ref("T1"))
    assert [len(revision.subtasks) for revision in shown.revisions] == [1]
    assert str(shown.step.author) == "subtask_planner/anthropic"
    assert not shown.step.bare
    assert [step.subtasks for step in planned.steps] == [(), ()], "each target has its own"
    assert [each.subtasks[0].key for each in planned.detailed] == ["see", "use"]


def test_a_changed_plan_is_detailed_in_turn_with_its_reason_and_evidence(
    installation: Installation,
) -> None:
    installation.model.will(
        Says(PLANNED),
        Says(detail_answer(subtask_answer("see", "echo no such table >&2; exit 9"))),
        Says(revision_answer(impossible="There is no such table.")),
        Says(NEW | {"summary": "Another table serves."}),
        Says(detail_answer(subtask_answer("a", "echo seen-a"))),
        Says(detail_answer(subtask_answer("b", "true"))),
    )
    submit_task(installation)
    installation.carry_on()
    assert installation.rows("SELECT phase FROM tasks") == [("done",)]
    third, fourth = (asked.said[0] for asked in installation.model.asked[-2:])
    for said in (third, fourth):
        assert "Another table serves." in said
        assert "no such table" in said.partition("<evidence-")[2]
        plan = said.partition("<plan-")[2].partition("</plan-")[0]
        assert "Title of second" in plan
        assert "Title of act" not in plan, "it was replaced"
    assert "seen-a" not in third
    assert "seen-a" in fourth


def test_where_nobody_can_detail_a_step_a_person_does_it(installation: Installation) -> None:
    installation.model.will(
        Says(PLANNED),
        Says(detail_answer(subtask_answer("see", "true"))),
        Says(detail_answer(impossible="Only the owner knows.")),
    )
    submit_task(installation)
    installation.carry_on()
    assert installation.rows("SELECT phase, bare FROM run_steps ORDER BY step") == [
        ("done", False),
        ("waiting", True),
    ]
    ((reason, advice),) = installation.rows("SELECT reason, next_step FROM interventions")
    assert "Only the owner knows." in str(reason)
    assert "step revise" in str(advice)
    place = parse_ref("T1.2@localhost")
    with pytest.raises(Rejected, match="no evidence"):
        revise(installation.caller, place)
    given = PlanText("subtasks:\n  - command: echo by hand\n", "-")
    revise(installation.caller, place, given)
    installation.carry_on()
    assert installation.rows("SELECT phase FROM tasks") == [("done",)]


def test_it_cannot_be_combined_with_an_approval_of_every_command(
    installation: Installation,
) -> None:
    both = Submission("do it", ("localhost",), replace(POLICY, autonomy=PLAN))
    with pytest.raises(Rejected, match="choose one of them"):
        submit(installation.database, both)
