"""Applying the rules: only lines that hold a trigger are looked at, each until nothing is left."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind

from shared.secrets.marks import MARK, mask_for
from shared.secrets.rule import Rule
from shared.secrets.rules import RULES
from shared.secrets.spans import Span, joined, replaced


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Something at `start` is worth a look by these rules, or (none) by whoever asked for it."""

    start: int
    rules: tuple[Rule, ...]


class Structure:
    """Finds what may hold a secret in one scan, and hides what the rules find in a line."""

    def __init__(self, rules: Sequence[Rule] = RULES, *, also: Iterable[bytes] = ()) -> None:
        """`also` are further triggers, in lower case, that no rule is asked for."""
        asked: dict[bytes, tuple[Rule, ...]] = dict.fromkeys(also, ())
        for rule in rules:
            for trigger in rule.triggers:
                asked[trigger] = (*asked.get(trigger, ()), rule)
        self._rules = list(asked.values())
        self._triggers = BytesAhoCorasick(
            list(asked), matchkind=MatchKind.Standard, implementation=Implementation.DFA
        )

    def suspicions(self, text: bytes) -> list[Suspicion]:
        """Where triggers stand, in order."""
        found = self._triggers.find_matches_as_indexes(text.lower(), overlapping=True)
        return sorted(
            (Suspicion(start, self._rules[number]) for number, start, _ in found),
            key=lambda suspicion: suspicion.start,
        )

    def masked(self, line: bytes, rules: Iterable[Rule]) -> bytes:
        """The line with what the rules find replaced, until they find nothing more."""
        asked = tuple(dict.fromkeys(rules))
        while spans := joined(self.found(line, asked)):
            line = replaced(line, spans)
        return line

    def found(self, line: bytes, rules: Iterable[Rule]) -> Iterator[Span]:
        """What each rule finds that is not hidden yet; a mask is hidden whole or not at all."""
        marks = [found.span() for found in MARK.finditer(line)]
        # The words of a mask are nobody's: `secret:` in one is not followed by a value.
        blind = MARK.sub(lambda mark: b"\xff" * len(mark[0]), line) if marks else line
        for rule in dict.fromkeys(rules):
            mask = mask_for(rule.kind).encode()
            for match in rule.pattern.finditer(blind):
                start, end = _around(marks, *match.span("value"))
                if not _hidden(marks, start, end) and rule.holds(match):
                    yield Span(match.start(), start, end, mask)


def _around(marks: list[tuple[int, int]], start: int, end: int) -> tuple[int, int]:
    for first, last in marks:
        if first < start < last:
            start = first
        if first < end < last:
            end = last
    return start, end


def _hidden(marks: list[tuple[int, int]], start: int, end: int) -> bool:
    """True when nothing but masks, and quotes and blanks between them, stands there."""
    covered = sum(last - first for first, last in marks if start <= first and last <= end)
    return covered >= end - start
