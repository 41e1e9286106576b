"""A person changes what remains of a plan: done work stays, and nothing that runs is replaced."""

from pathlib import Path

import pytest

from orchestrator.acts.plan_text import PlanText
from orchestrator.acts.plans import revise
from orchestrator.acts.submission import Submission, submit
from orchestrator.views.remaining import remaining_steps
from shared.contracts.plandump import dump_plan
from shared.contracts.planfile import load_plan
from shared.domain.config import Policy
from shared.domain.errors import Rejected
from shared.domain.ids import parse_ref
from tests.integration.planning.at_work import Installation

PLACE = parse_ref("T1@localhost")
POLICY = Policy(auto_correction_enabled=False, error_threshold_per_step=1, max_retry_count=1)


def submit_plan(installation: Installation, ledger: Path) -> None:
    """Three steps, of which the second fails for good."""
    text = f"""
steps:
  - id: first
    title: The first
    subtasks: [{{command: "echo first >> {ledger}"}}]
  - id: second
    title: The second
    subtasks: [{{command: exit 9}}]
  - id: third
    title: The third
    subtasks: [{{command: "echo third >> {ledger}"}}]
"""
    plan = load_plan(text, policy=POLICY, source="plan")
    submit(installation.database, Submission("do it", ("localhost",), POLICY, plan))
    installation.carry_on()


def exported(installation: Installation) -> str:
    with installation.database.begin() as connection:
        return dump_plan(remaining_steps(connection, PLACE).plan)


def test_what_remains_is_exported_changed_and_carried_out(
    installation: Installation, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger"
    submit_plan(installation, ledger)
    text = exported(installation)
    assert "exit 9" in text
    assert "first" not in text, "it is done"
    changed = text.replace("exit 9", f"echo second >> {ledger}")
    changed += f"- id: last\n  title: The last\n  subtasks: [{{command: cat {ledger}}}]\n"
    revise(installation.caller, PLACE, PlanText(changed, "remaining.yaml"))
    installation.carry_on()
    assert ledger.read_text().split() == ["first", "second", "third"]
    assert installation.rows("SELECT step, phase FROM run_steps ORDER BY step") == [
        (1, "done"),
        (2, "replaced"),
        (3, "replaced"),
        (4, "done"),
        (5, "done"),
        (6, "done"),
    ]
    assert installation.rows("SELECT phase FROM tasks") == [("done",)]
    assert installation.rows("SELECT count(*) FROM audit WHERE verb = 'plan.revise'") == [(1,)]


def test_what_cannot_be_replaced_is_refused_with_the_reason(
    installation: Installation, tmp_path: Path
) -> None:
    submit_plan(installation, tmp_path / "ledger")
    given = PlanText(
        "steps: [{id: other, title: Other, subtasks: [{command: 'true'}]}]", "other.yaml"
    )
    text = "steps: [{id: a, title: A, ask_question: 'Which?', subtasks: [{command: 'true'}]}]"
    asks = PlanText(text, "asks.yaml")
    for file, steps, why in (
        (given, (1,), "step 1 of T1@localhost cannot be replaced now"),
        (given, (2,), "step 3 of T1@localhost needs one of those"),
        (asks, (), "asks a question"),
    ):
        with pytest.raises(Rejected, match=why):
            revise(installation.caller, PLACE, file, steps)
    assert installation.rows("SELECT count(*) FROM run_steps") == [(3,)]
