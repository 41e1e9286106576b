"""Which runner comes next (S4.46–S4.54, X11)."""

import pytest

from shared.domain.agent import AgentWork, RunnerChoice, StuckStrategy, Trigger, Watchdog
from workers.agents.fallback import (
    MOST_RESTARTS,
    Enter,
    Exhausted,
    Following,
    RunnerEnd,
    RunnerRun,
    Succeeded,
    TimeoutPropagates,
    following,
)

FAILURE, TIMEOUT = RunnerEnd.FAILURE, RunnerEnd.TIMEOUT
SUCCESS, STUCK = RunnerEnd.SUCCESS, RunnerEnd.STUCK

# As S4.50 has it: the first with a timeout of 45 minutes, the second with a trigger.
SEED = (
    RunnerChoice("codex", 2, trigger=Trigger.ON_TIMEOUT),
    RunnerChoice("claude-code", 1, timeout=45 * 60),
)
THREE = (
    RunnerChoice("claude-code", 1),
    RunnerChoice("codex", 2, trigger=Trigger.ON_TIMEOUT),
    RunnerChoice("aider", 3, trigger=Trigger.ON_FAILURE),
)
PLAIN = (RunnerChoice("claude-code", 1), RunnerChoice("codex", 2))


def next_of(
    runners: tuple[RunnerChoice, ...],
    *ends: tuple[int, RunnerEnd],
    strategy: StuckStrategy = StuckStrategy.NOTIFY,
) -> Following:
    """What follows these ends of the runners at these places."""
    work = AgentWork(runners=runners, watchdog=Watchdog(strategy=strategy))
    return following(work.chain, work, [RunnerRun(place, ended) for place, ended in ends])


def entered(found: Following) -> str | None:
    """The name of the runner that is entered."""
    return found.choice.runner if isinstance(found, Enter) else None


def test_s4_51_the_one_with_the_lowest_priority_is_first() -> None:
    first = next_of(SEED)
    assert isinstance(first, Enter)
    assert (first.choice.runner, first.timeout) == ("claude-code", 45 * 60)


def test_s4_52_after_a_success_none_is_entered() -> None:
    assert next_of(SEED, (0, SUCCESS)) == Succeeded()


def test_s4_53_x11_a_trigger_belongs_to_the_runner_that_is_entered() -> None:
    """The seed's own code reads that of the one that timed out: codex would never run."""
    second = next_of(SEED, (0, TIMEOUT))
    assert isinstance(second, Enter)
    assert (second.choice.runner, second.timeout) == ("codex", 60 * 60)


@pytest.mark.parametrize(
    ("runners", "ends", "comes"),
    [
        (THREE, [(0, TIMEOUT)], "codex"),
        (THREE, [(0, FAILURE)], "aider"),
        (THREE, [(0, TIMEOUT), (1, FAILURE)], "aider"),
        # One that was passed over may still come.
        (THREE, [(0, FAILURE), (2, TIMEOUT)], "codex"),
        # Without a trigger: in the order of priorities, after either.
        (PLAIN, [(0, FAILURE)], "codex"),
        (PLAIN, [(0, TIMEOUT)], "codex"),
    ],
)
def test_s4_53_what_is_entered(
    runners: tuple[RunnerChoice, ...], ends: list[tuple[int, RunnerEnd]], comes: str
) -> None:
    assert entered(next_of(runners, *ends)) == comes


@pytest.mark.parametrize(
    ("runners", "ends"),
    [
        (THREE, [(0, TIMEOUT), (1, TIMEOUT)]),  # aider waits for a failure
        ((RunnerChoice("claude-code", 1),), [(0, TIMEOUT)]),
    ],
)
def test_s4_53_else_the_timeout_propagates(
    runners: tuple[RunnerChoice, ...], ends: list[tuple[int, RunnerEnd]]
) -> None:
    assert next_of(runners, *ends) == TimeoutPropagates()


@pytest.mark.parametrize(
    ("runners", "ends"),
    [
        (PLAIN, [(0, FAILURE), (1, FAILURE)]),
        (PLAIN, [(0, FAILURE), (1, TIMEOUT)]),
        (SEED, [(0, FAILURE)]),  # codex waits for a timeout
        ((), []),
    ],
)
def test_s4_54_when_all_are_exhausted_all_runners_failed(
    runners: tuple[RunnerChoice, ...], ends: list[tuple[int, RunnerEnd]]
) -> None:
    found = next_of(runners, *ends)
    assert isinstance(found, Exhausted)
    assert found.reason == "All runners failed"


@pytest.mark.parametrize("runners", [SEED, PLAIN, THREE])
def test_s4_35_s4_46_one_that_is_stuck_hands_over_to_the_next(
    runners: tuple[RunnerChoice, ...],
) -> None:
    found = next_of(runners, (0, STUCK), strategy=StuckStrategy.NEXT_RUNNER)
    assert entered(found) == "codex"


def test_s4_34_one_that_is_stuck_is_tried_again_but_not_for_ever() -> None:
    ends = [(0, STUCK)] * MOST_RESTARTS
    strategy = StuckStrategy.KILL_AND_RETRY
    assert entered(next_of(PLAIN, *ends, strategy=strategy)) == "claude-code"
    assert entered(next_of(PLAIN, *ends, (0, STUCK), strategy=strategy)) == "codex"
    assert isinstance(next_of(PLAIN[:1], *ends, (0, STUCK), strategy=strategy), Exhausted)


def test_whatever_happens_the_chain_ends() -> None:
    """No strategy and no series of ends goes on for ever."""
    for strategy in StuckStrategy:
        for ended in (FAILURE, TIMEOUT, STUCK):
            ends: list[tuple[int, RunnerEnd]] = []
            while isinstance(found := next_of(THREE, *ends, strategy=strategy), Enter):
                ends.append((found.place, ended))
                assert len(ends) <= len(THREE) * (MOST_RESTARTS + 1)
