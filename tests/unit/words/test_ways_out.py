"""The ways out of branches that have diverged, from the row of a checkpoint to the screen."""

import io
from collections.abc import Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console
from sqlalchemy import Connection

from orchestrator.cli.ways_out import show_ways_out
from orchestrator.views.places import RunPlace
from orchestrator.views.sessions import list_checkpoints
from shared.domain.checkpoint import CheckpointReport, Commit, FoundOnRemote, Standing
from shared.domain.delivery import branch_name, branch_ref
from shared.wire import to_json

OURS, THEIRS = "a" * 40, "b" * 40
FOUND = FoundOnRemote(
    *(Standing.DIVERGED, THEIRS, 1, 1, "c" * 40),
    ours=(Commit(OURS, "ours"),),
    theirs=(Commit(THEIRS, "theirs"),),
)


class Rows:
    """A connection that answers with these rows."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self._rows = rows

    def execute(self, *_: Any) -> Sequence[Any]:
        return self._rows


def shown(report: CheckpointReport, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a person sees of a checkpoint whose row is as its worker writes it."""
    row = SimpleNamespace(
        task_id=1,
        target="app",
        number=1,
        status="diverged",
        stage="verify",
        remote="/srv/app.git",
        ref=branch_ref("session/T1"),
        head_local=OURS,
        head_remote=None,
        accepted=1,
        synced=(),
        report=to_json(report),
        started_at=datetime.now(UTC),
        finished_at=datetime.now(UTC),
    )
    monkeypatch.setattr("orchestrator.views.sessions.postponed_checkpoints", lambda *_: ())
    (line,) = list_checkpoints(cast("Connection", Rows([row])), RunPlace(1, 1, "app"))
    assert line.branch == "session/T1"
    console = Console(file=io.StringIO(), width=1000)
    show_ways_out(console, line.report, line.remote, line.branch, line.ref)
    return cast("io.StringIO", console.file).getvalue()


def test_the_ways_out_name_branches_that_git_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is shown with where it is typed, and with the checkpoint that ends it."""
    told = shown(CheckpointReport(found=FOUND, git_dir="/w/ours.git"), monkeypatch)
    assert "refs/heads/refs/heads" not in told
    assert f"{OURS}:refs/heads/session/T1-replan" in told
    assert "git fetch /srv/app.git session/T1-replan session/T1\n" in told
    assert "only session/T1 on the remote has 1 commit:" in told
    assert told.count("on the host:") == 2
    assert told.count("in a clone:") == 1
    assert told.count("replan checkpoint run T1@app --apply") == 2


def test_no_way_out_is_shown_that_names_no_git_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "git" not in shown(CheckpointReport(found=FOUND), monkeypatch)


@pytest.mark.parametrize("name", ["session/T1", "refs/heads/session/T1"])
def test_a_branch_has_one_short_and_one_full_name(name: str) -> None:
    assert (branch_name(name), branch_ref(name)) == ("session/T1", "refs/heads/session/T1")
