"""What is wrong with the paths that a failure names: rights, folders, room, mounts; pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from shared.domain.cause import Cause, CauseKind
from workers.evidence import answers as read
from workers.evidence.causes import Finding, needed_paths
from workers.evidence.questions import ATTRIBUTES, INODES, MOUNTS, RIGHTS, SPACE, above
from workers.evidence.things import Thing, ThingKind

FULL = 98
"""From how many percent on a file system counts as full once a message complains of it."""

_MISSING = re.compile(
    r"No such file|nonexistent|Not a directory|cannot (?:open|access|stat)|does not exist"
)
_DENIED = re.compile(r"[Pp]ermission denied|not permitted|[Aa]ccess denied|EACCES|EPERM")
_READ_ONLY = re.compile(r"Read-only file system|EROFS")
_NO_ROOM = re.compile(r"No space left|ENOSPC|not enough (?:free )?space|Disk quota")


@dataclass(frozen=True)
class _Paths:
    """What the host answered about paths."""

    answers: Mapping[str, str]

    @cached_property
    def entries(self) -> Mapping[str, read.Entry]:
        return read.entries(self.answers.get(RIGHTS, ""))

    @cached_property
    def immutable(self) -> frozenset[str]:
        return read.immutable(self.answers.get(ATTRIBUTES, ""))

    @cached_property
    def space(self) -> Mapping[str, read.FileSystem]:
        return read.file_systems(self.answers.get(SPACE, ""))

    @cached_property
    def inodes(self) -> Mapping[str, read.FileSystem]:
        return read.file_systems(self.answers.get(INODES, ""))

    @cached_property
    def mounts(self) -> Mapping[str, frozenset[str]]:
        return read.mount_options(self.answers.get(MOUNTS, ""))


def path_causes(finding: Finding) -> Iterator[Cause]:
    """What is wrong with the paths that the failure, or what its answers name, names."""
    paths = _Paths(finding.answers)
    if not paths.entries:
        return
    for path in finding.names(ThingKind.PATH):
        if _DENIED.search(finding.printed):
            yield from _denied(finding, paths, path)
        if _MISSING.search(finding.printed):
            yield from _missing(finding, paths, path)
        yield from _of_mount(finding, paths, path)


def _denied(finding: Finding, paths: _Paths, path: str) -> Iterator[Cause]:
    for component in above(path)[-2:]:
        if component in paths.immutable:
            yield finding.cause(CauseKind.IMMUTABLE, component)
            return
    account = finding.account
    if account is None:
        return
    found = _lacking(paths.entries, path, account, frozenset())
    if found is None or not _complains(finding.printed, path, found.path):
        return
    state = f"{found.mode} {found.owner} {found.group}"
    yield finding.cause(
        CauseKind.PATH_DENIED, path, by=found.path, state=state, account=account.name
    )


def _complains(printed: str, path: str, component: str) -> bool:
    """Whether a line that speaks of rights names the path or its component."""
    lines = [line for line in printed.splitlines() if _DENIED.search(line)]
    parts = (path.rpartition("/")[2], component)
    return any(part in line for line in lines for part in parts)


def _lacking(
    entries: Mapping[str, read.Entry], path: str, account: read.Account, seen: frozenset[str]
) -> read.Entry | None:
    """The first component whose mode keeps the account from the path; None if none does."""
    for component in above(path):
        entry = entries.get(component)
        if entry is None:
            parent = entries.get(component.rpartition("/")[0] or "/")
            closed = parent is not None and not account.may("w", parent)
            return parent if closed and component == path else None
        if entry.is_link:
            if entry.target in seen:
                return None
            behind = _lacking(entries, entry.target, account, seen | {entry.target})
            if behind is not None:
                return behind
        elif component != path:
            if entry.is_folder and not account.may("x", entry):
                return entry
        elif not all(account.may(right, entry) for right in _needed(entry, account)):
            return entry
    folder = entries.get(path.rpartition("/")[0] or "/")
    return folder if folder is not None and not account.may("w", folder) else None


def _needed(entry: read.Entry, account: read.Account) -> str:
    """The rights without which something at the end of a path may be refused."""
    return "x" if account.uid == 0 else "rwx" if entry.is_folder else "rw"


def _missing(finding: Finding, paths: _Paths, path: str) -> Iterator[Cause]:
    listed = above(path)
    for component in listed:
        entry = paths.entries.get(component)
        if entry is None:
            if component == listed[0]:
                return
            if component != path or _is_missed(finding, path):
                yield finding.cause(CauseKind.PATH_MISSING, path, by=component)
            return
        followed = Thing(ThingKind.PATH, entry.target) in finding.things
        if entry.is_link and followed and entry.target not in paths.entries:
            yield finding.cause(CauseKind.LINK_BROKEN, component, by=entry.target)
            return
        if component != path and not entry.is_folder and not entry.is_link:
            yield finding.cause(CauseKind.PATH_MISSING, path, by=component, state=entry.mode)
            return


def _is_missed(finding: Finding, path: str) -> bool:
    """Whether a message says that the path is not there, or a unit cannot start without it."""
    name = path.rpartition("/")[2]
    if any(name in line for line in finding.printed.splitlines() if _MISSING.search(line)):
        return True
    return any(each.name == path for u in finding.units for each in needed_paths(finding.state(u)))


def _of_mount(finding: Finding, paths: _Paths, path: str) -> Iterator[Cause]:
    printed = finding.printed
    place = read.mounted_at(path, paths.mounts)
    options = paths.mounts.get(place, frozenset())
    if _READ_ONLY.search(printed) and "ro" in options:
        yield finding.cause(CauseKind.READ_ONLY, place)
    entry = paths.entries.get(path)
    if _DENIED.search(printed) and "noexec" in options and entry is not None and "x" in entry.mode:
        programs = [text for text in finding.failure.commands if path in text]
        if programs and not entry.is_folder:
            yield finding.cause(CauseKind.NO_EXEC, path, by=place)
    if not _NO_ROOM.search(printed):
        return
    for kind, table in ((CauseKind.DISK_FULL, paths.space), (CauseKind.INODES_FULL, paths.inodes)):
        row = table.get(read.mounted_at(path, table))
        if row is not None and row.used >= FULL:
            yield finding.cause(kind, row.place, measure=f"{row.used} % used")
