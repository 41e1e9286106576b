"""Bundles that wait for a person, revisions that undo what ran, and revisions in the middle."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.domain.budget import Ending
from shared.domain.outcome import Outcome
from shared.store import jobs
from tests.integration.cli.asking import forbid_from_now_on
from tests.integration.cli.calling import Cli
from tests.services.ring import eventually
from tests.services.scripted_worker import ScriptedWorker
from workers.evidence.observation import Observation
from workers.process.leases import Hold
from workers.roles.escalation import EscalationHandler

PLAN = """
summary: Something whose second half fails
planner: PLANNER
steps:
  - title: Go wrong
    subtasks:
      - id: make
        run: mkdir FOLDER/made && echo make >> LEDGER
        rollback: rmdir FOLDER/made && echo unmake >> LEDGER
      - {id: mark, run: "echo mark >> LEDGER", rollback: "echo unmark >> LEDGER"}
      - {id: fail, run: "exit 3", rollback: "touch FOLDER/undone"}
      - {id: never, run: "true", rollback: "echo never >> LEDGER", needs: [fail]}
"""
FIX = """
rollback: [KEYS]
subtasks:
  - {id: again, run: "echo again >> LEDGER"}
"""


def written(folder: Path, ledger: Path, text: str, name: str, **said: str) -> Path:
    """A file with that text, and what stands for something in it filled in."""
    for word, value in {"FOLDER": str(folder), "LEDGER": str(ledger), **said}.items():
        text = text.replace(word, value)
    path = folder / name
    path.write_text(text)
    return path


def failed(cli: Cli, folder: Path, ledger: Path, *more: str, planner: str = "human") -> str:
    """A task whose only step has failed half-way, and waits; its reference."""
    plan = written(folder, ledger, PLAN, "plan.yaml", PLANNER=planner)
    answer = cli.json("task", "submit", "--plan", plan, "--local", "--wait", *more, code=3)
    return str(answer["details"]["ref"])


def kinds(cli: Cli) -> list[str]:
    """What waits for a person."""
    answer = cli.json("intervention", "list")
    return [waits["kind"] for waits in answer["details"]["interventions"]]


def test_what_ran_is_undone_before_a_revision_begins(
    working: Cli, tmp_path: Path, ledger: Path
) -> None:
    """S0.56: the last first, only what ran; the history tells of it (S0.94)."""
    ref = failed(working, tmp_path, ledger)
    fix = written(tmp_path, ledger, FIX, "fix.yaml", KEYS="make, mark, never")
    followed = working.json("step", "revise", f"{ref}.1", "--file", fix, "--wait")
    assert (followed["kind"], followed["details"]["phase"]) == ("task.watch", "done")
    assert ledger.read_text().split() == ["make", "mark", "unmark", "unmake", "again"]
    assert not (tmp_path / "made").exists()
    shown = working.json("step", "show", f"{ref}.1")["details"]
    undone = [(a["ref"], a["revision"]) for a in shown["attempts"] if a["rollback"]]
    assert undone == [(f"{ref}.1.2#2@localhost", 0), (f"{ref}.1.1#2@localhost", 0)]
    assert shown["revisions"][1]["rollback"] == ["make", "mark", "never"]
    said = working("step", "show", f"{ref}.1").out
    assert "undone first, if it ran: make, mark, never" in said
    assert "+ echo again" in said
    told = working("task", "watch", ref).out
    assert "after undoing make, mark, never" in told
    assert "undone: echo unmark" in told


@pytest.mark.changes_rows
def test_a_forbidden_rollback_is_never_started_and_blocks_the_step(
    working: Cli, tmp_path: Path, ledger: Path
) -> None:
    """S0.61, X18; what was to be undone before it is not undone either once it stands first."""
    forbid_from_now_on(working, "touch")
    ref = failed(working, tmp_path, ledger)
    fix = written(tmp_path, ledger, FIX, "fix.yaml", KEYS="make, fail")
    working.json("step", "revise", f"{ref}.1", "--file", fix)
    working.json("task", "watch", ref, code=3)
    assert working.json("step", "show", f"{ref}.1")["details"]["step"]["phase"] == "blocked"
    assert kinds(working) == ["blocked"]
    assert ledger.read_text().split() == ["make", "mark"]
    (denied,) = working.rows("SELECT * FROM attempts WHERE rollback")
    assert (denied.outcome, denied.command, denied.ran_at) == (
        "denied",
        f"touch {tmp_path}/undone",
        None,
    )


def test_a_rollback_that_fails_waits_and_is_tried_again_on_resume(
    working: Cli, tmp_path: Path, ledger: Path
) -> None:
    """Neither can what has no rollback be named, nor is there a bundle to be sent to a person."""
    ref = failed(working, tmp_path, ledger)
    wrong = written(tmp_path, ledger, FIX, "wrong.yaml", KEYS="nothing")
    refused = working.refused("step", "revise", f"{ref}.1", "--file", wrong)
    assert "'nothing'" in refused["reason"]
    assert "no bundle" in working.refused("bundle", "send", f"{ref}.1")["reason"]
    (tmp_path / "made" / "kept").touch()
    fix = written(tmp_path, ledger, FIX, "fix.yaml", KEYS="make")
    working.json("step", "revise", f"{ref}.1", "--file", fix)
    working.json("task", "watch", ref, code=3)
    (waits,) = working.json("intervention", "list")["details"]["interventions"]
    assert waits["kind"] == "rollback"
    assert f"rollback of {ref}.1.1 (revision 0): exit code 1" in waits["reason"]
    assert waits["failure"]["said"].endswith("Directory not empty")
    assert waits["failure"]["rollback"]
    assert working.rows("SELECT errors FROM run_steps") == [(0,)]
    (tmp_path / "made" / "kept").unlink()
    working.json("task", "resume", ref)
    assert working.json("task", "watch", ref)["details"]["phase"] == "done"
    assert ledger.read_text().split() == ["make", "mark", "unmake", "again"]


def test_a_bundle_waits_until_a_person_has_sent_it(
    working: Cli, tmp_path: Path, ledger: Path
) -> None:
    """S0.96: it is looked at, and sent as it was shown, with a note."""
    ref = failed(working, tmp_path, ledger, *("--set", "hold_bundles=true"), planner="runbook")
    assert kinds(working) == ["held_bundle"]
    assert working.rows("SELECT count(*) FROM jobs WHERE kind = 'revise'") == [(0,)]
    shown = working.json("bundle", "show", f"{ref}.1")["details"]["bundle"]
    assert [s["ran"] for s in shown["subtasks"]] == [True, True, True, False]
    assert shown["subtasks"][0]["rollback"].startswith("rmdir")
    assert shown["host"] == {"connection": "local", "account": "that of the worker"}
    assert shown["plan"] == ["1. Go wrong [replanning]"]
    working.json("bundle", "send", f"{ref}.1", "--note", "mind the port")
    asked_again = "SELECT 1 FROM interventions WHERE kind = 'escalation'"
    eventually(lambda: working.rows(asked_again), "the library's answer that it knows no way")
    assert working.rows("SELECT note FROM jobs WHERE kind = 'revise'") == [("mind the port",)]
    assert working.rows("SELECT count(*) FROM bundles") == [(1,)]
    assert "mind the port" in working("task", "watch", ref).out
    listed = working.json("audit", "list")["details"]["entries"]
    assert listed[0]["verb"] == "bundle.send"


class Obeying(threading.Event):
    """Waiting for it, a worker has the time to do as it was told."""

    def __init__(self, obey: Callable[[], object]) -> None:
        super().__init__()
        self.obey = obey
        self.waited = 0

    def wait(self, timeout: float | None = None) -> bool:  # noqa: ARG002 - the signature's
        self.waited += 1
        self.obey()
        return False


def test_a_revision_in_the_middle_of_a_pass_tells_of_what_it_ended(
    coordinated: Cli, tmp_path: Path, ledger: Path
) -> None:
    """S0.85: the evidence waits until its worker has said how the command was ended."""
    plan = written(tmp_path, ledger, PLAN, "plan.yaml", PLANNER="human")
    ref = coordinated.json("task", "submit", "--plan", plan, "--local")["details"]["ref"]
    worker = ScriptedWorker(coordinated.database)
    job = worker.takes()
    attempt = worker.begins(job, "sleep 60")
    coordinated.json("step", "revise", f"{ref}.1", "--now", "--note", "too slow")

    def obey() -> None:
        worker.ends(job, attempt, Outcome.CANCELLED, "ended by TERM")
        worker.finishes(job, Ending.CANCELLED)

    with coordinated.database.begin() as connection:
        (gather,) = coordinated.rows("SELECT id FROM jobs WHERE kind = 'gather'")
        (asked,) = jobs.claim(connection, [gather.id], "handler", 60.0)
    hold = Hold(asked, 0.0)
    hold.withdrawn = Obeying(obey)
    seen = Observation({"load": "0.1"})
    handler = EscalationHandler(coordinated.database, lambda *_: seen)
    handler.perform(hold)
    assert hold.withdrawn.waited == 1
    shown = coordinated.json("bundle", "show", f"{ref}.1")["details"]["bundle"]
    assert shown["reason"] == "an operator wants it revised"
    assert [(a["outcome"], a["reason"]) for a in shown["attempts"]] == [
        ("cancelled", "ended by TERM")
    ]
