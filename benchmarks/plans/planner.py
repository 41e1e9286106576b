"""The scripted planner: it knows what is wrong only where it has seen it.

It revises as a planner would that reads what it is sent: once the output that tells the cause is in
the question, it gives the revision that mends it. Until then it looks; where it may not, it revises
the step to one that prints what it wants to see before the same commands, and is asked again when
they have failed. So what evidence or a look is worth shows in calls, attempts and tokens.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks.plans.hints import hints_in, is_named, renamed
from benchmarks.plans.scenario import Scenario
from shared.domain.config import Policy
from shared.domain.plan import Subtask
from tests.fakes.model_server import Asked, Says

NOTHING_KNOWN: Final = "What was seen does not tell the cause."

_INDENT = re.compile(r"\n[ \t]+")


@dataclass(kw_only=True)
class ScriptedPlanner:
    """Answers for one scenario on one host.

    `looks` counts what it asked to see, `hints` how often it answered with one of the memory.
    """

    looks: int = 0
    hints: int = 0

    def answer(self, asked: Asked) -> Says:
        """The next turn."""
        return Says(self.decide(asked))

    def decide(self, asked: Asked) -> dict[str, Any]:
        """What the turn says."""
        raise NotImplementedError


@dataclass(kw_only=True)
class Planner(ScriptedPlanner):
    """Mends what it has seen the cause of."""

    scenario: Scenario
    policy: Policy
    _looked: bool = False

    def decide(self, asked: Asked) -> dict[str, Any]:
        """The revision, or else what has to be seen first."""
        if self.scenario.is_told_by(said(asked)):
            return revision(self.scenario.revised(self.policy), self.scenario.diagnosis)
        if self._looked:
            return impossible(NOTHING_KNOWN)
        self._looked = True
        if may_look(asked):
            self.looks += len(self.scenario.looks)
            return looking(self.scenario.looks)
        first = self.scenario.planned("human", self.policy).steps[0].subtasks
        return revision(printing_first(self.scenario.looks, first), "The cause has to be seen.")


@dataclass(kw_only=True)
class Reader(ScriptedPlanner):
    """Knows no fix of its own: it answers with what the memory tells it, or not at all.

    It takes the first fix for a failure like this one, or for the same step but for names. It puts
    what the hint says in the place of what it names there, and keeps the check of its own step.
    `names` are those of the first host and of this one: what the hint names and neither it nor the
    step tells is put in only once the evidence or a look has shown it, as a planner would read it
    there.
    """

    step: Sequence[Subtask]
    to_see: Sequence[str] = ()
    names: Mapping[str, str] = field(default_factory=dict)

    def decide(self, asked: Asked) -> dict[str, Any]:
        """The hint with the names of this step."""
        told = said(asked)
        fitting = (each for each in hints_in(told) if each.fits(self.step))
        hint = min(fitting, key=lambda each: not each.is_alike, default=None)
        if hint is None or self.hints:
            return impossible(NOTHING_KNOWN)
        subtasks = hint.adapted(self.step)
        open_ = [name for name in self.names if is_named(name, subtasks)]
        if open_ and may_look(asked) and not self.looks:
            self.looks = len(self.to_see)
            return looking(self.to_see)
        self.hints += 1
        seen = {name: self.names[name] for name in open_ if self.names[name] in told}
        why = "A fix that has helped before, under the names of this step."
        return revision(renamed(subtasks, seen), why)


class Refuser(ScriptedPlanner):
    """Says that only a person can decide."""

    def decide(self, asked: Asked) -> dict[str, Any]:  # noqa: ARG002
        """Nothing that could be carried out."""
        return impossible("It is not what was meant; a person has to decide.")


def said(asked: Asked) -> str:
    """All that the planner is told, without the indentation of what programs have printed."""
    return _INDENT.sub("\n", "\n".join(asked.said))


def may_look(asked: Asked) -> bool:
    """Whether the form of the answer has a place for looks."""
    return "looks" in asked.schema.get("properties", {})


def looking(commands: Sequence[str]) -> dict[str, Any]:
    """An answer that wants to see something first."""
    looks = [{"command": each, "why": "what the cause is", "host": ""} for each in commands]
    return _filled({"looks": looks})


def revision(subtasks: Sequence[Subtask], diagnosis: str) -> dict[str, Any]:
    """An answer that revises the step."""
    return _filled({"diagnosis": diagnosis, "subtasks": [_as_answered(each) for each in subtasks]})


def impossible(why: str) -> dict[str, Any]:
    """An answer that leaves it to a person."""
    return _filled({"diagnosis": why, "impossible": why})


def printing_first(looks: Sequence[str], subtasks: Sequence[Subtask]) -> tuple[Subtask, ...]:
    """A step that prints what is to be seen, whatever comes of it, and then does the same."""
    printed = [
        Subtask(
            ordinal=number,
            key=f"look-{number}",
            title=f"Look {number}",
            command=f"({look}) || true",
        )
        for number, look in enumerate(looks, 1)
    ]
    return (*printed, *subtasks)


def _filled(values: Mapping[str, Any]) -> dict[str, Any]:
    """A whole answer; what is not given is empty."""
    return {"diagnosis": "", "subtasks": [], "rollback": [], "impossible": "", **values}


def _as_answered(subtask: Subtask) -> dict[str, Any]:
    return {
        "id": subtask.key if not subtask.key.isdigit() else f"s{subtask.key}",
        "title": subtask.title,
        "command": subtask.command,
        "check": subtask.check or "",
        "timeout_seconds": int(subtask.timeout),
        "preconditions": list(subtask.preconditions),
        "needs": [key if not key.isdigit() else f"s{key}" for key in subtask.needs],
        "critical": subtask.critical,
        "rollback": subtask.rollback or "",
        "idempotent": subtask.idempotent,
    }
