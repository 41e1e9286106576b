"""A checkpoint that is killed with kill -9 at any point, and driven on by other workers."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text

from shared.domain.delivery import CheckpointEnding
from shared.domain.delivery_facts import CheckpointFinished
from shared.domain.errors import Transient
from shared.store.database import Database
from tests.integration.deliveries.checkpoints.accepted import Accepted, wrapper
from tests.integration.workspaces.sources import run_git

KILL = """
echo x >>"{folder}/calls"
[ "$(wc -l <"{folder}/calls")" = {call} ] || exec $real "$@"
{before}
kill -9 $script $PPID $$
"""
"""Kills the script on the host, and every shell between it and this call of git."""


def assert_done_once(accepted: Accepted, fact: CheckpointFinished) -> None:
    """The remote, the database and the worktree agree, and nothing was done twice."""
    assert (fact.ending, fact.head) == (CheckpointEnding.COMPLETE, accepted.head)
    assert accepted.published() == accepted.head
    assert len((accepted.folder / "updates").read_text().splitlines()) == 1
    with accepted.database.begin() as connection:
        found = text("SELECT number, head_local, head_remote, status FROM checkpoints")
        rows = [tuple(row) for row in connection.execute(found)]
    assert rows == [(1, accepted.head, accepted.head, "complete")]
    work = [each.name for each in (accepted.place / "app/work").iterdir()]
    assert [name.rpartition(".")[0] for name in work] == [f"at.{accepted.token}-main"]
    main = accepted.place / "app/work" / work[0] / "app"
    assert run_git(main, "rev-parse", "HEAD") == accepted.head
    assert run_git(main, "status", "--porcelain") == ""


@pytest.fixture(autouse=True)
def updates(accepted: Accepted) -> None:
    """The remote writes down what is pushed to it."""
    accepted.hook("post-receive", f"cat >>'{accepted.folder}/updates'")


def kill_at(accepted: Accepted, folder: Path, call: int, before: str = "") -> None:
    """Kill the scripts at their call of git of that number, after doing something in its place."""
    (folder / "calls").unlink(missing_ok=True)
    script = KILL.format(folder=folder, call=call, before=before)
    accepted.variables = f"{wrapper(folder / 'bin', script)}; export script=$$"


def test_every_driver_is_killed_at_its_next_call_of_git(accepted: Accepted, tmp_path: Path) -> None:
    """The first one at its first call, the second one at its second, and so on: 25 points."""
    killed, fact = 0, None
    while fact is None:
        kill_at(accepted, tmp_path, killed + 1)
        try:
            fact = accepted.checkpoint()
        except Transient:
            killed += 1
    assert killed >= 12
    assert_done_once(accepted, fact)


def test_the_host_dies_after_the_push_was_done(accepted: Accepted, tmp_path: Path) -> None:
    for call in range(1, 25):
        kill_at(accepted, tmp_path, call, before='"$real" "$@"')
        with pytest.raises(Transient):
            accepted.checkpoint()
        if accepted.published():
            break
    assert accepted.published() == accepted.head
    accepted.variables = ""
    assert_done_once(accepted, accepted.checkpoint())


class WorkerKilled(BaseException):
    """The process is gone; nothing of it may tidy up."""


class Dying:
    """A database whose worker dies at its `last` transaction, before the commit or after it."""

    def __init__(self, database: Database, last: int, *, committed: bool) -> None:
        self._database = database
        self._left = last
        self._committed = committed

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """A transaction; the last one ends with the worker."""
        self._left -= 1
        with self._database.begin() as connection:
            yield connection
            if self._left == 0 and not self._committed:
                raise WorkerKilled
        if self._left == 0:
            raise WorkerKilled

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)


@pytest.mark.parametrize("committed", [False, True])
def test_every_worker_dies_at_its_next_transaction(accepted: Accepted, *, committed: bool) -> None:
    """With its notes lost or kept, whatever it did on the host before."""
    last, fact = 0, None
    while fact is None:
        last += 1
        dying = Dying(accepted.database, last, committed=committed)
        with suppress(WorkerKilled):
            fact = accepted.checkpoint(database=dying)
    assert last >= 7
    assert_done_once(accepted, fact)
