"""Causes: what the host itself says is wrong around a failed command (S0.50, S0.51)."""

from dataclasses import dataclass
from enum import StrEnum


class CauseKind(StrEnum):
    """What deviates; the comment says what is its `subject`, and what `by` and `state` hold."""

    UNIT_FAILED = "unit_failed"  # a unit; state: its result and exit status
    UNIT_INACTIVE = (
        "unit_inactive"  # a unit that does not run and has not failed; state: if not dead
    )
    UNIT_MISSING = "unit_missing"  # a unit that systemd does not know
    UNIT_MASKED = "unit_masked"  # a unit
    PORT_HELD = "port_held"  # a port; by: the unit or program that listens on it
    PORT_CLOSED = "port_closed"  # a port on which nothing listens
    PATH_MISSING = "path_missing"  # a path; by: its first component that does not exist
    PATH_DENIED = "path_denied"  # a path; by: the component without rights; state: mode and owner
    IMMUTABLE = "immutable"  # a path that not even root may change
    LINK_BROKEN = "link_broken"  # a symbolic link; by: where it leads
    READ_ONLY = "read_only"  # a mount point
    LOCK_HELD = "lock_held"  # a lock file; by: the unit or program that holds it
    NO_EXEC = "no_exec"  # a path; by: its mount point
    DISK_FULL = "disk_full"  # a mount point
    INODES_FULL = "inodes_full"  # a mount point
    PACKAGE_HELD = "package_held"  # a package; state: its installed version
    PACKAGE_ABSENT = "package_absent"  # a package that no repository offers
    PACKAGE_UNFINISHED = "package_unfinished"  # a package; state: how far it is installed
    NAME_UNRESOLVED = "name_unresolved"  # a host name
    ACCOUNT_MISSING = "account_missing"  # an account
    ACCOUNT_IN_USE = "account_in_use"  # an account; by: a unit or program that runs under it
    GROUP_MISSING = "group_missing"  # a group
    LOGIN_REFUSED = "login_refused"  # an account; state: its shell
    LOG_LINE = "log_line"  # a log file; line: what it says
    MEMORY_LOW = "memory_low"  # the host
    LOAD_HIGH = "load_high"  # the host
    CLOCK_OFF = "clock_off"  # the host


TELLING = frozenset(
    {
        CauseKind.UNIT_MASKED,
        CauseKind.PORT_HELD,
        CauseKind.PATH_MISSING,
        CauseKind.PATH_DENIED,
        CauseKind.IMMUTABLE,
        CauseKind.LINK_BROKEN,
        CauseKind.READ_ONLY,
        CauseKind.LOCK_HELD,
        CauseKind.NO_EXEC,
        CauseKind.DISK_FULL,
        CauseKind.INODES_FULL,
        CauseKind.PACKAGE_HELD,
        CauseKind.PACKAGE_UNFINISHED,
        CauseKind.ACCOUNT_MISSING,
        CauseKind.ACCOUNT_IN_USE,
        CauseKind.GROUP_MISSING,
        CauseKind.LOGIN_REFUSED,
        CauseKind.CLOCK_OFF,
    }
)
"""Those that say why something fails. The others say once more that it does, for many reasons."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that deviates on the host.

    `subtask` is the ordinal of the failed subtask whose command or output led to it, 0 for the host
    as a whole. `subject`, `by`, `state`, `account` and `line` are the same wherever the same thing
    is wrong, apart from names, numbers and paths; what differs each time (`pid`, a `measure` like
    "98 % of 20 GB") is kept apart. `account` is the one whose rights are missing. `line` is the
    line of a journal or log that says most: output of the host, so data and never an instruction.
    """

    kind: CauseKind
    subject: str
    subtask: int = 0
    by: str = ""
    state: str = ""
    account: str = ""
    line: str = ""
    measure: str = ""
    pid: int | None = None


def describe_cause(cause: Cause) -> str:
    """A cause in words: "the unit site.service has failed (exit-code, 203)"."""
    itself = cause.by == cause.subject
    words = (itself and _OF_ITSELF.get(cause.kind)) or _WORDS[cause.kind]
    said = words.format(
        subject=cause.subject, by=cause.by or "something unknown", state=cause.state
    )
    account = f" for {cause.account}" if cause.account else ""
    process = "" if cause.pid is None else f"process {cause.pid}"
    details = ", ".join(part for part in (cause.state, cause.measure, process) if part)
    line = f": {cause.line}" if cause.line else ""
    return said + account + (f" ({details})" if details else "") + line


_WORDS: dict[CauseKind, str] = {
    CauseKind.UNIT_FAILED: "the unit {subject} has failed",
    CauseKind.UNIT_INACTIVE: "the unit {subject} does not run",
    CauseKind.UNIT_MISSING: "systemd does not know the unit {subject}",
    CauseKind.UNIT_MASKED: "the unit {subject} is masked",
    CauseKind.PORT_HELD: "port {subject} is held by {by}",
    CauseKind.PORT_CLOSED: "nothing listens on port {subject}",
    CauseKind.PATH_MISSING: "{subject} does not exist, because there is no {by}",
    CauseKind.PATH_DENIED: "the rights of {by} bar access to {subject}",
    CauseKind.IMMUTABLE: "{subject} has the attribute that nobody may change it (chattr +i)",
    CauseKind.LINK_BROKEN: "{subject} is a link to {by}, which does not exist",
    CauseKind.READ_ONLY: "the file system at {subject} is mounted read-only",
    CauseKind.LOCK_HELD: "{subject} is held by {by}",
    CauseKind.NO_EXEC: "{subject} lies on {by}, which is mounted noexec",
    CauseKind.DISK_FULL: "the file system at {subject} is full",
    CauseKind.INODES_FULL: "the file system at {subject} has no inodes left",
    CauseKind.PACKAGE_HELD: "the package {subject} is held",
    CauseKind.PACKAGE_ABSENT: "no repository of the host offers the package {subject}",
    CauseKind.PACKAGE_UNFINISHED: "the package {subject} is not completely installed",
    CauseKind.NAME_UNRESOLVED: "the host cannot resolve the name {subject}",
    CauseKind.ACCOUNT_MISSING: "the account {subject} does not exist",
    CauseKind.ACCOUNT_IN_USE: "the account {subject} is in use by {by}",
    CauseKind.GROUP_MISSING: "the group {subject} does not exist",
    CauseKind.LOGIN_REFUSED: "the account {subject} has no login shell",
    CauseKind.LOG_LINE: "the log {subject} says",
    CauseKind.MEMORY_LOW: "{subject} has little memory left",
    CauseKind.LOAD_HIGH: "{subject} is under high load",
    CauseKind.CLOCK_OFF: "the clock of {subject} is wrong",
}

_OF_ITSELF: dict[CauseKind, str] = {
    CauseKind.PATH_MISSING: "{subject} does not exist",
    CauseKind.PATH_DENIED: "the rights of {subject} bar access to it",
}
"""The words where a path is itself the component that is missing or closed."""
