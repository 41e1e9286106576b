"""What a checkpoint found on the remote, and what it did there; and the policy for it, pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from shared.domain.next_step import Advice

MOST_SHOWN = 10
"""Commits of each side that a person is shown."""


class Standing(StrEnum):
    """How the branch on the remote stands to the head of the session."""

    ABSENT = "absent"
    EQUAL = "equal"
    AHEAD = "ahead"  # only we have commits that the other side does not have (S2.49)
    BEHIND = "behind"  # only the remote has (S2.50)
    DIVERGED = "diverged"  # both have (S2.51)


class Remedy(StrEnum):
    """What a checkpoint does about a standing."""

    PUSH = "push"
    NOTHING = "nothing"
    ADOPT = "adopt"  # the remote holds our head already, and more: that is the head from now on
    STOP = "stop"  # a person decides


REMEDIES: Mapping[Standing, Remedy] = {
    Standing.ABSENT: Remedy.PUSH,
    Standing.EQUAL: Remedy.NOTHING,
    Standing.AHEAD: Remedy.PUSH,
    Standing.BEHIND: Remedy.ADOPT,
    Standing.DIVERGED: Remedy.STOP,
}
"""The one policy for branches that differ. Nothing on a remote is ever rewound or overwritten."""


def standing_of(head: str, found: str | None, ahead: int, behind: int) -> Standing:
    """How a branch at the commit `found` stands to `head`; None if the remote has no such branch.

    `ahead` counts the commits that only we have, `behind` those that only the remote has.
    """
    if found is None:
        return Standing.ABSENT
    if found == head:
        return Standing.EQUAL
    if ahead and behind:
        return Standing.DIVERGED
    return Standing.BEHIND if behind else Standing.AHEAD


class CheckpointStage(StrEnum):
    """What a checkpoint does, in this order; each may be done again without effect."""

    INTEGRATE = "integrate"  # the head exists here, and its tree has passed its checks
    PUBLISH = "publish"
    VERIFY = "verify"
    SYNC = "sync"
    REQUEST = "request"  # a request to merge is open
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit and the first line of its message."""

    id: str
    title: str


@dataclass(frozen=True, slots=True)
class FoundOnRemote:
    """What the branch on the remote is, beside the head of the session.

    `ours` and `theirs` are the newest of the commits that only one side has, `base` is the newest
    one that both have.
    """

    standing: Standing
    commit: str | None = None
    ahead: int = 0
    behind: int = 0
    base: str | None = None
    ours: tuple[Commit, ...] = ()
    theirs: tuple[Commit, ...] = ()


class Synced(StrEnum):
    """What a checkpoint did with a worktree, or why it left it alone."""

    MADE = "made"
    UPDATED = "updated"
    SAME = "same"  # it was at that commit already
    IN_USE = "in_use"  # a process works in it
    CHANGED = "changed"  # it has changes that were never delivered
    UNKEPT = "unkept"  # it has files or commits that cannot be kept
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class SyncedWorktree:
    """What a checkpoint did with the worktree of that name, at `path` on the repository's host.

    `detail` is git's, if it failed.
    """

    name: str
    outcome: Synced
    detail: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class MergeRequest:
    """A request to merge on a forge; `opened` says that this checkpoint has opened it."""

    url: str
    number: int
    opened: bool = False


@dataclass(frozen=True, slots=True)
class CheckpointReport:
    """What a checkpoint met on its way; the column `report` of its row.

    `found` is what the remote had when it was last looked at, `tree` the tree that was verified
    there. `pushed` says whether this checkpoint has pushed. `reason` says why it did not complete,
    and `next_step` what helps. `git_dir` is replan's own git directory on the repository's host,
    which has all these commits.
    """

    found: FoundOnRemote | None = None
    pushed: bool = False
    tree: str | None = None
    reason: str = ""
    next_step: Advice | None = None
    request: MergeRequest | None = None
    git_dir: str = ""
