"""Publishes the head of a session: looks, pushes if the policy says so, and looks again."""

from dataclasses import dataclass
from typing import Final, Protocol

from shared.domain.checkpoint import REMEDIES, FoundOnRemote, Remedy
from shared.domain.errors import Unavailable
from workers.deliveries.git_words import PushEnd
from workers.deliveries.remote import STAGE, Pushed, RemoteRefusal, Seen

_TURNS: Final = 3
"""How often a branch that moves under our hands is looked at before we try again later."""


class Branch(Protocol):
    """The branch of a session on its remote (`Remote`)."""

    @property
    def place(self) -> str:
        """The path or the URL of the remote."""
        ...

    def look(self, head: str) -> FoundOnRemote:
        """What the branch is, beside `head`."""
        ...

    def push(self, head: str, expected: str | None) -> Pushed:
        """Publish `head` if the branch is at `expected`."""
        ...

    def see(self, head: str) -> Seen | None:
        """What the remote has now."""
        ...


@dataclass(frozen=True, slots=True)
class Publication:
    """What the branch on the remote was, what the policy said, and whether we have pushed."""

    found: FoundOnRemote
    remedy: Remedy
    pushed: bool = False

    @property
    def head(self) -> str | None:
        """The commit that the branch has now; None if a person has to decide."""
        return None if self.remedy is Remedy.STOP else self.found.commit


def publish(branch: Branch, head: str) -> Publication:
    """Have the branch hold `head`, unless it has diverged. What it was before is never lost.

    A push is never repeated blindly: after each one the remote is looked at, whatever git says of
    it. Raises RemoteRefusal if the remote says no, and Unavailable if nobody can tell, or if the
    branch keeps moving.
    """
    found = branch.look(head)
    pushes = 0
    while REMEDIES[found.standing] is Remedy.PUSH:
        if pushes == _TURNS:
            raise _away(branch, "its branch moves while we push")
        pushed = branch.push(head, found.commit)
        now = branch.look(head)
        if now.commit == found.commit:
            raise _unchanged(branch, pushed)
        found = now
        pushes += 1
    return Publication(found, REMEDIES[found.standing], pushed=pushes > 0)


def _unchanged(branch: Branch, pushed: Pushed) -> Unavailable | RemoteRefusal:
    """The error for a push after which the remote is what it was."""
    match pushed.end:
        case PushEnd.REFUSED:
            return RemoteRefusal(
                f"{branch.place} does not take the branch: {pushed.said}", stage=STAGE
            )
        case PushEnd.DONE:
            return _away(branch, "it said that it took the branch, and does not have it")
        case PushEnd.MOVED | PushEnd.LOST:
            return _away(branch, f"the push did not come through: {pushed.said}")


def _away(branch: Branch, why: str) -> Unavailable:
    return Unavailable(f"{branch.place}: {why}", stage=STAGE)
