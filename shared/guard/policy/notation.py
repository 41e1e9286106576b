"""The notation of a policy for the options and operands that a program may get."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal as Choice

Count = Choice["1", "?", "*", "+"]
_OPTION = re.compile(r"([-+!(),][^\s=]*)(?:(=\??)(\S*))?")
_COUNTED = re.compile(r"(.+?)([?*+]?)", re.DOTALL)
_QUOTED = r"'(?:[^']|'')*'"
_SLOT = re.compile(rf"(?:{_QUOTED}|\S)+")
_LITERALS = re.compile(rf"{_QUOTED}(?:\|{_QUOTED})*")
NUMBER = "-#"
"""Represents `-5` and every other number after a dash."""


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """One allowed option: `value` is the kind of its value, "" if it takes none.

    `attached`: its value, if any, is part of the same word.
    """

    value: str = ""
    attached: bool = False


Options = Mapping[str, OptionSpec] | None
"""By name, with dashes. None allows every option."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for operands of one kind: one, `?` at most one, `*` any number, `+` at least one."""

    kind: str
    count: Count = "1"


@cache
def options(text: str) -> Options:
    """The options of `-a -n= --color=? -o=write -#`, or None for `any`.

    `=` means that a value is required, any text unless a kind follows; `=?` that one may be
    attached. Raises ValueError, saying what is wrong.
    """
    if text.strip() == "any":
        return None
    found: dict[str, OptionSpec] = {}
    for word in text.split():
        match = _OPTION.fullmatch(word)
        if match is None:
            raise ValueError(f"{word!r} is not an option: write -x, --long, -x= or -x=KIND")
        name, equals, kind = match.groups()
        if name in found:
            raise ValueError(f"the option {name} stands twice")
        found[name] = OptionSpec((kind or "any") if equals else "", attached=equals == "=?")
    return found


def slots(text: str) -> tuple[Slot, ...]:
    """The slots of `read* write`; raises ValueError, saying what is wrong."""
    found = []
    for word in _SLOT.findall(text):
        match = _COUNTED.fullmatch(word)
        if match is None:
            raise ValueError(f"{word!r} is not a kind of operand")
        count: Count = match[2] or "1"  # type: ignore[assignment]
        found.append(Slot(match[1], count))
    if sum(slot.count in ("*", "+") for slot in found) > 1:
        raise ValueError("only one kind of operand may be repeated")
    return tuple(found)


def quote(text: str) -> str:
    """The kind that holds exactly this word: `'a b'`; a quote in it stands twice."""
    return "'" + text.replace("'", "''") + "'"


def quoted_words(kind: str) -> frozenset[str] | None:
    """The words that a kind such as `'a b'|'c'` holds; None when it is not written so."""
    if _LITERALS.fullmatch(kind) is None:
        return None
    return frozenset(each[1:-1].replace("''", "'") for each in re.findall(_QUOTED, kind))
