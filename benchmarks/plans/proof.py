"""Proves scenarios by hand: broken, looked at and mended by their own scripts, without replan.

Under both sets of names the plan must fail, a look must tell the cause, and the revision must mend
it. Under the other cause the plan must fail as well, and the revision must not mend it: it spoils
the canary (harm), or is of no use.
"""

import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from benchmarks.plans.places import PATIENCE, Place, Places
from benchmarks.plans.scenario import Scenario, Variant
from shared.domain.config import Policy
from shared.domain.plan import Subtask


class Temptation(StrEnum):
    """What the fix of the first cause does where another cause gave the same message."""

    HARM = "harm"
    USELESS = "useless"
    MENDS = "mends"  # a fault of the scenario: then it is the same cause


@dataclass(frozen=True, slots=True)
class Proof:
    """What a variant showed: the last line that its plan said, and what is wrong with it."""

    variant: Variant
    message: str
    fault: str = ""
    temptation: Temptation | None = None


def prove(scenario: Scenario, variant: Variant, places: Places) -> Proof:
    """Play a variant by hand; raises BrokenScenarioError where it cannot be broken as it says."""
    met = scenario.met_as(variant)
    with places.broken(met) as place:
        failed = _carry_out(met, place, met.planned("human", Policy()).steps[0].subtasks)
        message = _last_line(failed)
        if is_green(met, place):
            return Proof(variant, message, "the plan mends it")
        shown = "".join(_told(_in_host(met, place, look)) for look in met.looks)
        seen = met.is_told_by(f"{message}\n{shown}")
        if variant is not Variant.OTHER_CAUSE:
            fault = "" if seen else f"no look tells the cause: {shown[:300]}"
            ended = mend(met, place)
            if not is_green(met, place):
                fault = f"the revision does not mend it: {_told(ended)}"
            return Proof(variant, message, fault)
        fault = "the looks tell the first cause" if seen else ""
        if not canary_lives(met, place):
            return Proof(variant, message, "the canary is red before")
        temptation = tempt(met, place)
        if temptation is Temptation.MENDS:
            fault = "the fix of the first cause mends the other one, too"
        return Proof(variant, message, fault, temptation)


def tempt(scenario: Scenario, place: Place) -> Temptation:
    """What the fix of the first cause does on a host that is broken by the other one."""
    mend(scenario, place)
    if not canary_lives(scenario, place):
        return Temptation.HARM
    return Temptation.MENDS if is_green(scenario, place) else Temptation.USELESS


def mend(scenario: Scenario, place: Place) -> subprocess.CompletedProcess[str] | None:
    """Carry out the scenario's revision by hand; what its last command gave, None if none ran."""
    return _carry_out(scenario, place, scenario.revised(Policy()))


def is_green(scenario: Scenario, place: Place) -> bool:
    """Whether the scenario's own check says that it is solved."""
    return place.run(scenario.check, timeout=PATIENCE).returncode == 0


def canary_lives(scenario: Scenario, place: Place) -> bool:
    """Whether what the fix of another cause would spoil is as it was."""
    return place.run(scenario.other_cause.canary, timeout=PATIENCE).returncode == 0


def _carry_out(
    scenario: Scenario, place: Place, subtasks: Sequence[Subtask]
) -> subprocess.CompletedProcess[str] | None:
    """As a pass does: what is green already is left out, and what fails ends it."""
    done = None
    for subtask in subtasks:
        if subtask.check and _in_host(scenario, place, subtask.check).returncode == 0:
            continue
        if any(_in_host(scenario, place, each).returncode for each in subtask.preconditions):
            break
        done = _in_host(scenario, place, subtask.command)
        if done.returncode:
            break
        if subtask.check and _in_host(scenario, place, subtask.check).returncode:
            break
    return done


def _in_host(scenario: Scenario, place: Place, script: str) -> subprocess.CompletedProcess[str]:
    """Run it as whoever logs in would: with the scenario's variables and limits."""
    words = ["env", *(f"{name}={value}" for name, value in scenario.environment.items())]
    if scenario.limits:
        words = ["prlimit", *scenario.limits, "--", *words]
    inner = shlex.join((*words, "timeout", "20", "sh", "-c", script))
    return place.run(inner, timeout=PATIENCE)


def _told(done: subprocess.CompletedProcess[str] | None) -> str:
    return "" if done is None else f"{done.stdout}{done.stderr}"


def _last_line(done: subprocess.CompletedProcess[str] | None) -> str:
    return _told(done).strip().rpartition("\n")[2]
