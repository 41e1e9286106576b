"""What the line of a session takes and gives."""

from dataclasses import dataclass
from datetime import datetime

from workers.deliveries.changes import FileChange


@dataclass(frozen=True, slots=True)
class DeliveryCommit:
    """A delivery as the line takes it: its tree, made on the commit `base`.

    `delivery` is the SHA-256 of its bundle in hexadecimal. `at` (with a time zone) is the date of
    its commits in whole seconds, and `title` their first line: the same delivery has the same ones
    for ever, so that its commits have the same ids.
    """

    delivery: str
    base: str
    tree: str
    at: datetime
    title: str


@dataclass(frozen=True, slots=True)
class Difference:
    """What a tree changes, and the patch that makes it of its base.

    `added` and `deleted` count lines, in files that are not binary. `size` is that of the patch in
    bytes. Of one that is longer than was asked for, `patch` is empty, and no lines are counted.
    """

    changes: tuple[FileChange, ...]
    added: int
    deleted: int
    patch: bytes
    size: int


@dataclass(frozen=True, slots=True)
class Accepted:
    """The line with one more delivery on it."""

    delivery: str
    commit: str
    tree: str


@dataclass(frozen=True, slots=True)
class Merged:
    """The line with all the deliveries on it.

    `line` has an entry for each of them; `commit` and `tree` are those of the last. `changes` are
    what the last delivery changes on the line before it.
    """

    commit: str
    tree: str
    line: tuple[Accepted, ...] = ()
    changes: tuple[FileChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Conflict:
    """A delivery that cannot be merged with the line before it.

    `tree` has the files of both, with conflict markers in the files `paths`; those before it that
    could be merged are in `line`.
    """

    delivery: str
    paths: tuple[str, ...]
    tree: str
    line: tuple[Accepted, ...] = ()
