"""Reads the hints of the memory as a planner gets them, and adapts them word for word."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from posixpath import basename, dirname
from typing import Any, Final

from shared.domain.plan import Subtask

LIKE_THIS: Final = (
    "a step failed in the same way",
    "the cause was the same",
    "the same message came from another command",
)
"""How like this failure another one must have been, if it was not the same step but for names."""

Said = tuple[str, str]
"""A command with its check, which may be empty."""

_HINTS = re.compile(r"<(fixes-\w+)>\n(?P<listed>.*?)\n</\1>", re.DOTALL)
_WORDS = re.compile(r"[\w./-]+")


@dataclass(frozen=True, slots=True)
class Hint:
    """What a hint says: `new` helped in the place of `old`, and `names` says what is what here.

    Where the memory has adapted the fix itself, `step` is this whole step with it.
    """

    new: tuple[Said, ...] = ()
    old: tuple[Said, ...] = ()
    names: Mapping[str, str] | None = None
    step: tuple[Said, ...] = ()
    is_alike: bool = True

    def fits(self, step: Sequence[Subtask]) -> bool:
        """Whether it is for a failure like this one, or for the same step but for names."""
        if self.is_alike or self.step:
            return True
        start, end = self._place(step)
        here = _said(step[start:end])
        return len(here) == len(self.old) and all(
            _WORDS.split(one) == _WORDS.split(other)
            for (one, _), (other, _) in zip(self.old, here, strict=True)
        )

    def adapted(self, step: Sequence[Subtask]) -> tuple[Subtask, ...]:
        """The step with what helped in the place of what was replaced there.

        Each word that stands in the step where another stood there takes its place, too; the last
        check is the step's own.
        """
        if self.step:
            return tuple(_subtask(*each) for each in enumerate(self.step, 1))
        start, end = self._place(step)
        names = {**aligned(self.old, _said(step[start:end])), **(self.names or {})}
        put = [(_here(command, names), _here(check, names)) for command, check in self.new]
        put[-1] = (put[-1][0], step[end - 1].check or "")
        new = (*_said(step[:start]), *put, *_said(step[end:]))
        return tuple(_subtask(*each) for each in enumerate(new, 1))

    def _place(self, step: Sequence[Subtask]) -> tuple[int, int]:
        """Where the replaced commands stand in the step: where most words are the same."""
        there = [set(_WORDS.findall(command)) for command, _ in self.old]
        here = [set(_WORDS.findall(each.command)) for each in step]
        width = min(len(there), len(here))

        def same(start: int) -> int:
            window = here[start : start + width]
            return sum(len(one & other) for one, other in zip(there, window, strict=False))

        start = max(range(len(here) - width + 1), key=same)
        return start, start + width


def hints_in(told: str) -> Iterator[Hint]:
    """The hints that a planner is told, in their order."""
    marked = _HINTS.search(told)
    for line in [] if marked is None else marked["listed"].splitlines():
        said: dict[str, Any] = json.loads(line.removeprefix("- "))
        yield Hint(
            new=_listed(said.get("helped_there", ())),
            old=_listed(said.get("replaced_there", ())),
            names=said["names"],
            step=_listed(said.get("this_step_with_it", ())),
            is_alike=said["where"].startswith(LIKE_THIS),
        )


def aligned(there: Sequence[Said], here: Sequence[Said]) -> dict[str, str]:
    """Which word here stands where another one stood there; paths with their folders and files."""
    names: dict[str, str] = {}
    for old, new in zip_longest(there, here, fillvalue=("", "")):
        for one, other in zip(old, new, strict=True):
            words, others = _WORDS.findall(one), _WORDS.findall(other)
            if len(words) == len(others) and _WORDS.split(one) == _WORDS.split(other):
                for word, instead in zip(words, others, strict=True):
                    names.setdefault(word, instead)
    parts = {
        part(word): part(instead)
        for word, instead in names.items()
        for part in (dirname, basename)
        if "/" in word and "/" in instead and part(word) != part(instead)
    }
    return {old: new for old, new in {**parts, **names}.items() if old and old != new}


def is_named(name: str, subtasks: Sequence[Subtask]) -> bool:
    """Whether one of their texts has that name as a whole word or path."""
    return any(_whole(text, {name: ""}) != text for pair in _said(subtasks) for text in pair)


def renamed(subtasks: Sequence[Subtask], names: Mapping[str, str]) -> tuple[Subtask, ...]:
    """The subtasks with other names, but for the last check, which is the step's own."""
    put = [(_whole(command, names), _whole(check, names)) for command, check in _said(subtasks)]
    put[-1] = (put[-1][0], subtasks[-1].check or "")
    return tuple(_subtask(*each) for each in enumerate(put, 1))


def _here(text: str, names: Mapping[str, str], before: str = r"[\w-]") -> str:
    if not names:
        return text
    longest = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.sub(rf"(?<!{before})(?:{longest})(?![\w-])", lambda found: names[found[0]], text)


def _whole(text: str, names: Mapping[str, str]) -> str:
    """No part of a path that goes on before it is taken for a name."""
    return _here(text, names, r"[\w/.-]")


def _listed(subtasks: Sequence[Mapping[str, str]]) -> tuple[Said, ...]:
    return tuple((each["command"], each.get("check", "")) for each in subtasks)


def _said(subtasks: Sequence[Subtask]) -> tuple[Said, ...]:
    return tuple((each.command, each.check or "") for each in subtasks)


def _subtask(number: int, said: Said) -> Subtask:
    command, check = said
    return Subtask(
        ordinal=number,
        key=f"fix-{number}",
        title=f"Fix {number}",
        command=command,
        check=check or None,
    )
