"""Deliveries for tests of the gates: a base and what becomes of it, as texts by path."""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha1

from workers.deliveries.changes import FILE, NO_MODE, SYMLINK, Change, FileChange
from workers.deliveries.gates.values import GateInput, GatePolicy

LINK = "-> "
"""How a content begins that is the target of a symbolic link."""

Files = Mapping[str, str | bytes]


def delivery(base: Files, tree: Files, policy: GatePolicy | None = None) -> GateInput:
    """The input of the gates for a delivery that makes `tree` of `base`."""
    contents = {_oid(each): _bytes(each) for side in (base, tree) for each in side.values()}
    changes = [
        _change(path, base.get(path), tree.get(path))
        for path in sorted({*base, *tree})
        if base.get(path) != tree.get(path)
    ]
    return GateInput(
        base="b" * 40,
        tree="t" * 40,
        changes=tuple(changes),
        contents=contents,
        paths=tuple(tree),
        links={path: _bytes(each).decode() for path, each in base.items() if _is_link(each)},
        policy=policy or GatePolicy(),
    )


def with_policy(given: GateInput, policy: GatePolicy) -> GateInput:
    """The same under another policy."""
    return replace(given, policy=policy)


def _change(path: str, old: str | bytes | None, new: str | bytes | None) -> FileChange:
    kind = Change.MODIFIED
    if old is None or new is None:
        kind = Change.ADDED if old is None else Change.DELETED
    elif _is_link(old) is not _is_link(new):
        kind = Change.TYPE
    return FileChange(
        path,
        kind,
        _mode(old),
        _mode(new),
        "" if old is None else _oid(old),
        "" if new is None else _oid(new),
        0 if new is None else len(_bytes(new)),
        0 if old is None else len(_bytes(old)),
    )


def _mode(content: str | bytes | None) -> str:
    if content is None:
        return NO_MODE
    return SYMLINK if _is_link(content) else FILE


def _is_link(content: str | bytes) -> bool:
    return isinstance(content, str) and content.startswith(LINK)


def _bytes(content: str | bytes) -> bytes:
    if isinstance(content, bytes):
        return content
    return content.removeprefix(LINK).encode("utf-8", "surrogateescape")


def _oid(content: str | bytes) -> str:
    return sha1(_bytes(content), usedforsecurity=False).hexdigest()
