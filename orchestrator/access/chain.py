"""The chain of the audit: each entry has the hash of its content and of the entry before.

An entry that was changed, removed or moved breaks the chain, unless every later entry and the head
are rewritten as well: whoever can write all of Postgres can do that. An entry that was noted
elsewhere, the *anchor* (`42:5f0c…`), reveals it.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep

START = b"\0" * 32
"""The hash before the first entry."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """An entry: who did what, to what, and when; `details` is JSON, as it was written."""

    seq: int
    at: datetime
    actor: str
    verb: str
    ref: str
    details: str
    previous: bytes
    hash: bytes


@dataclass(frozen=True, slots=True)
class Anchor:
    """The number and the hash of an entry, as somebody noted them."""

    seq: int
    hash: bytes

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash.hex()}"


@dataclass(frozen=True, slots=True)
class ChainFault:
    """A fault at a place in the chain."""

    seq: int
    reason: str


NOTHING = Anchor(0, START)
"""The head of an empty chain."""


def parse_anchor(text: str) -> Anchor:
    """Read `42:5f0c…`. Raises Rejected."""
    number, _, digest = text.partition(":")
    try:
        anchor = Anchor(int(number), bytes.fromhex(digest))
    except ValueError:
        anchor = Anchor(-1, b"")
    if anchor.seq < 0 or len(anchor.hash) != len(START):
        raise Rejected(
            f"{text!r} is not a valid anchor: write 42:5f0c… (a number and 64 hexadecimal digits)",
            stage="input",
            next_step=NextStep.of("audit verify"),
        )
    return anchor


def digest(link: AuditEntry) -> bytes:
    """The hash that an entry must have; Postgres computes the same when it is written."""
    moment = link.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")
    said = [link.seq, moment, link.actor, link.verb, link.ref, link.details]
    content = json.dumps(said, ensure_ascii=False, separators=(", ", ": "))
    return hashlib.sha256(link.previous + content.encode()).digest()


def faults(
    links: Iterable[AuditEntry], head: Anchor, anchor: Anchor | None = None
) -> Iterator[ChainFault]:
    """The faults of a chain, in order; none when it is intact.

    `links` come in the order of their numbers, `head` is the end of the chain at its last write,
    and `anchor` is an entry that must be unchanged.
    """
    last = NOTHING
    reached = anchor is None or anchor == NOTHING
    for link in links:
        yield from _broken(link, last)
        if anchor is not None and link.seq == anchor.seq:
            reached = True
            if link.hash != anchor.hash:
                yield ChainFault(link.seq, "it is another than the one that the anchor names")
        last = Anchor(link.seq, link.hash)
    yield from _unlike(last, head)
    if anchor is not None and not reached:
        yield ChainFault(anchor.seq, "the entry that the anchor names is gone")


def _broken(link: AuditEntry, last: Anchor) -> Iterator[ChainFault]:
    if link.seq != last.seq + 1:
        yield ChainFault(link.seq, f"{_missing(last.seq + 1, link.seq - 1)} before it")
    elif link.previous != last.hash:
        yield ChainFault(
            link.seq, "it does not follow from the entry before it: one of them was moved"
        )
    if digest(link) != link.hash:
        yield ChainFault(link.seq, "what it says was changed after it was written")


def _unlike(last: Anchor, head: Anchor) -> Iterator[ChainFault]:
    if last.seq < head.seq:
        yield ChainFault(head.seq, f"{_missing(last.seq + 1, head.seq)} at the end")
    elif last != head:
        yield ChainFault(last.seq, "the chain does not end where its head says")


def _missing(first: int, final: int) -> str:
    if first == final:
        return f"entry {first} is missing"
    return f"entries {first} to {final} are missing"
