"""Previews: what a command would change on a host, found out where nothing of it stays.

A preview claims only what was seen. Whatever may be missing in it is a value, too (`Unseen`).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class NoPreview(StrEnum):
    """Why there is no preview of a command."""

    TOOLS = "tools"  # the host has no `unshare`, `mount` or `setpriv` that can do it
    NAMESPACES = "namespaces"  # its kernel, or a container around it, gives no namespaces
    OVERLAY = "overlay"  # its kernel has no overlay, or none for this account
    PROC = "proc"  # it shows no /proc of its own to a namespace
    SOCKETS = "sockets"  # a socket of the host could not be put out of reach
    TOO_LONG = "too_long"  # the command is too long for a preview
    FAILED = "failed"  # the host did not answer, or not to the end


NO_PREVIEW_WORDS: Final = {
    NoPreview.TOOLS: "the host lacks the programs for a preview (unshare, mount, setpriv)",
    NoPreview.NAMESPACES: "the host gives this account no namespaces",
    NoPreview.OVERLAY: "the host gives this account no overlay file system",
    NoPreview.PROC: "the host shows no private /proc",
    NoPreview.SOCKETS: "the sockets of the host cannot be put out of reach",
    NoPreview.TOO_LONG: "the command is too long for a preview",
    NoPreview.FAILED: "the host did not answer to the end",
}
"""Why there is no preview of a command, in words."""


class UnseenKind(StrEnum):
    """What may be missing in a preview."""

    NETWORK = "network"  # a preview has no network
    SERVICE = "service"  # it talks to a daemon, which is not there
    PACKAGES = "packages"  # a package manager: nothing is fetched, and scripts run otherwise
    SIGNALS = "signals"  # it signals processes: those of the host are not there
    SECRETS = "secrets"  # its secrets are empty there
    RIGHTS = "rights"  # it needs rights that a preview does not have
    KERNEL = "kernel"  # settings of the kernel, mounts, modules
    DEVICES = "devices"  # disks and other devices are not there
    FILE_SYSTEM = "file_system"  # a file system on which nothing could be written
    TWO_PLACES = "two_places"  # what changes is seen in another place of the host, too
    HARD_LINKS = "hard_links"  # the file has other names, which change with it
    ATTRIBUTES = "attributes"  # attributes and access lists of files were not compared
    CONTENT = "content"  # a file may differ, which nobody could compare
    TIME_LIMIT = "time_limit"  # it had not ended when its time was over
    BACKGROUND = "background"  # it left processes that still ran
    PROCESSES = "processes"  # it started too many
    MEMORY = "memory"  # it took too much
    SPACE = "space"  # it wrote more than a preview has room for
    EXIT_CODE = "exit_code"  # it failed there: what comes after was not seen
    MANY = "many"  # more has changed than is shown
    EARLIER = "earlier"  # commands that come before it had not run
    UNREADABLE = "unreadable"  # the guard cannot tell which programs it starts


@dataclass(frozen=True, slots=True)
class Unseen:
    """Something that a preview may have missed; `what` names it: a path, programs, a number."""

    kind: UnseenKind
    what: str = ""


class FileKind(StrEnum):
    """What lies at a path."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class FileState:
    """What lies at a path: `mode` are its permission bits, `size` its bytes.

    A link has a `target`. `owner` and `group` are numbers.
    """

    kind: FileKind
    mode: int
    owner: int
    group: int
    size: int
    target: str | None = None

    @property
    def access(self) -> tuple[int, int, int]:
        """Who may do what with it."""
        return (self.mode, self.owner, self.group)


class ChangeKind(StrEnum):
    """What happens to a path."""

    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"
    MOVED = "moved"


class Content(StrEnum):
    """What is known about how the content of a file changes."""

    SHOWN = "shown"  # the diff shows it, as far as there is room
    SAME = "same"  # it is written, but has the same bytes
    WITHHELD = "withheld"  # not everybody may read it
    LARGE = "large"  # it is too large to show
    UNKNOWN = "unknown"  # it is no text, or nobody could compare it


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a command would do to one path.

    It `moved` from `source`. A folder that is deleted holds `files` paths, itself counted. `diff`
    is a unified diff; `attributes` says that attributes or access lists change.
    """

    kind: ChangeKind
    path: str
    before: FileState | None = None
    after: FileState | None = None
    source: str | None = None
    files: int | None = None
    content: Content = Content.UNKNOWN
    diff: str = ""
    attributes: bool = False


@dataclass(frozen=True, slots=True)
class Signalled:
    """A program that a command would send signals with, and the processes that it names now."""

    command: str
    processes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Preview:
    """What a command would change; with `none`, there is no preview, and that says why.

    `exit_code` is that of the command in the preview, None if it did not end by itself.
    """

    changes: tuple[FileChange, ...] = ()
    unseen: tuple[Unseen, ...] = ()
    signals: tuple[Signalled, ...] = ()
    exit_code: int | None = None
    none: NoPreview | None = None

    @property
    def complete(self) -> bool:
        """Whether it shows everything that the command would do, as far as anybody can know."""
        return self.none is None and not self.unseen and not self.signals
