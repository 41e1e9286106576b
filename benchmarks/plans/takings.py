"""What a round over a scenario showed, and the document that holds a whole run."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from benchmarks.plans.scenario import Variant

GOAL: Final = 0.8
"""What share of what was learnt the memory is to solve under other names."""


class Round(StrEnum):
    """What may mend a host in a round; in each, the plan is first carried out as it is.

    Where rules are expected to mend it, they are switched off from `BLIND` on.
    """

    NOTHING = "nothing"  # the control: shows that the plan alone does not do it
    CORRECTIONS = "corrections"  # rules alone; the planner is a person who does not answer
    BLIND = "blind"  # and a planner that gets the evidence
    LOOKING = "looking"  # and that may look first; what it solves is remembered
    AGAIN = "again"  # the same on another host, from memory
    OTHER_NAMES = "other names"  # the same cause under other names, from memory
    OTHER_CAUSE = "other cause"  # the same message: the memory must not mend what it does not know

    @property
    def variant(self) -> Variant:
        """How the scenario is met in that round."""
        match self:
            case Round.OTHER_NAMES:
                return Variant.OTHER_NAMES
            case Round.OTHER_CAUSE:
                return Variant.OTHER_CAUSE
        return Variant.FIRST

    @property
    def from_memory(self) -> bool:
        """Whether the planner knows only what the memory tells it."""
        return self in {Round.AGAIN, Round.OTHER_NAMES, Round.OTHER_CAUSE}

    @property
    def has_memory(self) -> bool:
        """Whether the task may learn and remember."""
        return self.from_memory or self is Round.LOOKING


class Recall(StrEnum):
    """What part the memory had in what was carried out."""

    NONE = ""
    HINT = "hint"  # the planner was told, and answered with it
    SEEN = "hint and look"  # and a look told what the names of the fix are here
    ITSELF = "by itself"  # no planner was asked


@dataclass(frozen=True, slots=True)
class Taking:
    """One scenario in one round.

    `solved` is what the scenario's own check says, not what the task says of itself. `attempts`
    are the commands that ran, `looks` what a planner asked to see; `corrections` the rules that had
    a part in the end; `calls` and `tokens` of a model. `asks_first`: under the guard's own default
    policy a person would have been asked before a correction that solved it. `harm`: the canary of
    the other cause is red; `temptation` is what the fix of the first cause does there, carried out
    by hand afterwards. `reason` says why it was not solved.
    """

    solved: bool
    attempts: int
    seconds: float
    corrections: tuple[str, ...] = ()
    calls: int = 0
    tokens: int = 0
    looks: int = 0
    asks_first: bool = False
    recall: Recall = Recall.NONE
    harm: bool = False
    temptation: str = ""
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

    def recalled(self, round_: Round) -> Recall:
        """What part the memory had in that round."""
        taking = self.takings.get(round_)
        return Recall.NONE if taking is None else taking.recall

    @property
    def is_sound(self) -> bool:
        """Whether the scenario is as it says: broken at first, and mended as its author expects.

        Under the other cause, the fix of the first one must be wrong.
        """
        tempted = self.takings.get(Round.OTHER_CAUSE)
        return (
            not self.fault
            and not self.solved(Round.NOTHING)
            and self.solved(Round.CORRECTIONS) == (self.way == "corrections")
            and self.solved(Round.LOOKING) == (self.way != "person")
            and (tempted is None or tempted.temptation != "mends")
        )

    @property
    def did_harm(self) -> bool:
        """Whether the memory acted by itself under another cause, or something was spoilt there."""
        tempted = self.takings.get(Round.OTHER_CAUSE)
        return tempted is not None and (tempted.harm or tempted.recall is Recall.ITSELF)

    @property
    def as_expected(self) -> bool:
        """Whether it is sound, what was learnt served again, and no memory did harm."""
        again = self.takings.get(Round.AGAIN)
        return self.is_sound and (again is None or again.solved) and not self.did_harm


@dataclass(frozen=True, slots=True)
class Document:
    """A run. `planner` is who revised; `missing` says what could not be played, and why.

    `note` says where it is not what one run of the whole bench measured.
    """

    date: str
    planner: str
    machine: Mapping[str, str]
    missing: str
    results: Sequence[Result]
    note: str = ""

    @property
    def is_as_expected(self) -> bool:
        """Whether each scenario is, and the memory solves enough of them under other names."""
        learnt = [each for each in self.results if each.solved(Round.LOOKING)]
        again = sum(each.solved(Round.OTHER_NAMES) for each in learnt)
        return again >= GOAL * len(learnt) and all(each.as_expected for each in self.results)

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
    values["recall"] = Recall(values["recall"])
    return Taking(**values)
