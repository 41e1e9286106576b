"""`replan repair worktree`: what nobody needs, and branches that differ (S2.49-S2.51)."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from shared.domain.host import LOCALHOST
from shared.domain.target import Repository
from tests.integration.cli.calling import Cli
from tests.integration.workspaces.sources import Source, run_git
from tests.services.ring import eventually
from workers.agents.workspaces.workspaces import Workspaces
from workers.shells.remote.connections import HostConnections

LOST = f"{'ab' * 16}-1"
BACKLOG = "issues:\n  - {id: L-000101, title: Go, check: test -e x}\n"


@pytest.fixture
def source(coordinated: Cli, tmp_path: Path) -> Source:
    """A repository that is published to a bare one beside it."""
    source = Source.at(tmp_path / "source", readme="hello\n")
    run_git(tmp_path, "init", "-q", "--bare", "remote.git")
    coordinated.json(
        *("repo", "add", "app", "--path", source.folder, "--no-ask"),
        *("--remote", tmp_path / "remote.git"),
    )
    return source


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for workspaces."""
    monkeypatch.setenv("REPLAN_WORKSPACES", str(tmp_path / "places"))
    return tmp_path / "places"


@pytest.fixture
def workspaces(source: Source, places: Path) -> Iterator[Workspaces]:
    """The workspaces of that repository, where the product looks for them."""
    repository = Repository("app", LOCALHOST.name, str(source.folder))
    with closing(HostConnections()) as connections, closing(connections.shell(LOCALHOST)) as shell:
        yield Workspaces(shell, repository, root=str(places))


def test_one_that_no_step_needs_is_kept_and_removed(
    coordinated: Cli, workspaces: Workspaces
) -> None:
    made = workspaces.prepare(workspaces.base("ab" * 16).sha, LOST)
    (Path(made.path) / "new.txt").write_text("new\n")
    refused = coordinated.refused("repair", "worktree", LOST)
    assert refused["next_step_cmd"] == f"replan repair worktree {LOST} --project NAME"
    there = (LOST, "--project", "app")
    assert troubles(coordinated, *there) == [("no_step", "remove"), ("unkept", "keep")]
    assert Path(made.path).exists()
    repaired = coordinated.json("repair", "worktree", *there, "--apply")["details"]
    assert (repaired["applied"], repaired["path"]) == (True, None)
    assert not Path(made.path).exists()
    assert troubles(coordinated, *there) == []


@pytest.mark.changes_rows
def test_the_main_one_follows_the_one_policy(
    coordinated: Cli, workspaces: Workspaces, source: Source, tmp_path: Path, places: Path
) -> None:
    """Ahead and behind are for a checkpoint, equal is synced, diverged is for a person."""
    backlog = tmp_path / "backlog.yaml"
    backlog.write_text(BACKLOG)
    coordinated.json("plan", "build", backlog, "--repo", "app", "--allow", "L-000101", "--apply")
    (row,) = eventually(lambda: coordinated.rows("SELECT token FROM runs"), "the run")
    head = workspaces.base(row.token).sha
    assert_newest(coordinated, row.token)
    remote, ours = tmp_path / "remote.git", places / "app" / "ours.git"
    coordinated.rows("UPDATE runs SET head = :head RETURNING id", head=head)
    assert troubles(coordinated, "T1@app") == [("ahead", "checkpoint")]
    coordinated.json("repair", "worktree", "T1@app", "--apply")
    assert coordinated.rows("SELECT seq FROM audit WHERE verb = 'repair.worktree'")

    run_git(source.folder, "push", "-q", str(remote), f"{head}:refs/heads/session/T1")
    assert troubles(coordinated, "T1@app") == [("out_of_date", "sync")]
    made = coordinated.json("repair", "worktree", "T1@app", "--apply")["details"]
    assert (Path(made["path"]) / "readme").read_text() == "hello\n"
    assert troubles(coordinated, "T1@app") == []

    theirs = source.commit(more="theirs\n")
    run_git(source.folder, "push", "-q", str(remote), f"{theirs}:refs/heads/session/T1")
    assert troubles(coordinated, "T1@app") == [("behind", "checkpoint")]

    mine = run_git(ours, "commit-tree", f"{head}^{{tree}}", "-p", head, "-m", "mine")
    coordinated.rows("UPDATE runs SET head = :head RETURNING id", head=mine)
    before = coordinated.everything()
    told = coordinated("repair", "worktree", "T1@app", "--apply")
    assert told.code == 1
    assert "have diverged" in told.out
    assert f"{theirs[:12]} work" in told.out
    assert f"{mine[:12]} mine" in told.out
    assert f"next: git --git-dir {ours} push" in told.out
    assert told.out.count("next: replan checkpoint run T1@app --apply") == 2
    assert coordinated.everything() == before


def assert_newest(cli: Cli, token: str) -> None:
    """A step names the workspace after its last delivery that was rejected."""
    for name in (f"{token}-1", f"{token}-1.1"):
        cli.rows(
            "INSERT INTO worktrees (name, run_id, step, repository, host, path)"
            " SELECT :name, id, 1, 'app', 'localhost', '' FROM runs RETURNING name",
            name=name,
        )
    made = cli.json("repair", "worktree", "T1.1@app", code=0)["details"]
    assert made["worktree"]["name"] == f"{token}-1.1"


def troubles(cli: Cli, *words: str) -> list[tuple[str, str]]:
    """What is wrong with a workspace, and what cures it."""
    said = cli("repair", "worktree", *words)
    assert said.code in {0, 1}, said
    answer: dict[str, Any] = cli.json("repair", "worktree", *words, code=said.code)
    found = answer["details"]["findings"]
    assert said.code == (1 if found else 0)
    return [(each["trouble"], each["cure"]) for each in found]
