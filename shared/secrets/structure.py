"""Applying the rules: only lines that hold a trigger are looked at, each until nothing is left."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind

from shared.secrets.marks import MARK, mask_for
from shared.secrets.rule import MaskRule
from shared.secrets.rules import RULES
from shared.secrets.spans import Span, apply_masks, merge

Suspicion = tuple[int, tuple[MaskRule, ...]]
"""Where something stands that is worth a look, and by which rules; without any: for others."""


class Structure:
    """Finds what may hold a secret in one scan, and hides what the rules find in a line."""

    def __init__(self, rules: Sequence[MaskRule] = RULES, *, also: Iterable[bytes] = ()) -> None:
        """`also` are further triggers, in lower case, that no rule is asked for."""
        asked: dict[bytes, tuple[MaskRule, ...]] = dict.fromkeys(also, ())
        for rule in rules:
            for trigger in rule.triggers:
                asked[trigger] = (*asked.get(trigger, ()), rule)
        self._rules = list(asked.values())
        self._triggers = BytesAhoCorasick(
            list(asked), matchkind=MatchKind.Standard, implementation=Implementation.DFA
        )

    def suspicions(self, text: bytes) -> list[Suspicion]:
        """Where triggers stand, line by line; within a line in any order."""
        found = self._triggers.find_matches_as_indexes(text.lower(), overlapping=True)
        return [(start, self._rules[number]) for number, start, _ in found]

    def mask(self, line: bytes, rules: Iterable[MaskRule]) -> bytes:
        """The line with what the rules find replaced, until they find nothing more."""
        asked = tuple(dict.fromkeys(rules))
        while spans := merge(self.spans(line, asked)):
            line = apply_masks(line, spans)
        return line

    def spans(self, line: bytes, rules: Iterable[MaskRule]) -> Iterator[Span]:
        """What each rule finds that is not hidden yet; a mask is hidden whole or not at all."""
        marks = [found.span() for found in MARK.finditer(line)]
        # The words of a mask are nobody's: `secret:` in one is not followed by a value.
        blind = MARK.sub(lambda mark: b"\xff" * len(mark[0]), line) if marks else line
        for rule in dict.fromkeys(rules):
            if rule.needs not in line:
                continue
            mask = mask_for(rule.kind).encode()
            for match in rule.pattern.finditer(blind):
                start, end = _around(marks, *match.span("value"))
                if not _hidden(marks, start, end) and rule.holds(match):
                    yield Span(match.start(), start, end, mask)


def _around(marks: list[tuple[int, int]], start: int, end: int) -> tuple[int, int]:
    """The stretch, made longer by what it cuts off of a mask."""
    return _mask_at(marks, start)[0], _mask_at(marks, end)[1]


def _mask_at(marks: list[tuple[int, int]], place: int) -> tuple[int, int]:
    """The mask that a place is inside of; else the place itself."""
    number = bisect_left(marks, (place, 0)) - 1
    if number >= 0 and place < marks[number][1]:
        return marks[number]
    return place, place


def _hidden(marks: list[tuple[int, int]], start: int, end: int) -> bool:
    """True when nothing but masks stands there."""
    within = marks[bisect_left(marks, (start, 0)) : bisect_left(marks, (end, 0))]
    return sum(last - first for first, last in within) >= end - start
