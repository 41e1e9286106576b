"""Output as it may stand in a row: valid text, no NUL, capped, the whole of it in a blob."""

import hashlib
from dataclasses import dataclass

INLINE = 16 * 1024
"""Bytes of one stream that stand in the row; of more, head and tail do, and the rest in a blob."""

_HEAD = 4 * 1024


@dataclass(frozen=True, slots=True)
class StoredOutput:
    """One stream: `text` for the row, `size` in bytes of all there was, `blob` when it was cut."""

    text: str
    size: int
    blob: str | None = None


def store_output(data: bytes, dropped: int = 0) -> StoredOutput:
    """What stands in the row for a stream of which `dropped` bytes were not even captured."""
    size = len(data) + dropped
    if len(data) <= INLINE:
        return StoredOutput(safe_text(data), size)
    cut = len(data) - INLINE
    text = (
        safe_text(data[:_HEAD])
        + f"\n[… {cut} bytes left out here; `attempt show --full` has them …]\n"
        + safe_text(data[-(INLINE - _HEAD) :])
    )
    return StoredOutput(text, size, digest(data))


def safe_text(data: bytes) -> str:
    """Bytes as text that Postgres takes: what is not UTF-8, and NUL, as backslash escapes."""
    return data.decode("utf-8", errors="backslashreplace").replace("\x00", "\\x00")


def digest(data: bytes) -> str:
    """The name of a blob."""
    return hashlib.sha256(data).hexdigest()
