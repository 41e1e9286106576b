"""Reads the hints of the memory as a planner gets them, and adapts them word for word."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from shared.domain.plan import Subtask

LIKE_THIS: Final = (
    "a step failed in the same way",
    "the cause was the same",
    "the same message came from another command",
)
"""How like this failure another one must have been."""

_HINTS = re.compile(r"<(fixes-\w+)>\n(?P<listed>.*?)\n</\1>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Hint:
    """What a hint says: commands with their checks, what they replaced, what stands for what.

    With `whole`, the commands are those of the whole step, under its own names.
    """

    new: tuple[tuple[str, str], ...]
    old: tuple[str, ...]
    mapping: Mapping[str, str]
    whole: bool = False

    def adapted(self, step: Sequence[Subtask]) -> tuple[Subtask, ...]:
        """The step with the commands of the hint in the place of those that it replaces."""
        if self.whole:
            return tuple(
                Subtask(number, f"fix-{number}", f"Fix {number}", command, check or None)
                for number, (command, check) in enumerate(self.new, 1)
            )
        places = [number for number, each in enumerate(step) if each.command in self.old]
        start, end = (places[0], places[-1] + 1) if places else (0, len(step))
        put = [
            Subtask(
                ordinal=number,
                key=f"fix-{number}",
                title=f"Fix {number}",
                command=self.here(command),
                check=self.here(check) or None,
            )
            for number, (command, check) in enumerate(self.new, 1)
        ]
        put[-1] = replace(put[-1], check=step[end - 1].check)
        return (*step[:start], *put, *step[end:])

    def here(self, text: str) -> str:
        """A text with the names of this step."""
        if not self.mapping:
            return text
        longest = sorted(self.mapping, key=len, reverse=True)
        names = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest))})(?![\w-])")
        return names.sub(lambda found: self.mapping[found[0]], text)


def hints_in(told: str) -> Iterator[Hint]:
    """The hints of fixes for failures like this one, in their order."""
    marked = _HINTS.search(told)
    for line in [] if marked is None else marked["listed"].splitlines():
        said = json.loads(line.removeprefix("- "))
        if said["where"].startswith(LIKE_THIS):
            whole = said.get("this_step_with_it")
            new = tuple((s["command"], s.get("check", "")) for s in whole or said["helped_there"])
            old = tuple(s["command"] for s in said.get("replaced_there", ()))
            yield Hint(new, old, {} if whole else said["names"], whole=whole is not None)
