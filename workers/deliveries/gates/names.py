"""Gates about names: those that git, or a file system, cannot hold everywhere."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

from shared.domain.findings import Effect, Finding, GateRule, NameFault
from workers.deliveries.changes import NO_MODE
from workers.deliveries.gates.values import GateInput

_LONGEST: Final = 255
"""Bytes of a name, on every usual file system."""

_CHARACTERS: Final = re.compile(r'[\x00-\x1f\x7f<>:"|?*\\]')
_DEVICES: Final = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?:\..*)?")
_IGNORED: Final = dict.fromkeys(
    (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF)
)
"""Characters that HFS+ drops from a name: git refuses `.git` with them for that reason."""

_SHORT_GIT: Final = re.compile(r"git~\d+")


def find_bad_names(given: GateInput) -> Iterator[Finding]:
    """New paths with a name that cannot be held everywhere."""
    for path in _added(given):
        if fault := fault_of(path):
            yield Finding(GateRule.NAME, Effect.REFUSE, path, fault)


def find_same_names(given: GateInput) -> Iterator[Finding]:
    """New paths that are, where case and composition do not count, another path of the tree."""
    added = _added(given)
    if not added:
        return
    folded = {fold(part): part for path in added for part in _beginnings(path)}
    for path in (*given.paths, *added):
        for part in _beginnings(path):
            other = folded.get(fold(part))
            if other is not None and other != part:
                yield Finding(GateRule.SAME_NAME, Effect.REFUSE, other, part)
                break


def fault_of(path: str) -> NameFault | None:
    """What is wrong with a path; None if it can be held everywhere."""
    if not _is_text(path):
        return NameFault.ENCODING
    names = path.split("/")
    if any(map(is_git, names)):
        return NameFault.GIT
    if _CHARACTERS.search(path):
        return NameFault.CHARACTER
    if any(name.endswith((".", " ")) for name in names):
        return NameFault.ENDING
    if any(_DEVICES.fullmatch(name.casefold()) for name in names):
        return NameFault.RESERVED
    if any(len(name.encode()) > _LONGEST for name in names):
        return NameFault.LENGTH
    return None


def is_git(name: str) -> bool:
    """Whether some file system takes the name for that of git's own folder."""
    bare = name.translate(_IGNORED).casefold().partition(":")[0].rstrip(". ")
    return bare == ".git" or _SHORT_GIT.fullmatch(bare) is not None


def fold(path: str) -> str:
    """The path as a file system sees it for which case and composition do not count."""
    if path.isascii():
        return path.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def _added(given: GateInput) -> list[str]:
    return [change.path for change in given.changes if change.old_mode == NO_MODE]


def _beginnings(path: str) -> Iterable[str]:
    """The path and every folder above it."""
    place = path.find("/")
    while place >= 0:
        yield path[:place]
        place = path.find("/", place + 1)
    yield path


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
