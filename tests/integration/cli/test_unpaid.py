"""An agent could not pay its next call, on the command line: shown, and raised by a person."""

from decimal import Decimal
from pathlib import Path

import pytest

from shared.domain.budget import Ending
from shared.domain.facts import PassFinished
from shared.domain.jobs import Job
from shared.domain.spending import Cap, CapReached, Unpaid
from tests.integration.cli.calling import Cli
from tests.services.ring import eventually
from tests.services.scripted_worker import ScriptedWorker

PLAN = "steps:\n  - title: s\n    subtasks:\n      - {run: 'true'}\n"


@pytest.fixture
def worker(coordinated: Cli) -> ScriptedWorker:
    return ScriptedWorker(coordinated.database)


def stopped(cli: Cli, worker: ScriptedWorker, folder: Path, cap: Cap) -> Job:
    """A task whose agent could not pay, and the job that tells it."""
    plan = folder / "plan.yaml"
    plan.write_text(PLAN)
    cli.json("task", "submit", "--plan", plan, "--local")
    job = worker.takes()
    reached = CapReached(cap, Decimal("0.05"), Decimal("0.04"), Decimal("0.02"), "dear", "too dear")
    fact = PassFinished(
        1, 0, 1, Ending.OVER_BUDGET, 2, "T1.1.1: too dear", unpaid=Unpaid(1, reached)
    )
    assert worker.reports(job, fact)
    eventually(lambda: cli.rows("SELECT id FROM interventions"), "the question")
    return job


def test_a_raised_budget_is_a_row_and_the_next_pass_begins(
    coordinated: Cli, worker: ScriptedWorker, tmp_path: Path
) -> None:
    stopped(coordinated, worker, tmp_path, Cap.BUDGET)
    shown = coordinated.json("intervention", "show", "I1")["details"]
    assert (shown["kind"], shown["unpaid"]["ref"]) == ("budget", "T1.1.1@localhost")
    assert shown["commands"][0] == "replan step raise T1.1@localhost --cost-budget 0.12"
    for less in ("0.05", "0.0599"):
        refused = coordinated.refused("step", "raise", "T1.1", "--cost-budget", less)
        assert refused["next_step_cmd"] == shown["commands"][0]
    refused = coordinated.refused("task", "resume", "T1")
    assert "until you raise the budget of its agents" in refused["reason"]
    coordinated.json("step", "raise", "T1.1", "--cost-budget", "0.06")
    job = worker.takes()
    assert (job.pass_no, job.revision) == (2, 0)
    rows = coordinated.rows("SELECT step, revision, subtask, raised FROM agent_budgets")
    assert rows == [(1, 0, 1, Decimal("0.06"))]
    again = coordinated.refused("step", "raise", "T1.1", "--cost-budget", "1")
    assert "does not wait for a cost budget" in again["reason"]
    (errors,) = coordinated.rows("SELECT errors FROM run_steps")
    assert errors == (2,)
    entries = coordinated.json("audit", "list")["details"]["entries"]
    assert "step.raise" in {entry["verb"] for entry in entries}


@pytest.mark.parametrize(
    ("cap", "command"),
    [
        (Cap.TASK, "replan task resume T1 --cost-cap 0.12"),
        (Cap.DAY, "replan task resume T1"),
        (Cap.PRICE, "replan task resume T1"),
    ],
)
def test_another_cap_is_raised_as_for_planners(
    coordinated: Cli, worker: ScriptedWorker, tmp_path: Path, cap: Cap, command: str
) -> None:
    stopped(coordinated, worker, tmp_path, cap)
    shown = coordinated.json("intervention", "show", "I1")["details"]
    assert (shown["kind"], shown["commands"][0]) == ("spending", command)
    refused = coordinated.refused("step", "raise", "T1.1", "--cost-budget", "1")
    assert "does not wait for a cost budget" in refused["reason"]
    coordinated.json(*command.split()[1:])
    job = worker.takes()
    assert (job.kind.value, job.pass_no, job.revision) == ("execute", 2, 0)
    assert coordinated.rows("SELECT raised FROM agent_budgets") == []
