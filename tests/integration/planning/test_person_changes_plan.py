"""A person changes what remains of a plan: done work stays, and nothing that runs is replaced."""

from pathlib import Path

import pytest

from orchestrator.acts.plan_text import PlanText
from orchestrator.acts.plans import revise
from orchestrator.acts.steps import revise as revise_step
from orchestrator.acts.submission import Submission, submit
from orchestrator.views.remaining import remaining_steps
from shared.contracts.plandump import dump_plan
from shared.contracts.planfile import load_plan
from shared.domain.config import Policy
from shared.domain.errors import Rejected
from shared.domain.ids import parse_ref
from shared.domain.target import Repository
from shared.store import repositories
from tests.integration.planning.at_work import Installation
from tests.integration.workspaces.sources import Source

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


def test_work_in_one_repository_stays_in_a_row(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither new steps nor new subtasks are taken for a step that could not go on from both."""
    Source.at(tmp_path / "app", readme="hello")
    with installation.database.begin() as connection:
        repositories.save(connection, Repository("app", "localhost", str(tmp_path / "app")))
    steps = "".join(
        f"- {{id: {key}, title: T, repository: app, depends_on: [{needs}],"
        " subtasks: [{command: exit 9}]}\n"
        for key, needs in (("ui", ""), ("api", ""), ("integrate", "ui, api"))
    )
    diamond = PlanText(f"steps:\n{steps}", "diamond.yaml")
    # A model may have planned it.
    with monkeypatch.context() as planned:
        planned.setattr("orchestrator.acts.submission.require_rows", lambda *_: None)
        plan = load_plan(diamond.text, policy=POLICY, source="plan")
        submit(installation.database, Submission("do it", ("localhost",), POLICY, plan))
    installation.carry_on()

    beside = "needs the steps {}, which work in repository 'app' side by side: put them in a row"
    with pytest.raises(Rejected, match="'integrate' " + beside.format("'ui' and 'api'")):
        revise(installation.caller, PLACE, diamond)
    subtasks = PlanText("subtasks: [{command: 'true'}]", "subtasks.yaml")
    with pytest.raises(Rejected, match="step 3 " + beside.format("1 and 2")):
        revise_step(installation.caller, parse_ref("T1.3@localhost"), subtasks)
    assert installation.rows("SELECT count(*) FROM run_steps") == [(3,)]
    api = "{id: api, title: T, repository: app, depends_on: ["
    row = PlanText(diamond.text.replace(api, f"{api}ui"), "row.yaml")
    revise(installation.caller, PLACE, row)
