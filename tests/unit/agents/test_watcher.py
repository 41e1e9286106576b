"""What a driver does about an agent that another one has started; the clock is the test's."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from shared.domain.agent import StuckStrategy, Watchdog
from workers.agents.events import SessionStarted, ToolCalled
from workers.agents.watchdog import Signs
from workers.agents.watcher import Watcher

WATCHDOG = Watchdog(strategy=StuckStrategy.KILL_AND_RETRY)
STARTED, CALLED = SessionStarted("s"), ToolCalled("c1", "Bash", '{"command":"make"}')
FIRST = Signs(stream=10, tree="t1", head="h1", cpu=1.0, io=100)
LONG = 2 * 60 * 60.0


def clock(*times: float) -> Callable[[], float]:
    """A clock that tells one time after another."""
    coming = iter(times)
    return lambda: next(coming)


def taken_over(*times: float) -> Watcher:
    """A watcher over an agent in a long tool call, which looks at those times."""
    watcher = Watcher(WATCHDOG, clock(0, 0, *times), taken_over=True)
    watcher.hear([STARTED, CALLED])
    return watcher


@pytest.mark.parametrize("now", [replace(FIRST, cpu=15.0), replace(FIRST, tree="t2")])
def test_a_takeover_leaves_an_agent_alone_that_works_without_a_word(now: Signs) -> None:
    """Its build has said nothing for two hours, and burns time all the while."""
    watcher = taken_over(15, 30, 30 + 600)
    assert watcher.see(FIRST, LONG) is None
    assert watcher.see(now, LONG + 15) is None
    assert watcher.see(now, LONG + 615) is None
    assert (watcher.found, watcher.is_over) == (None, False)


def test_an_agent_that_hung_while_nobody_watched_is_found_by_the_second_look() -> None:
    watcher = taken_over(15, 30)
    assert watcher.see(FIRST, LONG) is None
    assert watcher.see(FIRST, LONG + 15) is StuckStrategy.KILL_AND_RETRY
    assert watcher.is_over
    assert watcher.found is not None
    assert watcher.found.flat == LONG + 15


def test_whoever_has_started_it_judges_each_look() -> None:
    watcher = Watcher(WATCHDOG, clock(0, 0, 301))
    watcher.hear([STARTED])
    assert watcher.see(FIRST, LONG) is StuckStrategy.KILL_AND_RETRY
