"""What a driver does about an agent, also about one that another has started; the clock is ours."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from shared.domain.agent import StuckStrategy, Watchdog
from shared.domain.attempt_notes import AgentState, FoundStuck, Loop
from workers.agents.events import AgentEvent, Said, SessionStarted, ToolCalled, ToolReturned
from workers.agents.watchdog import Signs
from workers.agents.watcher import MOST_NOTES, TakenOver, Watcher

KILLS = Watchdog(strategy=StuckStrategy.KILL_AND_RETRY)
NOTIFIES = Watchdog(strategy=StuckStrategy.NOTIFY)
STARTED, CALLED = SessionStarted("s"), ToolCalled("c1", "Bash", '{"command":"make"}')
FIRST = Signs(stream=10, tree="t1", head="h1", cpu=1.0, io=100)
LONG = 2 * 60 * 60.0
TOOL_LIMIT = 600.0
TOLD = FoundStuck(AgentState.MODEL, 301, 300, StuckStrategy.NOTIFY, stream=10, tree="t1")


def actions(first: int) -> list[AgentEvent]:
    """The same action four times, with the same result."""
    found: list[AgentEvent] = []
    for number in range(first, first + 4):
        found.append(ToolCalled(f"c{number}", "Bash", '{"command":"ls"}'))
        found.append(ToolReturned(f"c{number}", failed=False, result_digest="r"))
    return found


@dataclass
class Watched:
    """A watcher, its clock, and what it has told."""

    watchdog: Watchdog = KILLS
    taken_over: TakenOver | None = None
    events: Sequence[AgentEvent] = (STARTED, CALLED)
    at: float = 0.0
    told: list[FoundStuck] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.watcher = Watcher(
            self.watchdog, lambda: self.at, taken_over=self.taken_over, tell=self.told.append
        )
        self.watcher.hear(self.events)

    def see(self, signs: Signs = FIRST, quiet: float | None = None, after: float = 30.0) -> bool:
        """Look so many seconds later; whether anything is done."""
        self.at += after
        return self.watcher.see(signs, quiet) is not None

    def see_until_found(self, signs: Signs = FIRST, most: int = 100) -> float:
        """Look again and again; when it was found stuck."""
        for _ in range(most):
            if self.see(signs):
                return self.at
        raise AssertionError("it was not found")


@pytest.mark.parametrize("now", [replace(FIRST, cpu=15.0), replace(FIRST, tree="t2")])
def test_a_takeover_leaves_an_agent_alone_that_works_without_a_word(now: Signs) -> None:
    """Its build has said nothing for two hours, and burns time all the while."""
    watched = Watched(taken_over=TakenOver("t0"))
    assert not watched.see(quiet=LONG)
    assert not watched.see(now)
    assert watched.see_until_found(now) > 60 + TOOL_LIMIT


def test_an_agent_that_hung_while_nobody_watched_has_half_of_its_limit_left() -> None:
    """Nobody can tell whether the machine stood still with it."""
    watched = Watched(taken_over=TakenOver("t0"))
    watched.see(quiet=LONG)
    found = watched.see_until_found()
    assert TOOL_LIMIT / 2 < found <= 30 + TOOL_LIMIT / 2 + 30
    assert watched.watcher.is_over
    assert watched.watcher.found is not None
    assert watched.watcher.found.flat > TOOL_LIMIT


def test_whoever_has_started_it_counts_from_its_start() -> None:
    watched = Watched(events=[STARTED])
    assert watched.see_until_found() == 330


@pytest.mark.parametrize("hours", [1, 100])
def test_a_machine_that_stood_still_was_no_progress_and_no_lack_of_it(hours: int) -> None:
    """At the look after it, hardly more time has passed than at the one before."""
    watched = Watched(events=[STARTED])
    watched.see(after=250)
    assert not watched.see(after=hours * 3600.0)
    assert watched.see_until_found() >= hours * 3600 + 250


@pytest.mark.parametrize(
    ("tree", "told", "found"),
    [
        ("t1", (), True),  # no file has changed since it began: the row is one
        ("t0", (), False),  # files have changed, nobody knows between which actions
        ("t1", (replace(TOLD, loop=Loop.SAME_RESULT),), False),  # people know of it
    ],
)
def test_what_an_agent_did_before_a_takeover_is_a_loop_only_if_that_is_certain(
    tree: str, told: tuple[FoundStuck, ...], *, found: bool
) -> None:
    """And then it is found at the first look; in the end it is, unless people know of it."""
    watched = Watched(NOTIFIES, TakenOver(tree, told), [STARTED, *actions(0)])
    assert watched.see() is found
    assert not watched.see()
    watched.watcher.hear(actions(4))
    assert watched.see() is not (found or bool(told))


def test_people_are_told_of_a_loop_once_until_its_files_are_new() -> None:
    """However long the agent goes round, and whatever it goes back to."""
    watched = Watched(NOTIFIES, events=[STARTED])

    def go_round(tree: str, turn: int) -> bool:
        watched.watcher.hear(actions(4 * turn))
        return watched.see(replace(FIRST, tree=tree, stream=100 + turn))

    trees = ["t1"] * 60 + ["t2", "t1"] * 3
    assert [turn for turn, tree in enumerate(trees) if go_round(tree, turn)] == [0, 61]


def test_an_action_that_fails_again_is_one_loop() -> None:
    """Three times it fails, then it has four times the same result."""
    failing = [replace(each, failed=True) for each in actions(0) if isinstance(each, ToolReturned)]
    calls = [each for each in actions(0) if isinstance(each, ToolCalled)]
    watched = Watched(NOTIFIES, events=[STARTED])
    for _ in range(9):
        watched.watcher.hear([calls[0], failing[0]])
        watched.see()
    assert [each.loop for each in watched.told] == [Loop.SAME_ERROR]


def test_people_are_told_of_another_loop() -> None:
    watched = Watched(NOTIFIES, events=[STARTED, *actions(0)])
    assert watched.see()
    watched.watcher.hear([Said("I am done.")] * 3)
    assert watched.see()
    assert [each.loop for each in watched.told] == [Loop.SAME_RESULT, Loop.MONOLOGUE]


@pytest.mark.parametrize("before", [0, 5])
def test_people_are_told_about_one_attempt_only_so_often(before: int) -> None:
    """Also by the next driver of it."""
    known = TakenOver("t0", (TOLD,) * before) if before else None
    watched = Watched(NOTIFIES, known, [STARTED])
    for stream in range(2 * MOST_NOTES):
        watched.see(replace(FIRST, stream=100 + stream))
        for _ in range(12):
            watched.see(replace(FIRST, stream=100 + stream))
    assert len(watched.told) == MOST_NOTES - before
    assert not watched.watcher.is_over


@pytest.mark.parametrize(("signs", "again"), [(FIRST, False), (replace(FIRST, stream=11), True)])
def test_people_are_told_once_whoever_watches(signs: Signs, *, again: bool) -> None:
    """Unless there was progress in between."""
    watched = Watched(NOTIFIES, TakenOver("t0", (TOLD,)), [STARTED])
    watched.see(signs, quiet=LONG)
    for _ in range(20):
        watched.see(signs)
    assert bool(watched.told) is again
    assert watched.watcher.times == 1 + again


def test_what_another_driver_wanted_to_end_is_ended() -> None:
    """It was killed after it had told people, and before it had ended the agent."""
    decided = replace(TOLD, strategy=StuckStrategy.NEXT_RUNNER)
    watched = Watched(taken_over=TakenOver("t0", (decided,)))
    assert watched.watcher.is_over
    assert not watched.see()
    assert watched.told == []


def test_people_are_told_before_an_agent_is_ended() -> None:
    over: list[bool] = []
    watcher = Watcher(KILLS, iter(range(0, 3000, 30)).__next__, tell=lambda _: over.append(told()))

    def told() -> bool:
        return watcher.is_over

    watcher.hear([STARTED])
    while not watcher.is_over:
        watcher.see(FIRST)
    assert over == [False]
