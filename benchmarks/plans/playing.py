"""Plays scenarios: each round on a host of its own that was broken anew."""

import subprocess
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from benchmarks.plans.places import BrokenScenarioError, Places
from benchmarks.plans.planner import Planner, Reader, Refuser, ScriptedPlanner
from benchmarks.plans.proof import canary_lives, is_green, tempt
from benchmarks.plans.ring import Ended, Ring, policy
from benchmarks.plans.scenario import Scenario
from benchmarks.plans.takings import Recall, Result, Round, Taking
from shared.domain.config import Policy
from shared.domain.errors import ReplanError
from tests.services.availability import UnavailableError

Say = Callable[[str], None]


@dataclass
class Players:
    """Plays the rounds of many scenarios, some at a time."""

    ring: Ring
    places: Places
    lanes: int = 2
    say: Say = lambda _: None

    def play(self, scenarios: Mapping[str, Scenario]) -> list[Result]:
        """All rounds of all scenarios that there are hosts for.

        Each is played with rules alone, then with planners, and what a planner that looks has
        solved is broken again on other hosts, to see what was learnt. Nothing is learnt before.
        """
        hosted = {n: s for n, s in scenarios.items() if self.places.can_host(s)}
        with ThreadPoolExecutor(self.lanes) as pool:
            return list(pool.map(lambda pair: self._all_rounds(*pair), hosted.items()))

    def _all_rounds(self, name: str, scenario: Scenario) -> Result:
        takings: dict[Round, Taking] = {}
        fault = ""
        try:
            for round_ in Round:
                if not round_.from_memory or takings[Round.LOOKING].solved:
                    takings[round_] = self.round(scenario, round_)
        except (BrokenScenarioError, UnavailableError, ReplanError) as error:
            fault = str(error)
        except subprocess.TimeoutExpired as error:
            fault = f"a script of it had no end after {error.timeout:g} s"
        result = Result(
            name, scenario.title, scenario.host, scenario.classic, scenario.way, takings, fault
        )
        self.say(_told(result))
        return result

    def round(self, scenario: Scenario, round_: Round) -> Taking:
        """One round; raises BrokenScenarioError where the host is not as the scenario says."""
        met = scenario.met_as(round_.variant)
        under = _policy(scenario, round_)
        planner = "human" if round_ in {Round.NOTHING, Round.CORRECTIONS} else "anthropic"
        with self.places.broken(met) as place:
            host = place.described()
            self.ring.enrol(host)
            names = scenario.pairs if round_ is Round.OTHER_NAMES else {}
            mind = _planner(met, round_, under, names)
            self.ring.will_answer(mind.answer, host.name)
            task, ended = self.ring.carry_out(met.planned(planner, under), host.name, under)
            green = is_green(met, place)
            calls, tokens = self.ring.spent(task, host.name)
            harm, temptation = False, ""
            if round_ is Round.OTHER_CAUSE:
                harm = not canary_lives(met, place)
                temptation = "" if harm else tempt(met, place)
            acted = round_.has_memory and self.ring.acted_from_memory(task)
        return Taking(
            solved=ended.phase == "done" and green,
            attempts=ended.attempts,
            seconds=round(ended.seconds, 2),
            corrections=ended.corrections,
            calls=calls,
            tokens=tokens,
            looks=mind.looks,
            asks_first=ended.asks_first,
            recall=_recall(mind, acted=acted),
            harm=harm,
            temptation=temptation,
            reason=_reason(ended, green),
        )


def _recall(mind: ScriptedPlanner, *, acted: bool) -> Recall:
    if acted:
        return Recall.ITSELF
    if not mind.hints:
        return Recall.NONE
    return Recall.SEEN if mind.looks else Recall.HINT


def _policy(scenario: Scenario, round_: Round) -> Policy:
    """Rules that solve it by themselves would leave nothing to a planner and the memory."""
    alone = round_ is Round.CORRECTIONS
    return policy(
        corrections=alone or (round_ is not Round.NOTHING and scenario.way != "corrections"),
        memory=round_.has_memory,
        looks=round_ is not Round.BLIND,
    )


def _planner(
    scenario: Scenario, round_: Round, under: Policy, names: Mapping[str, str]
) -> ScriptedPlanner:
    """Who answers in that round, where no real model does."""
    if round_ is Round.OTHER_CAUSE:
        return Refuser()
    if round_.from_memory:
        step = scenario.planned("anthropic", under).steps[0].subtasks
        return Reader(step=step, to_see=scenario.looks, names=names)
    return Planner(scenario=scenario, policy=under)


def _reason(ended: Ended, green: bool) -> str:
    if ended.phase == "done":
        return "" if green else "the task is done, but the scenario's own check is red"
    return f"{ended.phase}: {ended.reason}" if ended.reason else ended.phase


def _told(result: Result) -> str:
    rounds = ", ".join(
        f"{round_} {'solved' if taking.solved else 'not'} ({taking.seconds:.1f} s)"
        for round_, taking in result.takings.items()
    )
    mark = "as expected" if result.as_expected else f"NOT as expected ({result.way})"
    return f"{result.name}: {rounds}{'; ' + result.fault if result.fault else ''} – {mark}"
