"""Corrections of paths: a missing folder, or a name that is almost right (S0.37)."""

import difflib
import posixpath
import re
import shlex

from workers.shells.corrections.command_line import PlacedCommand, PlacedWord, replace_word
from workers.shells.corrections.correction import Correction, FailedCommand, Probe, Proposal

_PATH = re.compile(r"[A-Za-z0-9_.+@%:,/-]+")
_UNCREATED = re.compile(
    r"can(?:no|')t create (?:regular file |directory |symbolic link )?['\"]?([^'\"\s:]+)['\"]?:"
    r" (?:Directory nonexistent|nonexistent directory|No such file|Not a directory)"
    r"|failed to create (?:symbolic|hard) link '([^']+)': No such file"
    r"|cannot move '[^']+' to '([^']+)': (?:No such file|Not a directory)"
    r"|cannot touch '([^']+)': No such file"
    r"|(?:tee|touch): ([^\s:]+): No such file"
    r"|Failed to open the file ([^\s:]+): No such file"
    r"|tar: ([^\s:]+): Cannot open: No such file"
)
_MISSING = re.compile(
    r"['\"]?([^'\"\s:]+)['\"]?(?: for reading)?: (?:No such file|cannot open|can't open)"
    r"|can't cd to ([^\s:]+)"
    r"|(?:open|open file) ['\"]?([^'\"\s:()]+)"
)
_READERS = frozenset(
    [
        *("cat", "zcat", "head", "tail", "less", "grep", "egrep", "fgrep", "zgrep", "jq"),
        *("ls", "cd", "stat", "file", "wc", "cut", "diff", "cmp", "readlink", "realpath"),
        *("sha256sum", "sha512sum", "md5sum", "cksum", "du", "cp"),
    ]
)
"""The programs that only read the files they are given (cp: all but the last).

A command line with any other program is left alone: the nearest existing path may be the very one
that must not be changed, removed or run.
"""
_DEPTH = 4
_ALIKE = 0.8
_CLEARLY = 0.05
"""How similar a name must be (1 is equal), and by how much more than the next best."""


def _missing_target(failure: FailedCommand) -> str | None:
    """The path that could not be created, if the command itself names it or a parent of it."""
    for groups in _UNCREATED.findall(failure.output):
        path: str = next(group for group in groups if group)
        if _PATH.fullmatch(path) and _find_word(failure, path) is not None:
            return path
    return None


def _find_word(failure: FailedCommand, path: str) -> tuple[PlacedCommand, PlacedWord] | None:
    """The word of the command that names the path or a folder above it."""
    wanted = posixpath.normpath(path)
    for simple in failure.commands:
        for word in (*simple.words, *simple.targets):
            text = posixpath.normpath(word.text.partition("=")[2] or word.text)
            if word.text and (text == wanted or wanted.startswith(f"{text}/")):
                return simple, word
    return None


def _make_parent(failure: FailedCommand, probe: Probe) -> Proposal | None:
    """Create the folder for the file."""
    path = _missing_target(failure)
    found = _find_word(failure, path) if path else None
    if path is None or found is None:
        return None
    simple, word = found
    folder = _wanted_folder(simple, word, path)
    moved = any(other.name in ("cd", "pushd") for other in failure.commands)
    if not folder or (moved and not folder.startswith("/")):
        return None
    if probe.holds(f"test -e {shlex.quote(folder)}"):
        return None
    sudo = "sudo -n " if simple.wrapped_in("sudo") and word not in simple.targets else ""
    return Proposal(failure.command, first=(f"{sudo}mkdir -p -- {shlex.quote(folder)}",))


def _wanted_folder(simple: PlacedCommand, word: PlacedWord, path: str) -> str:
    """The missing folder: the parent of the path, or the path itself if it names a folder."""
    if simple.name != "tar" or word in simple.targets:
        return path.rstrip("/") if path.endswith("/") else posixpath.dirname(path)
    texts = [other.text for other in simple.words]
    into = "-C" in texts[: simple.words.index(word)]
    return path if into else ""


def _nearest(failure: FailedCommand, probe: Probe) -> Proposal | None:
    """Replace a path that does not exist with the nearest existing one."""
    missing = _missing_paths(failure)
    for simple in failure.commands:
        for word in _read_by(simple):
            if word.text not in missing:
                continue
            existing = nearest_path(word.text, probe)
            if existing is not None:
                return Proposal(replace_word(failure.command, word, shlex.quote(existing)))
    return None


def _read_by(simple: PlacedCommand) -> tuple[PlacedWord, ...]:
    """The words that may name a file to read; the destination of a copy is left out."""
    words = tuple(w for w in simple.arguments if w.literal and "/" in w.text)
    if simple.name != "cp":
        return words
    into = any(w.text.startswith(("-t", "--target")) for w in simple.arguments)
    return () if into else tuple(w for w in words if w is not simple.arguments[-1])


def _missing_paths(failure: FailedCommand) -> set[str]:
    found = _MISSING.findall(failure.output)
    return {path for groups in found for path in groups if path and _PATH.fullmatch(path)}


def _only_reads(failure: FailedCommand) -> bool:
    return all(simple.name in _READERS for simple in failure.commands)


def nearest_path(path: str, probe: Probe) -> str | None:
    """The only existing absolute path that is nearly the given one; None if none surely is."""
    if not path.startswith("/") or probe.holds(f"test -e {shlex.quote(path)}"):
        return None
    parts = [part for part in posixpath.normpath(path).split("/") if part]
    for depth in range(len(parts) - 1, max(-1, len(parts) - 1 - _DEPTH), -1):
        parent = "/" + "/".join(parts[:depth])
        entries = probe.ask(f"ls -1a -- {shlex.quote(parent)}").split("\n")
        name = _nearest_name(parts[depth], [e for e in entries if e not in ("", ".", "..")])
        if name is None:
            if any(entries):
                return None
            continue
        candidate = posixpath.join(parent, name, *parts[depth + 1 :])
        return candidate if probe.holds(f"test -e {shlex.quote(candidate)}") else None
    return None


def _nearest_name(wanted: str, names: list[str]) -> str | None:
    """The clear best match: similar enough, or the only version if a version was named."""
    names = [name for name in names if _PATH.fullmatch(name) and name != wanted]
    versions = [name for name in names if re.fullmatch(r"\d+(\.\d+)*", name)]
    if re.fullmatch(r"\d+(\.\d+)*", wanted):
        return versions[0] if len(versions) == 1 else None
    close = difflib.get_close_matches(wanted, names, n=2, cutoff=_ALIKE)
    if not close:
        return None
    lead = _likeness(wanted, close[0]) - max((_likeness(wanted, n) for n in close[1:]), default=0)
    return close[0] if lead >= _CLEARLY else None


def _likeness(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio()


def _fails(failure: FailedCommand) -> bool:
    return bool(failure.exit_code) and bool(failure.commands)


MISSING_PARENT = Correction(
    "make_parent_folder",
    "created the missing folder of the file",
    lambda failure: _fails(failure) and _missing_target(failure) is not None,
    _make_parent,
)
NEAREST_PATH = Correction(
    "nearest_path",
    "replaced a path that does not exist with the nearest existing one",
    lambda failure: _fails(failure) and _only_reads(failure) and bool(_missing_paths(failure)),
    _nearest,
)
