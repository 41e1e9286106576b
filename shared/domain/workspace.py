"""What a person should know about the workspace of an agent."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from shared.domain.target import RepositoryNotice

MOST_NAMES: Final = 200
"""How many names of one kind are kept with an attempt."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice about a repository; `names` are the files concerned, `count` how many there are."""

    kind: RepositoryNotice
    names: tuple[str, ...] = ()
    count: int = 0


class Why(StrEnum):
    """Why something in a workspace is not in its tree, or not as it was."""

    EMPTY = "empty"  # a folder without files, which git cannot hold
    IGNORED = "ignored"  # .gitignore names it
    LARGE_OR_UNREADABLE = "large_or_unreadable"
    NESTED = "nested"  # a repository: its files are kept, its history is not
    HISTORY = "history"  # commits of the agent that cannot be read, or are too large


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that a tree does not hold, or not as it was; a folder ends with a slash."""

    path: str
    why: Why


@dataclass(frozen=True, slots=True)
class WorkspaceRemarks:
    """What is worth knowing about a workspace beside the files in its tree.

    `notices` are about the repository. `missing` are the patterns of ignored files that it was to
    get and that the repository does not have. `left_out` is what its tree does not hold: whoever
    goes on from the tree does not find it. `more` counts what is beyond those names.
    """

    notices: tuple[Notice, ...] = ()
    missing: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    more: int = 0

    def leaving_out(self, left_out: Iterable[LeftOut]) -> "WorkspaceRemarks":
        """The same with what the last tree does not hold; the first names of each reason stay."""
        listed = tuple(left_out)
        kept = [each for why in Why for each in [e for e in listed if e.why is why][:MOST_NAMES]]
        return replace(self, left_out=tuple(kept), more=len(listed) - len(kept))
