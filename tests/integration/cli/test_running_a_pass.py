"""`replan attempt run`: the next pass of one step, now (S2.81)."""

from pathlib import Path

import pytest

from tests.integration.cli.calling import Cli
from tests.services.ring import eventually

PLAN = """
planner: human
steps:
  - {id: first, title: Go wrong, subtasks: [{run: test -e MADE}]}
  - {id: second, title: Come after, subtasks: [{run: 'true'}]}
"""


def test_what_has_failed_runs_again_alone(working: Cli, tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN.replace("MADE", str(tmp_path / "made")))
    ref = working.json("task", "submit", "--plan", plan, "--local", "--wait", code=3)["details"][
        "ref"
    ]
    shown = working.json("attempt", "run", f"{ref}.1-r0-p1@localhost", "--dry-run")["details"]
    assert (shown["way"], shown["applied"], shown["phase"]) == ("again", False, "waiting")
    assert len(working.json("attempt", "list", ref)["details"]["attempts"]) == 1
    assert "needs step 1" in working.refused("attempt", "run", f"{ref}.2")["reason"]
    (tmp_path / "made").touch()
    answer = working.json("attempt", "run", f"{ref}.1.1#1@localhost")["details"]
    assert (answer["way"], answer["applied"]) == ("again", True)
    assert answer["pass_no"] == shown["pass_no"]
    assert working.json("task", "watch", ref)["details"]["phase"] == "done"
    assert "waits for no pass" in working.refused("attempt", "run", f"{ref}.1")["reason"]
    assert "had its next pass carried out" in working("task", "report", ref).out


@pytest.mark.changes_rows
def test_what_was_put_off_does_not_wait_any_longer(coordinated: Cli, tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN)
    ref = coordinated.json("task", "submit", "--plan", plan, "--local")["details"]["ref"]
    eventually(lambda: coordinated.rows("SELECT id FROM jobs"), "the job")
    assert "waits for a worker" in coordinated.refused("attempt", "run", f"{ref}.1")["reason"]
    coordinated.rows("UPDATE jobs SET due_at = clock_timestamp() + interval '1 hour' RETURNING id")
    assert coordinated.json("attempt", "run", f"{ref}.1")["details"]["way"] == "now"
    assert coordinated.rows("SELECT id FROM jobs WHERE due_at <= clock_timestamp()")
