"""What git prints about trees and histories, as values; pure."""

import re
from collections.abc import Iterable, Mapping, Sequence

from workers.agents.workspaces.script import Fields, values
from workers.deliveries.changes import NO_MODE, Change, FileChange
from workers.deliveries.values import Accepted

_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")

_ESCAPED = re.compile(rb"\\([0-7]{3}|.)")
_ESCAPES = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))


def read_changes(found: bytes, sizes: bytes) -> tuple[FileChange, ...]:
    """The changes in what `diff-tree --raw` printed; `sizes` has a line for each object."""
    told = (line.split(b" ") for line in sizes.splitlines())
    known = {each[0]: int(each[2]) for each in told if each[1] == b"blob"}
    return tuple(_change(line, known) for line in found.split(b"\n") if line)


def _change(line: bytes, sizes: Mapping[bytes, int]) -> FileChange:
    about, _, path = line.removeprefix(b":").partition(b"\t")
    old_mode, new_mode, old_oid, new_oid, status = about.split(b" ")
    return FileChange(
        _unquoted(path).decode(errors="surrogateescape"),
        Change(status.decode()),
        old_mode.decode(),
        new_mode.decode(),
        "" if old_mode.decode() == NO_MODE else old_oid.decode(),
        "" if new_mode.decode() == NO_MODE else new_oid.decode(),
        sizes.get(new_oid, 0),
        sizes.get(old_oid, 0),
    )


def _unquoted(path: bytes) -> bytes:
    """A path as git prints it, in quotes if there is anything odd in it."""
    if not path.startswith(b'"'):
        return path
    return _ESCAPED.sub(lambda found: bytes([_escape(found[1])]), path[1:-1])


def _escape(found: bytes) -> int:
    return int(found, 8) if found.isdigit() else _ESCAPES[found[0]]


def split_patch(found: bytes) -> tuple[bytes, bytes]:
    """The changes and the patch that `diff-tree --raw -p` printed; an empty line is in between."""
    if not found:
        return b"", b""
    changes, _, patch = found.partition(b"\n\n")
    return changes, patch


def count_lines(patch: bytes) -> tuple[int, int]:
    """The lines that a patch of git adds and deletes, in files that are not binary."""
    counts = {b"+": 0, b"-": 0, b" ": 0}
    old = new = 0
    for line in patch.split(b"\n"):
        sign = line[:1]
        if (old or new) and sign in counts:
            counts[sign] += 1
            old -= sign != b"+"
            new -= sign != b"-"
        elif hunk := _HUNK.match(line):
            old, new = (1 if each is None else int(each) for each in hunk.groups())
    return counts[b"+"], counts[b"-"]


def read_contents(found: bytes) -> dict[str, bytes]:
    """The blobs in what `cat-file --batch` printed."""
    blobs = {}
    at = 0
    while at < len(found):
        end = found.index(b"\n", at)
        oid, _, size = found[at:end].decode().split(" ")
        at = end + 1 + int(size)
        blobs[oid] = found[end + 1 : at]
        at += 1
    return blobs


def read_names(found: bytes) -> tuple[str, ...]:
    """The names that `ls-tree -z --name-only` printed, each once."""
    names = dict.fromkeys(found.split(b"\0")[:-1])
    return tuple(name.decode(errors="surrogateescape") for name in names)


def by_folder(names: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """Paths by the folder that they stand in, which is empty for the root."""
    folders: dict[str, list[str]] = {}
    for name in names:
        folders.setdefault(name.rpartition("/")[0], []).append(name)
    return folders


def read_links(found: bytes, targets: bytes) -> dict[str, str]:
    """The symbolic links in lines of `ls-tree`, with NUL for newline; `targets` are their blobs."""
    blobs = read_contents(targets)
    links = {}
    for line in found.split(b"\n")[:-1]:
        about, _, path = line.partition(b"\t")
        target = blobs[about.split(b" ")[2].decode()]
        name = path.replace(b"\0", b"\n").decode(errors="surrogateescape")
        links[name] = target.decode(errors="surrogateescape")
    return links


def read_history(found: bytes) -> Mapping[tuple[str, str], str]:
    """The commits that replaced a content of a path by another one, by that path and content.

    Only the newest word about a content counts: one that was put back again is not replaced.
    """
    replaced: dict[tuple[str, str], str] = {}
    put: set[tuple[str, str]] = set()
    commit = ""
    tokens = iter(found.split(b"\0"))
    for token in tokens:
        entry = token.lstrip(b"\n")
        if not entry.startswith(b":"):
            commit = entry.decode()
            continue
        path = next(tokens).decode(errors="surrogateescape")
        _, _, old, new, _ = entry.decode().split(" ")
        if old == new:
            continue
        if (path, old) not in put:
            replaced.setdefault((path, old), commit)
        if (path, new) not in replaced:
            put.add((path, new))
    return replaced


def read_line(fields: Fields, deliveries: Sequence[str]) -> tuple[Accepted, ...]:
    """What became of the deliveries, in their order, up to one that conflicts."""
    told = zip(values(fields, "commit"), values(fields, "tree"), strict=False)
    return tuple(
        Accepted(delivery, commit, tree)
        for delivery, (commit, tree) in zip(deliveries, told, strict=False)
    )
