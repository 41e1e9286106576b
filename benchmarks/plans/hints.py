"""Reads the hints of the memory as they are worded for a planner, and adapts them word for word."""

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

_HINT = re.compile(
    r"- F\d+ put this right where (?P<like>[^.]*)\.(?P<mapping>.*?)"
    r"(?:Adapted to this step, it puts|It puts) this:(?P<new>.*?)in the place of:(?P<old>.*?)"
    r"(?=\n- F\d+ put this right|\n\S*(?:fixes|END|end)\b|\Z)",
    re.DOTALL,
)
_PAIR = re.compile(r"(\S+) there is (\S+) here\.")
_SUBTASK = re.compile(r"`([^`]*)`(?: \(check: `([^`]*)`\))?;")


@dataclass(frozen=True, slots=True)
class Hint:
    """What a hint says: commands with their checks, what they replaced, what stands for what."""

    new: tuple[tuple[str, str], ...]
    old: tuple[str, ...]
    mapping: Mapping[str, str]

    def adapted(self, step: Sequence[Subtask]) -> tuple[Subtask, ...]:
        """The step with the commands of the hint in the place of those that it replaces."""
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
    for found in _HINT.finditer(told):
        new = tuple(_SUBTASK.findall(found["new"]))
        if found["like"].startswith(LIKE_THIS) and new:
            old = tuple(command for command, _ in _SUBTASK.findall(found["old"]))
            yield Hint(new, old, dict(_PAIR.findall(found["mapping"])))
