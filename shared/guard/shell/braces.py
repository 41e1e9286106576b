"""Brace expansion, as bash does it before anything else: `{a,b}`, `{1..3}`."""

import re
from dataclasses import replace
from itertools import pairwise

from shared.guard.shell.tree import OPAQUE, Literal, Parameter, Part, WordNode

MOST_WORDS = 512
_MOST_BRACES = 100
_SEQUENCE = re.compile(r"(-?\d+|[a-zA-Z])\.\.(-?\d+|[a-zA-Z])(?:\.\.(-?\d+))?")


class TooManyWords(ValueError):
    """The braces expand to too many words."""


_Unit = str | Part
"""One unquoted character, or a part in which braces have no meaning."""


def expand_braces(word: WordNode) -> list[WordNode]:
    """The words that a word expands to; raises TooManyWords."""
    units = _units(word)
    if "{" not in units:
        return [word]
    if units.count("{") > _MOST_BRACES:
        raise TooManyWords(f"one of its words has more than {_MOST_BRACES} braces")
    return [_word(expanded) for expanded in _expand(units)]


def _units(word: WordNode) -> list[_Unit]:
    units: list[_Unit] = []
    for part in word.parts:
        if isinstance(part, Literal) and not part.quoted:
            units += part.text
        else:
            units.append(part)
    return units


def _word(units: list[_Unit]) -> WordNode:
    parts: list[Part] = []
    text = ""
    for unit in units:
        if isinstance(unit, str):
            text += unit
            continue
        if text:
            parts.append(Literal(text, quoted=False))
            text = ""
        parts.append(unit)
    if text:
        parts.append(Literal(text, quoted=False))
    return WordNode(tuple(map(_lengthen, parts, [*parts[1:], None])))


def _lengthen(part: Part, following: Part | None) -> Part:
    """`{$a,b}c` is `$ac`: text that now follows a bare name has become part of it."""
    if not isinstance(part, Parameter) or not part.bare or not isinstance(following, Literal):
        return part
    joins = not following.quoted and re.match(r"\w", following.text)
    return replace(part, operator=OPAQUE) if joins else part


def _expand(units: list[_Unit]) -> list[list[_Unit]]:
    for start, unit in enumerate(units):
        if unit != "{":
            continue
        alternatives, end = _alternatives(units, start)
        if alternatives is None:
            continue
        middles = [expanded for middle in alternatives for expanded in _expand(middle)]
        tails = _expand(units[end:])
        if len(middles) * len(tails) > MOST_WORDS:
            raise TooManyWords("its braces expand to too many words")
        before = units[:start]
        return [[*before, *middle, *tail] for middle in middles for tail in tails]
    return [units]


def _alternatives(units: list[_Unit], start: int) -> tuple[list[list[_Unit]] | None, int]:
    """The text between the brace at `start` and its partner, and the position after it."""
    depth = 0
    commas = []
    for index in range(start, len(units)):
        unit = units[index]
        if unit == "{":
            depth += 1
        elif unit == "," and depth == 1:
            commas.append(index)
        elif unit == "}":
            depth -= 1
            if depth == 0:
                return _between(units, start, index, commas), index + 1
    return None, start


def _between(
    units: list[_Unit], start: int, end: int, commas: list[int]
) -> list[list[_Unit]] | None:
    if commas:
        edges = [start, *commas, end]
        return [units[a + 1 : b] for a, b in pairwise(edges)]
    inside = units[start + 1 : end]
    if not all(isinstance(unit, str) for unit in inside):
        return None
    return _sequence("".join(map(str, inside)))


def _sequence(text: str) -> list[list[_Unit]] | None:
    found = _SEQUENCE.fullmatch(text)
    if found is None:
        return None
    first, last, step = found.groups()
    if first.isalpha() != last.isalpha():
        return None
    stride = abs(int(step or 1)) or 1
    low, high = (ord(first), ord(last)) if first.isalpha() else (int(first), int(last))
    if abs(high - low) // stride >= MOST_WORDS:
        raise TooManyWords("its braces expand to too many words")
    numbers = range(low, high + 1, stride) if low <= high else range(low, high - 1, -stride)
    if first.isalpha():
        # a letter joins a bare name before it; of the signs between Z and a, none has a meaning
        letters = map(chr, numbers)
        return [[c if c.isalpha() or c == "_" else Literal(c, quoted=True)] for c in letters]
    padded = any(re.match(r"-?0\d", edge) for edge in (first, last))
    width = max(len(first), len(last)) if padded else 0
    return [list(f"{number:0{width}d}") for number in numbers]
