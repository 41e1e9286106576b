"""Output in the form for a row: valid text, no NUL, capped; the whole goes into a blob."""

import hashlib
from dataclasses import dataclass

INLINE = 16 * 1024
"""Bytes of one stream in the row; of a longer one, its head and tail, with the whole in a blob."""

_HEAD = 4 * 1024


@dataclass(frozen=True, slots=True)
class StoredOutput:
    """One stream: `text` for the row, `size` of the whole in bytes, `blob` if the text was cut."""

    text: str
    size: int
    blob: str | None = None


def store_output(data: bytes, dropped: int = 0) -> StoredOutput:
    """The row's form of a stream of which `dropped` bytes were not even captured."""
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
    """Bytes as text that Postgres accepts: invalid UTF-8 and NUL become backslash escapes."""
    return data.decode("utf-8", errors="backslashreplace").replace("\x00", "\\x00")


def digest(data: bytes) -> str:
    """The name of a blob."""
    return hashlib.sha256(data).hexdigest()
