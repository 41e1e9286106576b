"""Worktrees follow what was published, and nothing in them is lost."""

import subprocess
from pathlib import Path

import pytest

from shared.domain.errors import Transient
from tests.integration.deliveries.checkpoints.accepted import Accepted, wrapper
from tests.integration.workspaces.sources import run_git
from workers.agents.workspaces.values import Workspace


@pytest.fixture
def idle(accepted: Accepted) -> Workspace:
    """The workspace of the step, with what it delivered."""
    made = accepted.workspaces().prepare(accepted.base, f"{accepted.token}-1")
    Path(made.path, "code").write_text(f"print(1, {accepted.task})\n")
    return made


def main_of(accepted: Accepted) -> Path:
    """The main worktree."""
    path = accepted.workspaces().path_of(f"{accepted.token}-main")
    assert path is not None
    return Path(path)


def test_an_idle_worktree_follows(accepted: Accepted, idle: Workspace) -> None:
    """As if its agent had begun there; its ignored files and its own branches stay."""
    tree = Path(idle.path)
    (tree / ".git/info/exclude").write_text("*.log\n")
    run_git(tree, "switch", "--quiet", "-c", "mine")
    run_git(tree, "commit", "--quiet", "--all", "--message=mine")
    mine = run_git(tree, "rev-parse", "HEAD")
    head = accepted.accept(readme="better\n")

    accepted.checkpoint()

    assert accepted.synced() == {"main": "made", "1": "updated"}
    for each in (tree, main_of(accepted)):
        assert (each / "readme").read_text() == "better\n"
        assert run_git(each, "rev-parse", "HEAD") == head
        assert run_git(each, "status", "--porcelain") == ""
    assert run_git(tree, "rev-parse", "mine") == mine
    assert accepted.git("rev-parse", f"refs/replan/commits/{accepted.token}-1") == mine
    prepared = accepted.workspaces().prepare(head, f"{accepted.token}-1")
    assert (prepared.path, prepared.begun) == (idle.path, accepted.tree(head))


def test_the_worktree_that_follows_is_the_one_after_the_last_rejection(
    accepted: Accepted,
) -> None:
    first, second = (
        accepted.workspaces().prepare(accepted.base, f"{accepted.token}-1{suffix}")
        for suffix in ("", ".1")
    )
    Path(second.path, "code").write_text(f"print(1, {accepted.task})\n")
    accepted.reject(1)
    head = accepted.accept(readme="better\n")

    accepted.checkpoint()

    assert accepted.synced() == {"main": "made", "1.1": "updated"}
    assert run_git(Path(second.path), "rev-parse", "HEAD") == head
    assert run_git(Path(first.path), "rev-parse", "HEAD") == accepted.base


@pytest.mark.parametrize("what", ["changed", "unkept", "in_use"])
def test_what_is_at_work_or_not_kept_is_left_alone(
    accepted: Accepted, idle: Workspace, what: str
) -> None:
    tree = Path(idle.path)
    working = None
    if what == "in_use":
        working = subprocess.Popen(["sleep", "600"], cwd=tree)
    elif what == "changed":
        (tree / "new").write_text("never delivered")
    else:
        with (tree / "huge").open("wb") as huge:
            huge.truncate(60_000_000)
    try:
        accepted.accept(readme="better\n")
        accepted.checkpoint()
    finally:
        if working is not None:
            working.kill()
            working.wait()

    assert accepted.synced() == {"main": "made", "1": what}
    assert (tree / "readme").read_text() == "hello\n"
    assert run_git(tree, "rev-parse", "HEAD") == accepted.base


def test_what_a_person_changes_in_the_main_worktree_stays(accepted: Accepted) -> None:
    accepted.checkpoint()
    (main_of(accepted) / "readme").write_text("mine\n")
    accepted.accept(readme="better\n")
    accepted.checkpoint(2)

    assert accepted.synced(2) == {"main": "changed"}
    assert (main_of(accepted) / "readme").read_text() == "mine\n"

    (main_of(accepted) / "readme").write_text("hello\n")
    accepted.checkpoint(3)
    assert accepted.synced(3) == {"main": "updated"}


def test_files_that_were_half_written_are_written_to_the_end(
    accepted: Accepted, tmp_path: Path
) -> None:
    """What there was is kept all the same."""
    accepted.checkpoint()
    accepted.accept(readme="better\n", code="print(2)\n")
    half = """
    case "$*" in
    *read-tree*--reset*) echo half >readme; kill -9 $script $PPID $$ ;;
    esac
    """
    accepted.variables = f"{wrapper(tmp_path / 'bin', half)}; export script=$$"
    with pytest.raises(Transient):
        accepted.checkpoint(2)
    accepted.variables = ""

    accepted.checkpoint(2)

    assert accepted.synced(2) == {"main": "updated"}
    assert (main_of(accepted) / "readme").read_text() == "better\n"
    before = f"refs/replan/before/{accepted.token}-main"
    assert accepted.git("cat-file", "blob", f"{before}:readme") == "half"


def test_a_worktree_that_somebody_removed_is_made_again(accepted: Accepted) -> None:
    accepted.checkpoint()
    subprocess.run(["rm", "-rf", str(main_of(accepted).parent)], check=True)
    accepted.checkpoint(2)
    assert accepted.synced(2) == {"main": "made"}


@pytest.mark.usefixtures("idle")
def test_a_worktree_that_cannot_be_written_stops_neither_the_others_nor_the_end(
    accepted: Accepted, tmp_path: Path
) -> None:
    accepted.checkpoint()
    full = 'case "$PWD$*" in *-main.*read-tree*--reset*) echo no room >&2; exit 128 ;; esac'
    accepted.variables = wrapper(tmp_path / "bin", full)
    accepted.accept(readme="better\n")

    accepted.checkpoint(2)

    assert accepted.synced(2) == {"main": "failed", "1": "updated"}
    assert accepted.row(2).synced[0]["detail"] == "git: no room"
    assert accepted.row(2).status == "complete"


@pytest.mark.usefixtures("idle")
def test_a_part_that_is_killed_is_done_again(accepted: Accepted, tmp_path: Path) -> None:
    """The rest of the script goes on without it: that is not mistaken for a refusal."""
    killed = f"""
    case "$*" in
    *read-tree*--reset*) mv "{tmp_path}/first" "{tmp_path}/later" && kill -9 $PPID $$ ;;
    esac
    """
    (tmp_path / "first").touch()
    accepted.variables = wrapper(tmp_path / "bin", killed)
    with pytest.raises(Transient):
        accepted.checkpoint()
    accepted.checkpoint()
    assert accepted.synced() == {"main": "made", "1": "updated"}
