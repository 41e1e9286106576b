"""Applies a fix to another step: which thing stands for which, and what the step becomes; pure.

Where the words of the other step differ, the fix is applied only if each word can be substituted
exactly; it never guesses. What cannot be substituted is still a hint, with what stands for what.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from shared.domain.errors import Rejected
from shared.domain.fix import FailurePattern, Fix, lost_checks, texts_of
from shared.domain.folders import ROOT, bases, is_above, own_paths, rebase
from shared.domain.pieces import Piece, Varies, exchange, pieces, rest, texts
from shared.domain.plan import Subtask, check_subtasks

MOST_DIFFERENCES = 20
"""If more pieces differ, it is a different step."""

_WORD = re.compile(r"[\w./~%+@-]+")
_NET = re.compile(r"[A-Za-z][\w+.-]*://|\bppa:|\w@[\w.-]+:")
_PARTS = re.compile(r"[^\W\d_]+|\d+")
_LETTERS = re.compile(r"[^\W\d_]+")
_LONG = re.compile(r"[^\W\d_]{3,}")


@dataclass(frozen=True, slots=True)
class Fitting:
    """A fix on another step.

    `window` are the subtasks that it replaces there, and `mapping` says which thing of the fix
    stands for which one here. `replacement` is what it puts in their place and `subtasks` the whole
    step with it; they are empty where a word of the fix cannot be substituted exactly.
    """

    window: tuple[Subtask, ...]
    mapping: tuple[tuple[str, str], ...]
    replacement: tuple[Subtask, ...] = ()
    subtasks: tuple[Subtask, ...] | None = None


def apply(
    fix: Fix, subtasks: Sequence[Subtask], failure: FailurePattern
) -> tuple[Subtask, ...] | None:
    """A step's subtasks with the fix applied; None if it does not fit exactly."""
    fitting = fit(fix, subtasks, failure)
    return None if fitting is None else fitting.subtasks


def fit(fix: Fix, subtasks: Sequence[Subtask], failure: FailurePattern) -> Fitting | None:
    """How a fix fits a step; None if it is for another one.

    It fits if the subtasks that it replaces follow one another and include everything that failed,
    word for word except for pieces that may vary and the folder that their paths have in common.
    """
    width = len(fix.replaced)
    best: Fitting | None = None
    for start in range(len(subtasks) - width + 1):
        window = tuple(subtasks[start : start + width])
        if not set(failure.failed) <= {subtask.ordinal for subtask in window}:
            continue
        found = _in_place(fix, window, failure) or _elsewhere(fix, window, failure)
        if found is None:
            continue
        best = best or found
        if not found.replacement or lost_checks(window, found.replacement):
            continue
        head, tail = subtasks[:start], subtasks[start + width :]
        whole = _join(head, window, found.replacement, tail)
        if whole is not None:
            return replace(found, subtasks=whole)
    return None if best is None else replace(best, replacement=())


def align(fix: Fix, subtasks: Sequence[Subtask]) -> tuple[tuple[str, str], ...]:
    """Which word here stands where another stood there: for hints, which may be wrong.

    Only where the texts have the same number of words with the same text between them.
    """
    width = len(fix.replaced)
    for start in range(len(subtasks) - width + 1):
        names: dict[str, str] = {}
        for old, new in zip(fix.replaced, subtasks[start : start + width], strict=True):
            one, other = (subtask.command for subtask in (old, new))
            if _WORD.split(one) != _WORD.split(other):
                break
            for word, instead in zip(_WORD.findall(one), _WORD.findall(other), strict=True):
                names.setdefault(word, instead)
        else:
            return tuple((old, new) for old, new in names.items() if old != new)
    return ()


def _in_place(fix: Fix, window: tuple[Subtask, ...], failure: FailurePattern) -> Fitting | None:
    """The fix on those subtasks; None if they are different ones."""
    pairs = _pairs(fix, window, failure)
    if pairs is None:
        return None
    said = [text for subtask in fix.replacement for text in texts_of(subtask)]
    told = {piece for s in fix.replaced for t in (*texts_of(s), *said) for piece in texts(t)}
    other = {old: new for old, new in pairs.items() if old != new and old in told}
    if len(other) > MOST_DIFFERENCES:
        return None
    found = Fitting(window, tuple(other.items()))
    if not all(_exact(old, new, said, set(pairs)) for old, new in other.items()):
        return found
    if _names_host(said, fix, failure, pairs) or (_of_names(other, fix) and _brings(said)):
        return found
    return replace(found, replacement=tuple(_exchange(s, other) for s in fix.replacement))


def _elsewhere(fix: Fix, window: tuple[Subtask, ...], failure: FailurePattern) -> Fitting | None:
    """The same with the common folder of all paths as one variable, whatever its depth."""
    one = [text for subtask in fix.replaced for text in texts_of(subtask)]
    other = [text for subtask in window for text in texts_of(subtask)]
    found = bases(one, other)
    if found is None:
        return None
    old, new = found
    rooted = replace(
        fix,
        replaced=tuple(_with_texts(s, lambda text: rebase(text, old, ROOT)) for s in fix.replaced),
        replacement=tuple(
            _with_texts(s, lambda text: rebase(text, old, ROOT)) for s in fix.replacement
        ),
    )
    here = tuple(_with_texts(s, lambda text: rebase(text, new, ROOT)) for s in window)
    fitting = _in_place(rooted, here, failure)
    if fitting is None:
        return None
    mapping = ((old, new), *fitting.mapping)
    strange = _strange_paths(rooted, new, one)
    changed = tuple(
        _with_texts(s, lambda text: rebase(text, ROOT, new)) for s in fitting.replacement
    )
    return Fitting(window, mapping, () if strange else changed)


def _strange_paths(rooted: Fix, base: str, known: Sequence[str]) -> bool:
    """Whether the fix names a path of its own that is not below the common folder."""
    said = {path for s in rooted.replacement for t in texts_of(s) for path in own_paths(t)}
    usual = {path for text in known for path in own_paths(text)}
    return any(
        not path.startswith(ROOT) and path not in usual and not is_above(path, base)
        for path in said
    )


def _pairs(fix: Fix, window: Sequence[Subtask], failure: FailurePattern) -> dict[str, str] | None:
    """Which new piece replaces which old one; None if too much differs."""
    words = set(fix.words), set(failure.words)
    found: list[tuple[str, str, bool]] = []
    for old, new in zip(fix.replaced, window, strict=True):
        if (old.kind, old.critical) != (new.kind, new.critical):
            return None
        before, after = texts_of(old), texts_of(new)
        if _form(old) != _form(new):
            return None
        for one, other in zip(before, after, strict=True):
            compared = _compare(one, other, words)
            if compared is None:
                return None
            found += compared
    if len(fix.named) == len(failure.named):
        found += [(old, new, True) for old, new in zip(fix.named, failure.named, strict=True)]
    return _one_to_one(found)


def _compare(
    one: str, other: str, words: tuple[set[str], set[str]]
) -> list[tuple[str, str, bool]] | None:
    """The pieces of two texts side by side, and whether each may vary by itself."""
    left, right = pieces(one), pieces(other)
    if len(left) != len(right) or rest(one) != rest(other):
        return None
    if any(a.before != b.before for a, b in zip(left, right, strict=True)):
        return None
    return [(a.text, b.text, _may_differ(a, b, words)) for a, b in zip(left, right, strict=True)]


def _may_differ(one: Piece, other: Piece, words: tuple[set[str], set[str]]) -> bool:
    if one.varies is None and other.varies is None:
        return one.text in words[0] and other.text in words[1]
    return one.varies is other.varies


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
        for text in texts_of(subtask)
        for piece in pieces(text)
        if (new := other.get(piece.text)) is not None
    )


def _brings(said: Sequence[str]) -> bool:
    """Whether it downloads something that belongs to what it was learnt with."""
    return any(_NET.search(text) for text in said)


def _exchange(subtask: Subtask, other: dict[str, str]) -> Subtask:
    return _with_texts(subtask, lambda text: exchange(text, other))


def _with_texts(subtask: Subtask, change: Callable[[str], str]) -> Subtask:
    return replace(
        subtask,
        title=change(subtask.title),
        command=change(subtask.command),
        check=None if subtask.check is None else change(subtask.check),
        preconditions=tuple(map(change, subtask.preconditions)),
        rollback=None if subtask.rollback is None else change(subtask.rollback),
    )


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
