"""`replan watch`: everything at work, from the database alone."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from shared.store import jobs
from tests.integration.cli.calling import Cli
from tests.services.ring import eventually

PLAN = """
steps:
  - {id: first, title: Go on, subtasks: [{run: sleep 60}]}
  - {id: second, title: Come after, subtasks: [{run: 'true'}]}
"""


@pytest.fixture
def ref(coordinated: Cli, tmp_path: Path) -> str:
    """A task whose first step waits for a worker: there is none."""
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN)
    ref = str(coordinated.json("task", "submit", "--plan", plan, "--local")["details"]["ref"])
    eventually(lambda: coordinated.rows("SELECT id FROM jobs"), "the job")
    return ref


def test_it_says_what_each_thing_waits_for(coordinated: Cli, ref: str) -> None:
    found = {
        (line["kind"], line["ref"]): line
        for line in coordinated.json("watch", "--once")["details"]["lines"]
    }
    assert found.keys() == {
        ("task", ref),
        ("run", f"{ref}@localhost"),
        ("step", f"{ref}.1@localhost"),
        ("job", f"{ref}.1@localhost"),
        ("step", f"{ref}.2@localhost"),
    }
    assert found["step", f"{ref}.1@localhost"]["awaits"] == "worker"
    assert found["job", f"{ref}.1@localhost"]["phase"] == "waiting"
    after = found["step", f"{ref}.2@localhost"]
    assert (after["awaits"], after["needs"]) == ("steps", [1])
    told = coordinated("watch", "--once").out
    assert "waits for a worker" in told
    assert "waits for step 1" in told
    assert coordinated.json("watch", "--session", "T99")["details"]["lines"] == []
    for command in (("watch", "--once"), ("delivery", "list")):
        refused = coordinated.refused(*command, "--project", "elsewhere")
        assert "'elsewhere' is not the name of a repository" in refused["reason"]
    assert len(coordinated.json("watch", "--project", "localhost")["details"]["lines"]) == 5
    assert len(coordinated.json("watch", "--session", f"{ref}@localhost")["details"]["lines"]) == 5


@pytest.mark.usefixtures("ref")
def test_a_job_shows_its_worker_its_heartbeat_and_its_lease(coordinated: Cli) -> None:
    (row,) = coordinated.rows("SELECT id FROM jobs")
    with coordinated.database.begin() as connection:
        (job,) = jobs.claim(connection, [row.id], "executor.one/1", 60)
    held = job_line(coordinated)
    assert (held["phase"], held["worker"], held["awaits"]) == ("held", "executor.one/1", None)
    assert held["heartbeat_at"] < held["lease_until"]
    with coordinated.database.begin() as connection:
        assert jobs.renew(connection, [job.claim], 60)
    assert job_line(coordinated)["heartbeat_at"] > held["heartbeat_at"]
    told = coordinated("watch", "--once").out
    assert "heartbeat 0 s ago" in told
    assert "lease for" in told
    with coordinated.database.begin() as connection:
        assert jobs.renew(connection, [job.claim], -5)
    assert job_line(coordinated)["phase"] == "expired"
    assert "lease ran out 5 s ago" in coordinated("watch", "--once").out


@pytest.mark.changes_rows
def test_deliveries_and_checkpoints_show_how_far_they_are(coordinated: Cli, ref: str) -> None:
    coordinated.rows("""
        INSERT INTO deliveries (run_id, step, revision, pass_no, issue_id, sha256, uri, size, base,
            tree, deliverables, stats, trust, status)
        SELECT id, 1, 0, 1, 'L-000101', 'abc', 'file:abc', 1, 'b', 't', '{}', '{}', 'person',
            'published'
        FROM runs RETURNING id
    """)
    coordinated.rows("""
        UPDATE run_steps SET phase = 'accepting', acceptance = '{"stage": "allowing"}'
        WHERE step = 1 RETURNING step
    """)
    coordinated.rows("""
        INSERT INTO checkpoints (run_id, number, status, stage, head_local, accepted)
        SELECT id, 1, 'running', 'publish', 'h', 1 FROM runs RETURNING id
    """)
    found = {line["kind"]: line for line in lines(coordinated) if line["ref"] != f"{ref}.2"}
    assert found["checkpoint"]["phase"] == "publish"
    delivery = found["delivery"]
    assert (delivery["title"], delivery["phase"], delivery["awaits"]) == (
        "L-000101",
        "allowing",
        "person",
    )


def test_it_follows_until_it_is_interrupted(
    coordinated: Cli, ref: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody sees a screen, a line for each change, and nothing is wrong about Ctrl-C."""
    looked = []

    def sleep(_: float) -> None:  # a person presses Ctrl-C at the second look
        looked.append(1)
        if len(looked) == 1:
            coordinated.rows("UPDATE jobs SET queue = 'other' RETURNING id")
            return
        raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", sleep)
    said = coordinated("watch", "--format", "jsonl")
    assert (said.code, said.err) == (0, "")
    answers = [json.loads(line) for line in said.out.splitlines()]
    assert {answer["kind"] for answer in answers} == {"watch.line"}
    assert [answer["details"]["line"]["kind"] for answer in answers] == [
        *("task", "run", "step", "job", "step"),
        "job",
    ]
    looked.clear()
    said = coordinated("watch")
    assert said.code == 0
    assert len(said.out.splitlines()) == 5
    assert f"job {ref}.1@localhost waiting" in said.out
    looked.append(1)
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    said = coordinated("watch")
    assert (said.code, said.err) == (0, "")
    assert "Ctrl-C ends this" in said.out
    assert f"{ref}.2@localhost" in said.out


def job_line(cli: Cli) -> dict[str, Any]:
    """What it says about the job."""
    return next(line for line in lines(cli) if line["kind"] == "job")


def lines(cli: Cli) -> list[dict[str, Any]]:
    """Everything at work."""
    found: list[dict[str, Any]] = cli.json("watch")["details"]["lines"]
    return found


def test_ctrl_c_says_what_goes_on_and_how_to_come_back(
    coordinated: Cli, ref: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In each verb that follows a task, and each format."""

    def press(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", press)
    submit = ("task", "submit", "--plan", tmp_path / "plan.yaml", "--local", "--wait")
    for number, verb in enumerate((("task", "watch", ref), submit), start=1):
        said = coordinated(*verb)
        assert said.code == 130
        assert said.out.splitlines()[-3:] == [
            f"interrupted; T{number} goes on",
            f"next: replan task watch T{number}",
            f"next: replan task cancel T{number}",
        ]
        assert not said.err
    answer = coordinated.json("task", "watch", ref, code=130)
    assert answer["next_step_cmd"] == f"replan task watch {ref}"
    assert coordinated.json("task", "show", ref)["details"]["phase"] == "running"
