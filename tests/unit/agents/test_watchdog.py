"""Whether an agent still makes progress (S4.21–S4.36, X12, X14); the clock is the test's."""

from dataclasses import replace
from typing import Any

import pytest

from shared.domain.agent import Progress, StuckStrategy, Watchdog
from shared.domain.attempt import AgentStatus
from shared.domain.attempt_notes import AgentState, Loop
from shared.wire import from_json, to_json
from workers.agents.events import (
    AgentEvent,
    EndReason,
    RetriedModel,
    RunnerEnded,
    Said,
    SessionStarted,
    ToolCalled,
    ToolReturned,
    Unreadable,
)
from workers.agents.loops import Repetition
from workers.agents.watchdog import (
    LINGER,
    Limits,
    Signs,
    Stuck,
    Watch,
    describe,
    look_every,
    response,
)

EVERY_SIGN = Watchdog()
STARTED = SessionStarted("s")
CALLED = ToolCalled("c1", "Bash", '{"command":"make test"}')
RETURNED = ToolReturned("c1", failed=False, result_digest="r1")
RETRIED = RetriedModel(1, 3, 529)
ENDED = RunnerEnded(AgentStatus.OK, "done", None, EndReason.COMPLETED)
FIRST = Signs(stream=10, tree="t1", head="h1", cpu=1.0, io=100, tokens=5, heard=9, requests=1)


def watch(*events: AgentEvent, signs: Signs = FIRST) -> Watch:
    """An attempt that began at 0 s, with these events and a first look at once."""
    return Watch.begin(0).hear(events, 0).see(signs, 0, EVERY_SIGN)


@pytest.mark.parametrize(
    ("events", "signs", "state"),
    [
        ([], Signs(), AgentState.IDLE),
        ([STARTED], Signs(), AgentState.MODEL),
        ([STARTED, CALLED], Signs(), AgentState.TOOL),
        ([STARTED, CALLED, RETURNED], Signs(), AgentState.MODEL),
        ([STARTED, CALLED, replace(CALLED, call="c2"), RETURNED], Signs(), AgentState.TOOL),
        ([STARTED, RETRIED], Signs(), AgentState.RETRYING),
        ([STARTED, RETRIED, Said("on")], Signs(), AgentState.MODEL),
        ([STARTED, RETRIED, CALLED, RETURNED], Signs(), AgentState.MODEL),
        ([STARTED, RETRIED, Unreadable(b"?")], Signs(), AgentState.RETRYING),
        ([STARTED, CALLED, ENDED], Signs(), AgentState.ENDED),
        # The gateway knows better than the stream whether the model is asked.
        ([STARTED], Signs(requests=0), AgentState.IDLE),
        ([], Signs(requests=1), AgentState.MODEL),
        ([STARTED], Signs(requests=1, provider_away=True), AgentState.RETRYING),
        ([STARTED, CALLED], Signs(requests=1), AgentState.TOOL),
        ([STARTED], Signs(requests=1, unanswered=True), AgentState.PROVIDER),
        ([STARTED], Signs(requests=0, unanswered=True), AgentState.IDLE),
    ],
)
def test_the_state_follows_from_the_stream_and_the_gateway(
    events: list[AgentEvent], signs: Signs, state: AgentState
) -> None:
    assert watch(*events, signs=signs).state is state


@pytest.mark.parametrize(
    ("events", "limit"),
    [([STARTED], 300), ([STARTED, CALLED], 600), ([STARTED, RETRIED], 900)],
)
def test_s4_29_each_state_has_its_limit(events: list[AgentEvent], limit: float) -> None:
    """S4.22: the default interval is 300 s; exactly at the limit it is not over yet."""
    seen = watch(*events)
    assert seen.stuck(limit, EVERY_SIGN) is None
    stuck = seen.stuck(limit + 1, EVERY_SIGN)
    assert stuck is not None
    assert (stuck.state, stuck.flat, stuck.limit) == (seen.state, limit + 1, limit)


@pytest.mark.parametrize(
    "slow", [Signs(requests=1, unanswered=True), Signs(requests=1, provider_away=True)]
)
def test_an_agent_is_not_stuck_while_its_provider_is_slow(slow: Signs) -> None:
    """It cannot help it; but nobody waits for ever."""
    waits = watch(STARTED, signs=slow)
    assert waits.stuck(900, EVERY_SIGN) is None
    assert waits.stuck(901, EVERY_SIGN) is not None


@pytest.mark.parametrize(
    ("changed", "events"),
    [
        ({"stream": 11}, [STARTED]),
        ({"tree": "t2"}, [STARTED]),
        ({"head": "h2"}, [STARTED]),
        ({"tokens": 6}, [STARTED]),
        ({"heard": 10}, [STARTED]),  # a long answer, of which the runner has said nothing yet
        ({"cpu": 11.0}, [STARTED, CALLED]),  # a test suite that says nothing
        ({"io": 1_000_000}, [STARTED, CALLED]),
        ({"cpu": 0.5}, [STARTED, CALLED]),  # one of its processes has ended
    ],
)
def test_s4_28_any_sign_shows_progress(changed: dict[str, Any], events: list[AgentEvent]) -> None:
    seen = watch(*events).see(replace(FIRST, **changed), 250, EVERY_SIGN)
    assert seen.moved_at == 250
    assert seen.stuck(250 + 300, EVERY_SIGN) is None


@pytest.mark.parametrize(
    ("changed", "events"),
    [
        ({}, [STARTED]),
        ({"requests": 2}, [STARTED]),
        ({"tokens": None, "heard": None}, [STARTED]),
        ({"cpu": 2.0, "io": 1000}, [STARTED, CALLED]),  # what an idle process needs
        ({"cpu": 251.0, "io": 10**9}, [STARTED]),  # it spins while it waits for the model
        ({"tree": None, "head": None}, [STARTED]),  # a look that did not find them
        ({"cpu": None, "io": None}, [STARTED, CALLED]),
    ],
)
def test_what_is_not_progress(changed: dict[str, Any], events: list[AgentEvent]) -> None:
    seen = watch(*events).see(replace(FIRST, **changed), 250, EVERY_SIGN)
    assert seen.moved_at == 0


@pytest.mark.parametrize(
    ("indicator", "changed"),
    [
        (Progress.FILES_CHANGED, {"tree": "t2"}),
        (Progress.COMMITS, {"head": "h2"}),
        (Progress.LOG_ACTIVITY, {"stream": 11}),
    ],
)
def test_s4_23_only_the_enabled_signs_count(indicator: Progress, changed: dict[str, Any]) -> None:
    now = replace(FIRST, **changed)
    alone = Watchdog(indicators=frozenset({indicator}))
    others = Watchdog(indicators=frozenset(Progress) - {indicator})
    assert watch(STARTED).see(now, 250, alone).moved_at == 250
    assert watch(STARTED).see(now, 250, others).moved_at == 0


def test_s4_30_x14_files_are_compared_with_the_last_look() -> None:
    """However long ago that was; and a tree that comes late is a beginning, not progress."""
    late = Watch.begin(0).see(Signs(), 0, EVERY_SIGN)
    for at, tree, moved_at in ((100, "t1", 0), (200, None, 0), (290, "t1", 0), (299, "t2", 299)):
        late = late.see(Signs(tree=tree), at, EVERY_SIGN)
        assert late.moved_at == moved_at


def test_s4_31_the_commit_that_was_there_is_not_progress() -> None:
    assert watch(STARTED).moved_at == 0


def test_s4_27_a_watchdog_that_is_disabled_sees_progress_for_ever() -> None:
    off = Watchdog(enabled=False)
    assert watch(STARTED).stuck(10**6, off) is None
    assert looping().stuck(10**6, off) is None


def test_a_runner_that_hangs_after_its_result_lingers_and_is_not_stuck() -> None:
    ended = watch(STARTED).hear([ENDED], 40)
    assert ended.lingers_at == 40 + LINGER
    assert ended.stuck(10**6, EVERY_SIGN) is None
    assert watch(STARTED).lingers_at is None


def looping() -> Watch:
    """An attempt whose stream grows with each look, and which repeats itself."""
    seen = watch(STARTED)
    for turn in range(4):
        call = f"c{turn}"
        seen = seen.hear([replace(CALLED, call=call), replace(RETURNED, call=call)], turn)
        seen = seen.see(replace(FIRST, stream=100 + turn, tokens=100 + turn), turn, EVERY_SIGN)
    return seen


def test_a_loop_that_moves_is_stuck_too() -> None:
    stuck = looping().stuck(4, EVERY_SIGN)
    assert stuck is not None
    assert stuck.repetition == Repetition(Loop.SAME_RESULT, 4)


def test_the_same_actions_between_new_trees_are_not_a_loop() -> None:
    """Edit, test, edit, test: the tests fail in the same way, but the files change."""
    seen = watch(STARTED)
    for turn in range(12):
        call = f"c{turn}"
        seen = seen.hear([replace(CALLED, call=call), replace(RETURNED, call=call)], turn)
        seen = seen.see(replace(FIRST, tree=f"t{turn + 2}"), turn, EVERY_SIGN)
        assert seen.stuck(turn, EVERY_SIGN) is None


def test_files_that_go_back_and_forth_are_a_loop_all_the_same() -> None:
    seen = watch(STARTED)
    for turn in range(8):
        call = f"c{turn}"
        seen = seen.hear([replace(CALLED, call=call), replace(RETURNED, call=call)], turn)
        seen = seen.see(replace(FIRST, tree=f"t{turn % 2 + 1}"), turn, EVERY_SIGN)
    assert seen.stuck(8, EVERY_SIGN) is not None


@pytest.mark.parametrize(
    "strategy", [StuckStrategy.NOTIFY, StuckStrategy.KILL_AND_RETRY, StuckStrategy.NEXT_RUNNER]
)
def test_s4_24_the_strategy_says_what_is_done(strategy: StuckStrategy) -> None:
    watchdog = Watchdog(strategy=strategy)
    seen = watch(STARTED)
    assert response(seen, seen.stuck(300, watchdog), watchdog) is None
    assert response(seen, seen.stuck(301, watchdog), watchdog) is strategy


def test_s4_33_a_person_is_told_once_until_there_is_progress() -> None:
    told = watch(STARTED).told()
    assert response(told, told.stuck(400, EVERY_SIGN), EVERY_SIGN) is None
    moved = told.see(replace(FIRST, stream=11), 500, EVERY_SIGN)
    assert response(moved, moved.stuck(900, EVERY_SIGN), EVERY_SIGN) is StuckStrategy.NOTIFY
    again = looping().told()
    assert response(again, again.stuck(5, EVERY_SIGN), EVERY_SIGN) is None


@pytest.mark.parametrize(
    ("interval", "events", "text"),
    [
        (300, [STARTED], "Task db-schema appears stuck (no progress for 5+ min)"),
        (60, [STARTED], "Task db-schema appears stuck (no progress for 1+ min)"),
        (90, [STARTED], "Task db-schema appears stuck (no progress for 90+ s)"),
        (300, [STARTED, CALLED], "Task db-schema appears stuck (no progress for 10+ min)"),
    ],
)
def test_s4_33_x12_the_warning_prints_the_real_interval(
    interval: float, events: list[AgentEvent], text: str
) -> None:
    watchdog = Watchdog(check_interval=interval)
    stuck = watch(*events).stuck(10_000, watchdog)
    assert stuck is not None
    assert describe("db-schema", stuck, StuckStrategy.NOTIFY) == text


@pytest.mark.parametrize(
    ("strategy", "runner", "text"),
    [
        (StuckStrategy.KILL_AND_RETRY, "", "it is ended and tried again"),
        (StuckStrategy.NEXT_RUNNER, "codex", "it is ended, and codex goes on"),
        (StuckStrategy.NEXT_RUNNER, "", "it is ended, and the next runner goes on"),
    ],
)
def test_s4_34_s4_35_what_is_done_is_told(strategy: StuckStrategy, runner: str, text: str) -> None:
    stuck = Stuck(AgentState.MODEL, 301, 300)
    found = describe("db-schema", stuck, strategy, runner)
    assert found == f"Task db-schema appears stuck (no progress for 5+ min): {text}"


@pytest.mark.parametrize(
    ("loop", "text"),
    [
        (Loop.SAME_RESULT, "the same action with the same result 4 times"),
        (Loop.SAME_ERROR, "the same action failed 4 times"),
        (Loop.MONOLOGUE, "the same words 4 times"),
        (Loop.ALTERNATING, "the same two actions in turn 4 times"),
    ],
)
def test_each_loop_has_its_words(loop: Loop, text: str) -> None:
    stuck = Stuck(AgentState.MODEL, 0, 300, Repetition(loop, 4))
    assert describe("a", stuck, StuckStrategy.NOTIFY) == f"Task a appears stuck ({text})"


def test_a_driver_that_takes_over_finds_a_hang_that_began_before() -> None:
    """From records alone: the stream from its start, and when it last grew."""
    taken = Watch.begin(1000).hear([STARTED, CALLED, RETURNED], 1001).since(720)
    assert taken.state is AgentState.MODEL
    taken = taken.see(FIRST, 1010, EVERY_SIGN)  # its first look shows nothing
    assert taken.stuck(1010, EVERY_SIGN) is None
    assert taken.stuck(1021, EVERY_SIGN) is not None
    assert taken.since(5000) == taken


def test_the_lines_of_a_program_without_events_say_nothing_about_its_state() -> None:
    """Its dots are no monologue; that they come is progress, and so is what it burns."""
    plain = Watch.begin(0, has_events=False).hear([Said(".")] * 9, 1)
    assert (plain.state, plain.stuck(2, EVERY_SIGN)) == (AgentState.IDLE, None)
    plain = plain.see(Signs(cpu=1), 2, EVERY_SIGN).see(Signs(stream=9), 200, EVERY_SIGN)
    assert plain.moved_at == 200
    assert plain.see(Signs(stream=9, cpu=50), 300, EVERY_SIGN).moved_at == 300
    assert plain.stuck(501, EVERY_SIGN) is not None


def test_a_watch_is_a_plain_value() -> None:
    seen = looping().hear([CALLED], 9)
    assert from_json(Watch, to_json(seen)) == seen


@pytest.mark.parametrize(
    ("interval", "heartbeat", "every"), [(300, 15, 15), (300, 600, 30), (2, 15, 1)]
)
def test_s4_36_how_often_it_looks(interval: float, heartbeat: float, every: float) -> None:
    assert look_every(Watchdog(check_interval=interval), heartbeat) == every


def test_no_state_is_without_a_limit() -> None:
    assert all(Limits.of(300).of_state(state) > 0 for state in AgentState)
