"""What workspaces hold and tell, as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from shared.domain.workspace import LeftOut, Notice


@dataclass(frozen=True, slots=True)
class Base:
    """The commit that the work of a pass starts from; `notices` are of when it was looked up."""

    sha: str
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class Workspace:
    """The workspace of one attempt: a tree at `path`, detached at `base_sha`.

    `home` is an empty home for the agent. `begun` is the tree with which it began: that of the
    base, unless the setup command changed files or it continues from another tree. `missing` are
    the patterns of ignored files that are not in the source.
    """

    attempt: str
    path: str
    home: str
    base_sha: str
    begun: str
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files of a workspace at one moment, kept on its host.

    `head` is the commit that the agent has checked out, None if that cannot be told. Only a whole
    snapshot keeps that commit too, with all before it, and gathers `left_out`: a few hundred names
    at most.
    """

    tree: str
    head: str | None = None
    left_out: tuple[LeftOut, ...] = ()


class Change(StrEnum):
    """What happened to a file between two trees."""

    ADDED = "A"
    DELETED = "D"
    MODIFIED = "M"
    TYPE_CHANGED = "T"  # a link became a file, or the other way round


@dataclass(frozen=True, slots=True)
class ChangedFile:
    r"""A file that differs between two trees; bytes of its name that are not UTF-8 read `\xff`."""

    path: str
    change: Change


@dataclass(frozen=True, slots=True)
class Difference:
    """The files that differ between two trees: the first ones of `count`."""

    files: tuple[ChangedFile, ...]
    count: int

    @property
    def paths(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(file.path for file in self.files)


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch from one tree to another, or its beginning."""

    text: bytes
    cut: bool


@dataclass(frozen=True, slots=True)
class Usage:
    """Bytes on the disk: all of a repository's, its objects, each workspace, what is free."""

    total: int
    objects: int
    templates: int
    free: int
    attempts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Collected:
    """What a collection removed, and what it left: used by a process, or with files not kept."""

    total: int
    removed: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    unkept: tuple[str, ...] = ()
