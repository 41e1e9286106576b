"""Bundle v1: a delivery as one file (S2.36-S2.38).

A bundle is a USTAR archive of `deliverables.json`, `meta.json`, `patch.diff` and `stats.json`, and
every delivery has exactly one: `unpack` accepts only the bytes that `pack` writes. So there is no
archive to be lenient with: no links, no paths, no second member of a name, no extension headers.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any, Final

from shared.domain.delivery import is_issue_id
from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep

SCHEMA_VERSION: Final = 1

LARGEST_PATCH: Final = 256 << 20
"""Bytes of a patch."""

LARGEST_TEXT: Final = 4 << 20
"""Bytes of each of the other members; with them, no bundle has more than `LARGEST_BUNDLE`."""

DELIVERABLES: Final = "deliverables.json"
META: Final = "meta.json"
PATCH: Final = "patch.diff"
STATS: Final = "stats.json"

# In the order of their names, with the most bytes of each; statistics may be missing.
_LIMITS: Final = {
    DELIVERABLES: LARGEST_TEXT,
    META: LARGEST_TEXT,
    PATCH: LARGEST_PATCH,
    STATS: LARGEST_TEXT,
}

_BLOCK: Final = 512
_END: Final = bytes(2 * _BLOCK)

_SHA: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_GIT: Final = b"diff --git "
_LONGEST_ID: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """What a delivery belongs to (S2.37).

    Its patch turns the commit `base_sha` into the tree `result_tree`; both are full object ids.
    `created_at` has a time zone; it is kept in UTC.
    """

    schema_version: int = SCHEMA_VERSION
    project_id: str
    session_id: str
    attempt_id: str
    issue_id: str
    base_sha: str
    result_tree: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Stats:
    """The numbers of changed files, and of added and deleted lines in those that are text."""

    files: int
    added: int
    deleted: int


@dataclass(frozen=True, slots=True)
class Bundle:
    """A delivery: a patch in git's form, what its author says about it, and what it belongs to.

    `deliverables` is JSON data. The patch may have any bytes: those of files.
    """

    meta: Meta
    patch: bytes
    deliverables: Mapping[str, Any]
    stats: Stats | None = None


def digest(data: bytes) -> str:
    """The SHA-256 of a bundle in hexadecimal, which is its name."""
    return hashlib.sha256(data).hexdigest()


def pack(bundle: Bundle) -> bytes:
    """The one form of a bundle. Raises Rejected, at stage `bundle`, for what cannot be in one."""
    _check(bundle)
    members = {
        DELIVERABLES: _json_text(DELIVERABLES, dict(bundle.deliverables)),
        META: _json_text(META, _meta_json(bundle.meta)),
        PATCH: bundle.patch,
    }
    if bundle.stats is not None:
        members[STATS] = _json_text(STATS, asdict(bundle.stats))
    parts = []
    for name, content in members.items():
        _check_size(name, len(content))
        parts += [_header(name, len(content)), content, bytes(-len(content) % _BLOCK)]
    return b"".join([*parts, _END])


def unpack(data: bytes) -> Bundle:
    """The delivery in a bundle. Raises Rejected, at stage `bundle`, for what `pack` never writes.

    What it reads may come from anywhere: it writes nothing, and takes no more memory than twice
    the size of the data.
    """
    members = _members(data)
    stats = members.get(STATS)
    bundle = Bundle(
        meta=_meta(members[META]),
        patch=members[PATCH],
        deliverables=_json_object(DELIVERABLES, members[DELIVERABLES]),
        stats=None if stats is None else _stats(stats),
    )
    _check(bundle)
    return bundle


def _members(data: bytes) -> dict[str, bytes]:
    """The members by their names, if nothing else is in the archive."""
    found: dict[str, bytes] = {}
    at = 0
    for name, limit in _LIMITS.items():
        header = data[at : at + _BLOCK]
        if not header.startswith(name.encode() + b"\0"):
            if name == STATS:
                continue
            raise _refusal(f"{name} is missing: {_shown_name(header)} is in its place")
        size = _size(name, header)
        _check_size(name, size, limit)
        start, end = at + _BLOCK, at + _BLOCK + size
        at = end + -size % _BLOCK
        if len(data) < at:
            raise _refusal(f"it ends within {name}")
        if data[end:at].strip(b"\0"):
            raise _refusal(f"something stands behind {name}")
        found[name] = data[start:end]
    if data[at:] != _END:
        raise _refusal("it does not end after its last member")
    return found


def _header(name: str, size: int) -> bytes:
    """The header of a member.

    Not `tarfile`'s: the bytes of those depend on the version of Python.
    """
    zero = b"0000000\0"
    before = [name.encode().ljust(100, b"\0"), b"0000644\0", zero, zero, b"%011o\0" % size]
    before.append(b"00000000000\0")
    after = [b"0", bytes(100), b"ustar\0", b"00", bytes(64), zero, zero, bytes(167)]
    total = sum(sum(part) for part in (*before, *after)) + 8 * ord(" ")
    return b"".join((*before, b"%06o\0 " % total, *after))


def _size(name: str, header: bytes) -> int:
    """The size that a header says, if it is the header of such a member."""
    size = int(header[124:135], 8) if re.fullmatch(rb"[0-7]{11}", header[124:135]) else -1
    if size < 0 or header != _header(name, size):
        raise _refusal(f"the header of {name} is not that of a plain file of a bundle")
    return size


def _shown_name(header: bytes) -> str:
    name = header[:100].rstrip(b"\0")
    return repr(name.decode(errors="replace")) if name else "nothing"


def _check_size(name: str, size: int, limit: int | None = None) -> None:
    limit = _LIMITS[name] if limit is None else limit
    if size > limit:
        raise _refusal(f"{name} has {size} bytes, and at most {limit} are allowed")


def _json_text(name: str, value: Mapping[str, Any]) -> bytes:
    """The one text of JSON data."""
    try:
        text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
        return f"{text}\n".encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise _refusal(f"{name} is not valid JSON data: {error}") from None


def _json_object(name: str, text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise _refusal(f"{name} is not valid JSON: {error}") from None
    if not isinstance(value, dict) or _json_text(name, value) != text:
        raise _refusal(f"{name} is not written as a bundle has it")
    return value


def _meta(text: bytes) -> Meta:
    given = _json_object(META, text)
    version = given.get("schema_version")
    if type(version) is not int or version != SCHEMA_VERSION:
        raise _refusal(f"its schema version is {version!r}, and this replan reads {SCHEMA_VERSION}")
    try:
        meta = Meta(**{**given, "created_at": datetime.fromisoformat(given["created_at"])})
        written = _meta_json(meta)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise _wrong_fields(META, Meta) from None
    if written != given:
        raise _wrong_fields(META, Meta)
    return meta


def _meta_json(meta: Meta) -> dict[str, Any]:
    return {**asdict(meta), "created_at": meta.created_at.astimezone(UTC).isoformat()}


def _stats(text: bytes) -> Stats:
    try:
        return Stats(**_json_object(STATS, text))
    except TypeError:
        raise _wrong_fields(STATS, Stats) from None


def _wrong_fields(name: str, kind: type[Meta] | type[Stats]) -> Rejected:
    names = ", ".join(field.name for field in fields(kind))
    return _refusal(f"{name} has to hold a valid value for each of {names}, and nothing else")


def _check(bundle: Bundle) -> None:
    """Raise Rejected for values that cannot be in a bundle."""
    _check_meta(bundle.meta)
    if bundle.patch and not bundle.patch.startswith(_GIT):
        raise _refusal(f"{PATCH} is not a patch in git's form: it begins with {_GIT.decode()!r}")
    for name, number in () if bundle.stats is None else asdict(bundle.stats).items():
        if type(number) is not int or number < 0:
            raise _refusal(f"{name} {number!r} in {STATS} is not a valid number")


def _check_meta(meta: Meta) -> None:
    if meta.schema_version != SCHEMA_VERSION:
        raise _refusal(f"its schema version is {meta.schema_version!r}, not {SCHEMA_VERSION}")
    for field in fields(meta):
        value = getattr(meta, field.name)
        if field.type is str and not _is_id(value):
            raise _refusal(f"{field.name} {value!r:.60} is not a valid id")
    if not is_issue_id(meta.issue_id):
        raise _refusal(f"issue_id {meta.issue_id!r:.60} is not valid: write it as L-000123")
    for name in ("base_sha", "result_tree"):
        if not _SHA.fullmatch(getattr(meta, name)):
            raise _refusal(f"{name} {getattr(meta, name)!r:.80} is not a full object id of git")
    if meta.created_at.tzinfo is None:
        raise _refusal("created_at has no time zone")


def _is_id(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_ID and value.isprintable()


def _refusal(reason: str) -> Rejected:
    return Rejected(
        f"it is not a valid bundle: {reason}",
        stage="bundle",
        next_step=NextStep.of("store put", help=True),
    )
