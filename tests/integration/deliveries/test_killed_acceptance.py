"""Publishing and accepting, killed with kill -9 at every point and driven on by other workers.

Deliveries have the dates of the clock. So the story with deaths is compared with an undisturbed one
of the same deliveries: from what is stored, and nothing else, in a place where nothing is yet.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shared.deliveries.bundle import unpack
from shared.deliveries.store import PatchStore
from shared.domain.host import LOCALHOST
from shared.domain.jobs import ROLES, JobKind
from shared.secrets.masking import Masker
from shared.settings import load_settings
from shared.store import deliveries, repositories
from tests.integration.deliveries.mortal import Death, Mortals, mortal_lifecycle
from tests.integration.deliveries.test_sessions import Sessions, sessions, writing
from tests.integration.workspaces.sources import run_git
from workers.agents.workspaces.workspaces import Workspaces
from workers.deliveries.line import Line
from workers.deliveries.merging import merge_behind
from workers.deliveries.publisher import Publisher

__all__ = ["sessions"]

FEWEST = 12
"""How many points kill at least, of publishing and of accepting."""

STRIDES = {JobKind.EXECUTE: 2, JobKind.ACCEPT: 5}
"""Of so many points one kills, but under `make chaos` every one."""


@pytest.fixture
def counted(sessions: Sessions, tmp_path: Path) -> Path:
    """A file, outside everything, to which every run of the check appends."""
    counts = tmp_path / "counts"
    with sessions.database.begin() as connection:
        known = repositories.get(connection, "app")
        check = f"echo run >> {counts}; test ! -e broken"
        repositories.save(connection, replace(known, checks=(check,)), replace=True)
    return counts


def mortals(sessions: Sessions, kind: JobKind, monkeypatch: pytest.MonkeyPatch) -> Mortals:
    """Workers that die in jobs of the kind: while they publish, or from their first step on."""
    death = Death(1 if os.environ.get("REPLAN_CHAOS") == "full" else STRIDES[kind])
    for name in ("put", "get", "attest"):
        act = getattr(PatchStore, name)
        monkeypatch.setattr(PatchStore, name, death.around(name, act))
    publish = Publisher.publish

    def arm(*given: Any) -> Any:
        if kind is JobKind.EXECUTE:
            death.arm()
        return publish(*given)

    monkeypatch.setattr(Publisher, "publish", arm)
    lifecycle = mortal_lifecycle(
        sessions.worker,
        load_settings(os.environ),
        death,
        kind,
        arms=kind is JobKind.ACCEPT,
        queues=tuple(ROLES.values()),
    )
    return Mortals(sessions.database, lifecycle, death)


def assert_killed(workers: Mortals) -> None:
    """Enough of them died."""
    points = [point for each in workers.death.killed.values() for point in each]
    assert len(points) >= FEWEST, points


def assert_done_once(sessions: Sessions, counted: Path, elsewhere: Path) -> None:
    """The database, the line on disk and the remote agree; nothing was published or run twice."""
    assert sessions.phases() == ["done", "done"], sessions.problems()
    rows = sessions.rows("SELECT step, pass_no, status FROM deliveries ORDER BY step")
    assert rows == [(1, 1, "checkpointed"), (2, 1, "checkpointed")]
    judged = sessions.rows("SELECT turn, ok, same_as FROM check_runs ORDER BY id")
    assert judged == [(1, True, None)] * 2
    assert counted.read_text().splitlines() == ["run"] * 2
    attempts = sessions.rows("SELECT outcome, count(*) FROM attempts WHERE look GROUP BY 1")
    assert attempts == [("ok", 4)]
    [(head, token)] = sessions.rows("SELECT head, token FROM runs")
    assert run_git(sessions.remote, "rev-parse", "session/T1") == head
    ours = sessions.remote.parent / "workspaces/app/ours.git"
    kept = run_git(ours, "for-each-ref", "--format=%(objectname) %(refname)", GIT_DIR=str(ours))
    assert any(line.startswith(str(head)) for line in kept.splitlines()), (kept, token)
    assert undisturbed(sessions, elsewhere) == head


def undisturbed(sessions: Sessions, place: Path) -> str:
    """The head that the deliveries make where nothing is, from what is stored."""
    store = PatchStore.open(str(sessions.remote.parent / "data/deliveries"))
    with sessions.database.begin() as connection:
        repository = repositories.get(connection, "app")
        [(digests,)] = sessions.rows("SELECT array_agg(sha256) FROM deliveries")
        assert isinstance(digests, list)
        found = deliveries.by_digest(connection, digests)
    order = sessions.rows("SELECT step FROM run_steps ORDER BY accepted_as")
    by_step = {each.step: each for each in found.values()}
    chain = [by_step[int(str(step))] for (step,) in order]
    shell = sessions.worker.connections.shell(LOCALHOST)
    base = Workspaces(shell, repository, root=str(place)).base("R9").sha
    merged = merge_behind(
        Line(shell, repository, root=str(place)),
        base,
        chain,
        {1: "step 1", 2: "step 2"},
        store=store,
        repository=repository,
        masker=Masker(()),
        session="R9",
    )
    for each in chain:
        meta = unpack(store.get(each.sha256)).meta
        assert (meta.result_tree, meta.base_sha) == (each.tree, each.base)
    return str(merged.commit)


def test_every_worker_that_publishes_dies_at_its_next_point(
    sessions: Sessions, counted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S2.82, S2.83: one row for each pass, and the first one that was written counts."""
    workers = mortals(sessions, JobKind.EXECUTE, monkeypatch)
    sessions.submit(writing("one", "1"), writing("two", "2", ordinal=2))
    workers.carry_on()
    assert_killed(workers)
    assert_done_once(sessions, counted, tmp_path / "elsewhere")


def test_every_worker_that_accepts_dies_at_its_next_point(
    sessions: Sessions, counted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S2.86: the second one is judged on the tree that it makes together with the first one."""
    workers = mortals(sessions, JobKind.ACCEPT, monkeypatch)
    sessions.submit(writing("one", "1"), writing("two", "2", ordinal=2))
    workers.carry_on()
    assert_killed(workers)
    assert_done_once(sessions, counted, tmp_path / "elsewhere")
