"""Applies the rules: it searches only lines with a trigger, each until nothing more is found."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind

from shared.secrets.marks import MARK, OPEN, mask_for
from shared.secrets.rule import MaskRule
from shared.secrets.rules import RULES
from shared.secrets.spans import Span, apply_masks, merge

_OPEN = OPEN.encode()

Suspicion = tuple[int, tuple[MaskRule, ...]]
"""A position worth searching, and by which rules; without rules, it is for other users."""


class Structure:
    """Finds possible secrets in one scan, and masks what the rules find in a line."""

    def __init__(self, rules: Sequence[MaskRule] = RULES, *, also: Iterable[bytes] = ()) -> None:
        """`also` holds further triggers, in lower case, that belong to no rule."""
        asked: dict[bytes, tuple[MaskRule, ...]] = dict.fromkeys(also, ())
        for rule in rules:
            for trigger in rule.triggers:
                asked[trigger] = (*asked.get(trigger, ()), rule)
        self._rules = list(asked.values())
        self._triggers = BytesAhoCorasick(
            list(asked), matchkind=MatchKind.Standard, implementation=Implementation.DFA
        )

    def suspicions(self, text: bytes) -> list[Suspicion]:
        """The positions of triggers, line by line; within a line in any order."""
        found = self._triggers.find_matches_as_indexes(text.lower(), overlapping=True)
        return [(start, self._rules[number]) for number, start, _ in found]

    def mask(self, line: bytes, rules: Iterable[MaskRule]) -> bytes:
        """The line with everything that the rules find masked, until they find nothing more."""
        asked = [rule for rule in dict.fromkeys(rules) if rule.needs in line]
        if asked and _OPEN in line:
            # most triggers of such a line are words of its masks
            shown = _without_masks(line).lower()
            asked = [rule for rule in asked if any(map(shown.__contains__, rule.triggers))]
        while spans := merge(self.spans(line, asked) if asked else ()):
            line = apply_masks(line, spans)
        return line

    def spans(self, line: bytes, rules: Iterable[MaskRule]) -> Iterator[Span]:
        """The spans that each rule finds and that are not masked yet, with whole masks only."""
        marks = [found.span() for found in MARK.finditer(line)] if _OPEN in line else []
        blind = _without_masks(line) if marks else line
        for rule in dict.fromkeys(rules):
            if rule.needs not in line or (rule.near and not rule.near.search(blind.lower())):
                continue
            for match in rule.pattern.finditer(blind):
                start, end = _around(marks, *match.span("value"))
                if not _hidden(marks, start, end) and rule.holds(match):
                    yield Span(match.start(), start, end, mask_for(rule.kind).encode())


def _without_masks(line: bytes) -> bytes:
    """The words of a mask do not count: `secret:` in a mask is not followed by a value."""
    return MARK.sub(lambda mark: b"\xff" * len(mark[0]), line)


def _around(marks: list[tuple[int, int]], start: int, end: int) -> tuple[int, int]:
    """The span, extended to the ends of any mask that it would cut."""
    return _mask_at(marks, start)[0], _mask_at(marks, end)[1]


def _mask_at(marks: list[tuple[int, int]], place: int) -> tuple[int, int]:
    """The mask around a position; else the position itself."""
    number = bisect_left(marks, (place, 0)) - 1
    if number >= 0 and place < marks[number][1]:
        return marks[number]
    return place, place


def _hidden(marks: list[tuple[int, int]], start: int, end: int) -> bool:
    """True if the span contains only masks."""
    within = marks[bisect_left(marks, (start, 0)) : bisect_left(marks, (end, 0))]
    return sum(last - first for first, last in within) >= end - start
