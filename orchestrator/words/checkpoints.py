"""What a checkpoint found on the remote and did with worktrees, in words; and what helps."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator.words.quantities import count_of
from shared.domain.checkpoint import CheckpointReport, Commit, Standing, Synced, SyncedWorktree
from shared.domain.delivery import branch_name, branch_ref
from shared.domain.next_step import ShellCommand

_OUTCOMES = {
    Synced.MADE: "made, at the published commit",
    Synced.UPDATED: "brought to the published commit",
    Synced.SAME: "was at the published commit already",
    Synced.IN_USE: "left alone: a process works in it",
    Synced.CHANGED: "left alone: it has changes that were never delivered",
    Synced.UNKEPT: "left alone: it has files or commits that cannot be kept",
    Synced.FAILED: "left alone",
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """A way out of branches that have diverged: what it does, and its commands in their order.

    They are typed on the host of the repository, or in a clone of it if `in_clone`.
    """

    what: str
    on_host: tuple[ShellCommand, ...]
    in_clone: tuple[ShellCommand, ...] = ()


def describe_worktree(synced: SyncedWorktree) -> str:
    """What a checkpoint did with a worktree, or why it did not."""
    detail = f": {synced.detail}" if synced.detail else ""
    return f"{synced.name}: {_OUTCOMES[synced.outcome]}{detail}"


def divergence(report: CheckpointReport, branch: str) -> Iterator[str]:
    """Both sides of branches that have diverged, a line each; nothing of others."""
    found = report.found
    if found is None or found.standing is not Standing.DIVERGED:
        return
    here, there = count_of(found.ahead, "commit"), count_of(found.behind, "commit")
    if found.base is not None:
        yield f"both have {found.base[:12]}"
    yield f"only {branch} on the remote has {there}:"
    yield from _listed(found.theirs, found.behind)
    yield f"only the session has {here}:"
    yield from _listed(found.ours, found.ahead)


def recipes(report: CheckpointReport, remote: str, branch: str) -> tuple[Recipe, ...]:
    """The ways out of a divergence; none loses a commit.

    After each of them, a checkpoint is to be asked for again. There is none where nobody has said
    which git directory on the host has the commits.
    """
    found = report.found
    if found is None or found.standing is not Standing.DIVERGED or found.commit is None:
        return ()
    if not report.git_dir:
        return ()
    ours, theirs = found.ours[0].id, found.commit
    branch, full = branch_name(branch), branch_ref(branch)
    git = ("git", "--git-dir", report.git_dir)
    push = (*git, "push", remote, f"{ours}:{full}-replan")
    aside = (
        *(*git, "push", "--atomic", f"--force-with-lease={full}:{theirs}", remote),
        *(f"{theirs}:{full}-aside", f":{full}"),
    )
    merge = (
        ("git", "fetch", remote, f"{branch}-replan", branch),
        ("git", "switch", "--detach", theirs),
        ("git", "merge", ours),
        ("git", "push", remote, f"HEAD:{full}", f":{full}-replan"),
    )
    return (
        Recipe(
            "keep both: merge them yourself, and the session goes on from the merge",
            (_command(push),),
            tuple(map(_command, merge)),
        ),
        Recipe(
            f"go on without what is there: it stays as {branch}-aside",
            (_command(aside),),
        ),
    )


def _listed(commits: tuple[Commit, ...], count: int) -> Iterator[str]:
    for commit in commits:
        yield f"  {commit.id[:12]} {commit.title}"
    if count > len(commits):
        yield f"  and {count - len(commits)} more"


def _command(words: tuple[str, ...]) -> ShellCommand:
    return ShellCommand(shlex.join(words))
