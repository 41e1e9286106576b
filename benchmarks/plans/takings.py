"""What a round over a scenario showed, and the document that holds a whole run."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any


class Round(StrEnum):
    """What may mend a host in a round; in each, the plan is first carried out as it is."""

    NOTHING = "nothing"  # the control: shows that the plan alone does not do it
    CORRECTIONS = "corrections"  # rules alone; the planner is a person who does not answer
    PLANNER = "planner"  # and a planner that gets the evidence
    MEMORY = "memory"  # the same on another host: what was learnt, and a planner that may be asked


@dataclass(frozen=True, slots=True)
class Taking:
    """One scenario in one round.

    `solved` is what the scenario's own check says, not what the task says of itself. `attempts`
    are the commands that ran; `corrections` the rules that had a part in the end; `calls` and
    `tokens` of a model. `asks_first`: under the guard's own default policy a person would have been
    asked before a correction that solved it. `reason` says why it was not solved.
    """

    solved: bool
    attempts: int
    seconds: float
    corrections: tuple[str, ...] = ()
    calls: int = 0
    tokens: int = 0
    asks_first: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """A scenario with the rounds that it took part in."""

    name: str
    title: str
    host: str
    classic: bool
    way: str
    takings: Mapping[Round, Taking]
    fault: str = ""

    def solved(self, round_: Round) -> bool:
        """Whether it took part in that round and was solved."""
        taking = self.takings.get(round_)
        return taking is not None and taking.solved

    @property
    def as_expected(self) -> bool:
        """Whether it was solved by whom its author expected, and what was learnt then served."""
        way = "person"
        if self.solved(Round.CORRECTIONS):
            way = "corrections"
        elif self.solved(Round.PLANNER):
            way = "planner"
        again = self.takings.get(Round.MEMORY)
        remembered = again is None or (again.solved and not again.calls)
        sound = not self.solved(Round.NOTHING) and not self.fault
        return way == self.way and sound and remembered


@dataclass(frozen=True, slots=True)
class Document:
    """A run. `planner` is who revised; `missing` says what could not be played, and why."""

    date: str
    planner: str
    memory: bool
    machine: Mapping[str, str]
    missing: str
    results: Sequence[Result]

    def write(self, path: Path) -> None:
        """Keep it."""
        path.write_text(f"{json.dumps(asdict(self), indent=1)}\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> "Document":
        """What `write` kept."""
        values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        values["results"] = [_result(each) for each in values["results"]]
        return cls(**values)


def _result(values: dict[str, Any]) -> Result:
    takings = values.pop("takings")
    return Result(**values, takings={Round(name): _taking(each) for name, each in takings.items()})


def _taking(values: dict[str, Any]) -> Taking:
    values["corrections"] = tuple(values["corrections"])
    return Taking(**values)
