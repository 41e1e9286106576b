"""What branches as the contract led to (S2.2, S2.3): a naive way loses work, and ours does not."""

import subprocess
from pathlib import Path

from shared.domain.delivery import CheckpointEnding
from tests.integration.deliveries.checkpoints.accepted import Accepted
from tests.integration.workspaces.sources import run_git


def naive_checkpoint(accepted: Accepted, worktree: Path, *force: str) -> None:
    """Push, whatever comes of it, and have the worktree follow the remote."""
    remote, branch = str(accepted.remote), accepted.branch
    git_dir = str(accepted.place / "app/ours.git")
    words = [
        "git",
        "--git-dir",
        git_dir,
        "push",
        *force,
        remote,
        f"{accepted.head}:refs/heads/{branch}",
    ]
    subprocess.run(words, check=False, capture_output=True)
    run_git(worktree, "fetch", "--quiet", remote, branch)
    run_git(worktree, "reset", "--quiet", "--hard", "FETCH_HEAD")


def main_of(accepted: Accepted) -> Path:
    """The main worktree of the session."""
    path = accepted.workspaces().path_of(f"{accepted.token}-main")
    assert path is not None
    return Path(path)


def test_what_was_seen_is_never_gone_after_a_sync(accepted: Accepted) -> None:
    """S2.2: the branch on the remote and the head of the session drift apart."""
    accepted.checkpoint()
    before = accepted.head
    tree = f"{before}^{{tree}}"
    theirs = run_git(accepted.remote, "commit-tree", tree, "-p", before, "-m", "seen by everybody")
    run_git(accepted.remote, "update-ref", f"refs/heads/{accepted.branch}", theirs)
    ours = accepted.accept(readme="better\n")

    assert accepted.checkpoint(2).ending is CheckpointEnding.DIVERGED
    assert accepted.published() == theirs
    assert run_git(main_of(accepted), "rev-parse", "HEAD") == before
    assert accepted.git("cat-file", "-t", ours) == "commit"

    naive_checkpoint(accepted, main_of(accepted), "--force-with-lease")
    assert accepted.published() == theirs
    naive_checkpoint(accepted, main_of(accepted), f"--force-with-lease={accepted.branch}:{theirs}")
    assert accepted.published() == ours  # the lease held, and what everybody had seen is gone


def test_nothing_follows_a_remote_that_has_not_confirmed(accepted: Accepted) -> None:
    """S2.3: the session is not pushed, and the sync takes its work away."""
    accepted.checkpoint()
    worktree = main_of(accepted)
    accepted.accept(readme="accepted\n")
    (worktree / "readme").write_text("accepted\n")
    accepted.hook("pre-receive", "exit 1")

    assert accepted.checkpoint(2).ending is CheckpointEnding.REFUSED
    assert (worktree / "readme").read_text() == "accepted\n"
    assert accepted.synced(2) == {}

    naive_checkpoint(accepted, worktree)
    assert (worktree / "readme").read_text() == "hello\n"
