"""The values of the patch store: what it keeps, what it found, and what may go (S2.32-S2.35)."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Stored:
    """A bundle in the store: where it is, its SHA-256 in hexadecimal, and its size in bytes."""

    uri: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A bundle that the store lists; `stored_at` is in seconds since 1970."""

    sha256: str
    size: int
    stored_at: float


class Condition(StrEnum):
    """The condition of a bundle in the store."""

    GOOD = "good"
    ABSENT = "absent"
    CHANGED = "changed"  # its bytes do not have its SHA-256


@dataclass(frozen=True, slots=True)
class Verification:
    """What the store has under a SHA-256, and where."""

    uri: str
    sha256: str
    condition: Condition


LARGEST_BUNDLE = 300 << 20
"""Bytes of a bundle."""

LEAST_AGE = 86_400.0
"""Seconds for which every bundle stays: whoever has stored it may not have its row yet."""


@dataclass(frozen=True, slots=True)
class GcPolicy:
    """Which bundles go: those that nothing refers to, stored longer ago than `age` seconds.

    `referred` holds the SHA-256 of all others. Nothing is changed unless `apply`.
    """

    referred: Collection[str]
    age: float
    apply: bool = False


@dataclass(frozen=True, slots=True)
class GcReport:
    """What went, or would go unless `applied`.

    `freed` is in bytes. `referred` and `young` count the bundles that stay, for that reason;
    `leftovers` counts files of writers that died.
    """

    applied: bool
    removed: tuple[Entry, ...]
    freed: int
    leftovers: int
    referred: int
    young: int
