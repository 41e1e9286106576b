"""What the scripts of a line are given: ids, names and titles, checked, and not too many; pure."""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha1, sha256
from typing import Final, TypeVar

from shared.domain.errors import Defect, Rejected
from workers.deliveries.values import DeliveryCommit

_MOST: Final = 60_000
"""Bytes of what one script is given to work on; a host takes no longer command than `LONGEST`."""

_OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SESSION = re.compile(r"[A-Za-z0-9](?!.*\.\.)(?!.*@\{)(?!.*\.lock$)[A-Za-z0-9_.@#-]*(?<!\.)")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LONGEST_TITLE: Final = 200
_SHA1: Final = 40
_T = TypeVar("_T")


def require_oids(*oids: str) -> None:
    """Nothing else may get to git as the name of an object, least of all an option.

    Raises Rejected.
    """
    for oid in oids:
        if _OID.fullmatch(oid) is None:
            raise _invalid("git object id", oid)


def require_session(name: str) -> None:
    """Raise Rejected for what cannot be the name of a session's ref."""
    if _SESSION.fullmatch(name) is None:
        raise _invalid("name of a session", name)


def _invalid(kind: str, found: str) -> Rejected:
    return Rejected(f"{found!r} is not a valid {kind}", stage="accept")


def delivery_words(delivery: DeliveryCommit) -> tuple[str, ...]:
    """A delivery as the script takes it, its digest first."""
    require_oids(delivery.base, delivery.tree)
    if _DIGEST.fullmatch(delivery.delivery) is None:
        raise _invalid("SHA-256", delivery.delivery)
    if delivery.at.tzinfo is None:
        raise Defect("the date of a delivery has no time zone", stage="accept")
    seconds = str(int(delivery.at.timestamp()))
    return (delivery.delivery, delivery.base, delivery.tree, seconds, _title(delivery.title))


def _title(text: str) -> str:
    """A text as the first line of a commit."""
    printable = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(printable.split())[:_LONGEST_TITLE] or "Deliver"


def blob_oid(content: bytes, alike: str) -> str:
    """The id that git gives to a blob, of the same length as that one."""
    whole = b"blob %d\0" % len(content) + content
    found = sha1(whole, usedforsecurity=False) if len(alike) == _SHA1 else sha256(whole)
    return found.hexdigest()


def length(words: Iterable[str]) -> int:
    """The bytes of words on a command line."""
    return len(shlex.join(words).encode())


def at_once(items: Sequence[_T], size: Callable[[_T], int]) -> Iterator[Sequence[_T]]:
    """The items in their order, as many at once as one script can be given."""
    begin = total = 0
    for end, each in enumerate(items):
        total += size(each) + 1
        if total > _MOST and end > begin:
            yield items[begin:end]
            begin, total = end, size(each) + 1
    if items:
        yield items[begin:]
