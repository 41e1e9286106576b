"""What a host's kernel forbids to a look, and why a host has no such containment."""

from dataclasses import dataclass
from enum import StrEnum


class ContainmentRule(StrEnum):
    """Whether looks have to run contained, as a policy says it."""

    OFF = "off"
    POSSIBLE = "possible"  # where the host can
    REQUIRED = "required"  # nothing runs on a host that cannot


class Missing(StrEnum):
    """Why looks do not run contained on a host."""

    OFF = "off"  # the policy says so
    PROGRAM = "program"  # a program that makes it; `said` names it
    RECORDS = "records"  # there is no place for the pipes between a runner and it
    NAMESPACES = "namespaces"  # the kernel, or what guards it, refuses namespaces to the account
    IDS = "ids"  # the account may not map its ids into them
    PROPAGATION = "propagation"  # mounts cannot be kept apart
    TMPFS = "tmpfs"  # nothing may be mounted
    DEVICES = "devices"  # a private /dev cannot be made
    SECRETS = "secrets"  # there are too many files with secrets to hide, or one cannot be hidden
    PROC = "proc"  # /proc cannot be shown again
    READONLY = "readonly"  # a file system cannot be made read-only; `said` names it
    SLOW = "slow"  # it took too long
    GONE = "gone"  # it ended as soon as it was made


@dataclass(frozen=True, slots=True)
class Containment:
    """Whether looks run contained on a host.

    Contained, every file system is read-only, there is neither network nor socket, and no process
    outside can be signalled or read. With `owners`, looks see the owners of files; without, all
    owners but the account show as `nobody`. `said` is what the host said if it has none.
    """

    missing: Missing | None = None
    owners: bool = True
    said: str = ""

    @property
    def is_there(self) -> bool:
        """Whether looks run contained."""
        return self.missing is None


@dataclass(frozen=True, slots=True)
class Hidden:
    """What a contained look cannot read.

    `places` are patterns of a shell for whole paths. `names` and `public` are extended regular
    expressions for the paths of files in the usual places: those that are hidden, and those of
    them that are not.
    """

    places: tuple[str, ...] = ()
    names: str = ""
    public: str = ""


UNCONTAINED = Containment(Missing.OFF)
"""No look runs contained."""
