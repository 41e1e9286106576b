"""A fix: what put a failed step right, and how to apply it again.

A fix is a patch of a step: the subtasks that failed, and those that stood in their place when the
step's checks were green. The subtasks before and after them are not part of the fix, so applying it
to another step loses nothing there. Where the words of the other step differ, the fix is applied
only if each word can be substituted exactly; it never guesses.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from shared.domain.errors import Rejected
from shared.domain.pieces import Varies, exchange, pieces, rest, texts
from shared.domain.plan import Subtask, check_subtasks


@dataclass(frozen=True, slots=True)
class FailurePattern:
    """What a failed step shows, in a form that is the same wherever it fails in that way.

    `signature` is a digest of `told`, the normal form of the failure; `family` is the kind of host.
    `failed` holds the numbers of the failed subtasks and `hosts` the names of the host; neither is
    part of the signature.
    """

    signature: str
    family: str
    told: tuple[str, ...]
    failed: tuple[int, ...]
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fix:
    """Subtasks that failed, and those that stood in their place when the step was done.

    `hosts` holds the names of the host on which it was learnt.
    """

    replaced: tuple[Subtask, ...]
    replacement: tuple[Subtask, ...]
    hosts: tuple[str, ...] = ()


LEAST_USES = 4
"""After this many uses, a fix must have worked at least every second time."""

MOST_FAILURES = 2
"""A fix that has not worked in this many first uses is retired."""

MOST_TEXT = 20_000
"""Steps with more command text than this (whole programs, say) are not learnt from."""

MOST_DIFFERENCES = 20
"""If more pieces differ, it is a different step."""

_NET = re.compile(r"[A-Za-z][\w+.-]*://|\bppa:|\w@[\w.-]+:")
_PARTS = re.compile(r"[^\W\d_]+|\d+")
_LETTERS = re.compile(r"[^\W\d_]+")
_LONG = re.compile(r"[^\W\d_]{3,}")


def wears_out(worked: int, failed: int) -> bool:
    """Whether to retire a fix: it never works, or less than every second time."""
    if worked == 0:
        return failed >= MOST_FAILURES
    return worked + failed >= LEAST_USES and worked < failed


def learnt(
    before: Sequence[Subtask], after: Sequence[Subtask], failure: FailurePattern
) -> Fix | None:
    """The difference between a revision that failed and one that was done; None if there is none.

    Equal subtasks at the beginning and at the end are left out, unless they failed.
    """
    if sum(len(text) for subtask in (*before, *after) for text in _texts(subtask)) > MOST_TEXT:
        return None
    failed = set(failure.failed)
    start = _common(before, after, failed)
    back, forth = before[start:][::-1], after[start:][::-1]
    end = _common(back, forth, failed)
    replaced = tuple(before[start : len(before) - end])
    replacement = tuple(after[start : len(after) - end])
    if not replaced or not replacement:
        return None
    return Fix(replaced, replacement, failure.hosts)


def apply(
    fix: Fix, subtasks: Sequence[Subtask], failure: FailurePattern
) -> tuple[Subtask, ...] | None:
    """A step's subtasks with the fix applied; None if it does not fit exactly.

    It fits if the subtasks that it replaces follow one another, word for word except for the pieces
    that may vary, and include everything that failed.
    """
    width = len(fix.replaced)
    for start in range(len(subtasks) - width + 1):
        window = tuple(subtasks[start : start + width])
        if not set(failure.failed) <= {subtask.ordinal for subtask in window}:
            continue
        new = _in_place(fix, window, failure)
        if new is None:
            continue
        return _join(subtasks[:start], window, new, subtasks[start + width :])
    return None


def _common(one: Sequence[Subtask], other: Sequence[Subtask], failed: set[int]) -> int:
    """How many subtasks from the beginning are equal and have not failed."""
    same = 0
    for left, right in zip(one, other, strict=False):
        if left.ordinal in failed or essence(left) != essence(right):
            break
        same += 1
    return same


def essence(subtask: Subtask) -> tuple[object, ...]:
    """What identifies a subtask: everything except its number, name and title."""
    return (
        subtask.kind,
        subtask.critical,
        subtask.command,
        subtask.check,
        subtask.preconditions,
        subtask.rollback,
    )


def _in_place(
    fix: Fix, window: tuple[Subtask, ...], failure: FailurePattern
) -> tuple[Subtask, ...] | None:
    """The replacement for those subtasks; None if they are different ones."""
    pairs = _pairs(fix.replaced, window)
    if pairs is None:
        return None
    other = {old: new for old, new in pairs.items() if old != new}
    if len(other) > MOST_DIFFERENCES:
        return None
    said = [text for subtask in fix.replacement for text in _texts(subtask)]
    if not all(_exact(old, new, said, set(pairs)) for old, new in other.items()):
        return None
    if _names_host(said, fix, failure, pairs) or (_of_names(other, fix) and _brings(said)):
        return None
    return tuple(_exchange(subtask, other) for subtask in fix.replacement)


def _pairs(replaced: Sequence[Subtask], window: Sequence[Subtask]) -> dict[str, str] | None:
    """Which new piece replaces which old one; None if too much differs."""
    found: list[tuple[str, str, bool]] = []
    for old, new in zip(replaced, window, strict=True):
        if (old.kind, old.critical) != (new.kind, new.critical):
            return None
        before, after = _texts(old), _texts(new)
        if _form(old) != _form(new):
            return None
        for one, other in zip(before, after, strict=True):
            compared = _compare(one, other)
            if compared is None:
                return None
            found += compared
    return _one_to_one(found)


def _compare(one: str, other: str) -> list[tuple[str, str, bool]] | None:
    """The pieces of two texts side by side, and whether each may vary by itself."""
    left, right = pieces(one), pieces(other)
    if len(left) != len(right) or rest(one) != rest(other):
        return None
    if any(a.before != b.before for a, b in zip(left, right, strict=True)):
        return None
    return [
        (a.text, b.text, a.varies is not None and a.varies is b.varies)
        for a, b in zip(left, right, strict=True)
    ]


def _one_to_one(found: Iterable[tuple[str, str, bool]]) -> dict[str, str] | None:
    listed = list(found)
    pairs: dict[str, str] = {}
    for old, new, _ in listed:
        if pairs.setdefault(old, new) != new:
            return None
    free = {(old, new) for old, new, varies in listed if varies}
    if any(old != new and (old, new) not in free for old, new in pairs.items()):
        return None
    return pairs if len(set(pairs.values())) == len(pairs) else None


def _exact(old: str, new: str, said: Sequence[str], known: set[str]) -> bool:
    """Whether it is enough to put the new piece wherever the old one stands.

    The old piece must occur, and no part in which the two differ may occur anywhere else, because
    its meaning there is unclear. For `known` pieces the step itself says what they are here.
    """
    if new.startswith("-"):
        return False
    others = {piece for text in said for piece in texts(text)} - known
    telling = _parts(old) - _parts(new)
    if any(_within(old, piece) or _tells(telling, piece) for piece in others):
        return False
    return any(old in texts(text) for text in said)


def _within(old: str, piece: str) -> bool:
    """Whether one is part of the other; single letters do not count, most words contain them."""
    return len(old) > 1 and old in piece


def _tells(telling: set[str], piece: str) -> bool:
    """Whether a piece contains one of these words or numbers, longer words anywhere in it."""
    parts, whole = _parts(piece), piece.casefold()
    return any(part in parts or (_LONG.fullmatch(part) and part in whole) for part in telling)


def _parts(piece: str) -> set[str]:
    """The words and the numbers in a piece."""
    return set(_PARTS.findall(piece.casefold()))


def _names_host(
    said: Sequence[str], fix: Fix, failure: FailurePattern, pairs: dict[str, str]
) -> bool:
    """Whether it names the host where it was learnt, and nothing says what it would be here."""
    strange = {host for host in fix.hosts if host not in failure.hosts and host not in pairs}
    return any(
        host in {piece, *piece.split(".")}
        for text in said
        for piece in texts(text)
        if piece not in pairs
        for host in strange
    )


def _of_names(other: dict[str, str], fix: Fix) -> bool:
    """Whether it would be applied to another package or unit than it was learnt with.

    Another version of the same package does not count as another one.
    """
    return any(
        piece.varies is Varies.NAME and _LETTERS.findall(piece.text) != _LETTERS.findall(new)
        for subtask in fix.replaced
        for text in _texts(subtask)
        for piece in pieces(text)
        if (new := other.get(piece.text)) is not None
    )


def _brings(said: Sequence[str]) -> bool:
    """Whether it downloads something that belongs to what it was learnt with."""
    return any(_NET.search(text) for text in said)


def _exchange(subtask: Subtask, other: dict[str, str]) -> Subtask:
    return replace(
        subtask,
        title=exchange(subtask.title, other),
        command=exchange(subtask.command, other),
        check=None if subtask.check is None else exchange(subtask.check, other),
        preconditions=tuple(exchange(text, other) for text in subtask.preconditions),
        rollback=None if subtask.rollback is None else exchange(subtask.rollback, other),
    )


def _texts(subtask: Subtask) -> tuple[str, ...]:
    """Every text that a host would run."""
    listed = (subtask.command, subtask.check, subtask.rollback, *subtask.preconditions)
    return tuple(text for text in listed if text is not None)


def _form(subtask: Subtask) -> tuple[bool, bool, int]:
    return subtask.check is None, subtask.rollback is None, len(subtask.preconditions)


def _join(
    head: Sequence[Subtask],
    window: Sequence[Subtask],
    new: Sequence[Subtask],
    tail: Sequence[Subtask],
) -> tuple[Subtask, ...] | None:
    """The whole step: renumbered, with unique keys and the same needs."""
    taken = {subtask.key for subtask in (*head, *tail)}
    keys = {subtask.key: _free(subtask.key, taken) for subtask in new}
    last = tuple(keys[key] for key in _ends(new))
    before = (head[-1].key,) if head else ()
    middle = [
        replace(
            subtask,
            key=keys[subtask.key],
            needs=tuple(
                dict.fromkeys(
                    key
                    for needed in subtask.needs
                    for key in ((keys[needed],) if needed in keys else before)
                )
            ),
        )
        for subtask in new
    ]
    gone = {subtask.key for subtask in window}
    behind = [
        replace(
            subtask,
            needs=tuple(
                dict.fromkeys(
                    key
                    for needed in subtask.needs
                    for key in (last if needed in gone else (needed,))
                )
            ),
        )
        for subtask in tail
    ]
    whole = tuple(
        replace(subtask, ordinal=number)
        for number, subtask in enumerate((*head, *middle, *behind), 1)
    )
    try:
        check_subtasks(whole)
    except Rejected:
        return None
    return whole


def _ends(subtasks: Sequence[Subtask]) -> list[str]:
    """The subtasks that none of the others needs."""
    needed = {key for subtask in subtasks for key in subtask.needs}
    return [subtask.key for subtask in subtasks if subtask.key not in needed]


def _free(key: str, taken: set[str]) -> str:
    """The key, or a similar one that is still free; it is taken afterwards."""
    number, free = 1, key
    while free in taken:
        number += 1
        free = f"{key}-{number}"
    taken.add(free)
    return free
