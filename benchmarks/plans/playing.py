"""Plays scenarios: each round on a host of its own that was broken anew."""

import subprocess
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from benchmarks.plans.places import PATIENCE, BrokenScenarioError, Places
from benchmarks.plans.ring import Ended, Ring, has_memory, policy
from benchmarks.plans.scenario import Scenario
from benchmarks.plans.takings import Result, Round, Taking
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

        A scenario that rules solve has a control; one that they do not is the planner's, and what
        the planner solved is broken again on another host, to see what was learnt. Nothing is
        learnt in the rounds before.
        """
        hosted = {n: s for n, s in scenarios.items() if self.places.can_host(s)}
        with ThreadPoolExecutor(self.lanes) as pool:
            return list(pool.map(lambda pair: self._all_rounds(*pair), hosted.items()))

    def _all_rounds(self, name: str, scenario: Scenario) -> Result:
        takings: dict[Round, Taking] = {}
        fault = ""
        try:
            for round_ in Round:
                if _takes_part(round_, takings):
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
        learns = round_ in (Round.PLANNER, Round.MEMORY)
        under = policy(corrections=round_ is not Round.NOTHING, memory=learns)
        planner = "anthropic" if learns else "human"
        with self.places.broken(scenario) as place:
            host = place.described()
            self.ring.enrol(host)
            if round_ is Round.PLANNER:
                self.ring.will_answer(scenario.answer(under), host.name)
            task, ended = self.ring.carry_out(scenario.planned(planner, under), host.name, under)
            green = place.run(scenario.check, timeout=PATIENCE).returncode == 0
            calls, tokens = self.ring.spent(task, host.name)
        return Taking(
            solved=ended.phase == "done" and green,
            attempts=ended.attempts,
            seconds=round(ended.seconds, 2),
            corrections=ended.corrections,
            calls=calls,
            tokens=tokens,
            asks_first=ended.asks_first,
            reason=_reason(ended, green),
        )


def _takes_part(round_: Round, before: Mapping[Round, Taking]) -> bool:
    """Whether a scenario is played in that round after what it has shown in the ones before."""
    match round_:
        case Round.NOTHING | Round.CORRECTIONS:
            return True
        case Round.PLANNER:
            return not before[Round.CORRECTIONS].solved
        case Round.MEMORY:
            planned = before.get(Round.PLANNER)
            return has_memory() and planned is not None and planned.solved


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
