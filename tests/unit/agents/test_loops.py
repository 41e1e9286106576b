"""Agents that move but get nowhere, and those that only seem to."""

import json
from collections.abc import Iterable
from dataclasses import replace

import pytest

from shared.domain.attempt_notes import Loop
from tests.unit.agents.streams import stream
from workers.agents.events import AgentEvent, Said, ToolCalled, ToolReturned, Unreadable
from workers.agents.loops import LoopLimits, MoveHistory, Repetition
from workers.agents.result_form import comparable
from workers.agents.runners.claude_code import ClaudeCode

LIMITS = LoopLimits()
Step = tuple[str, str] | str
"""A command and its result (`!` before it for a failure), or a text."""


def events(steps: Iterable[Step]) -> list[AgentEvent]:
    """The events of these steps."""
    found: list[AgentEvent] = []
    for number, step in enumerate(steps):
        if isinstance(step, str):
            found.append(Said(step))
            continue
        command, result = step
        call = f"c{number}"
        found.append(ToolCalled(call, "Bash", json.dumps({"command": command})))
        found.append(ToolReturned(call, result.startswith("!"), result))
    return found


def after(*steps: Step, limits: LoopLimits = LIMITS) -> Repetition | None:
    """The loop that an agent is in after these steps."""
    history = MoveHistory()
    for event in events(steps):
        history = history.hear(event, limits)
    return history.repetition(limits)


TORN = Unreadable(b'ed"}]}}')
CALLED = ToolCalled("c0", "Bash", '{"command": "make test"}')
RETURNED = ToolReturned("c0", failed=True, result_digest="!1 failed")
LS, TEST, CAT = ("ls", "a b"), ("make test", "!1 failed"), ("cat a", "x")


@pytest.mark.parametrize(
    ("steps", "loop"),
    [
        ([LS] * 4, Repetition(Loop.SAME_RESULT, 4)),
        ([CAT, LS, LS, LS, LS], Repetition(Loop.SAME_RESULT, 4)),
        ([LS, "thinking", LS, "aha", LS, "hm", LS], Repetition(Loop.SAME_RESULT, 4)),
        ([TEST] * 3, Repetition(Loop.SAME_ERROR, 3)),
        ([("curl x", "!a"), ("curl x", "!b"), ("curl x", "!c")], Repetition(Loop.SAME_ERROR, 3)),
        (["I am done."] * 3, Repetition(Loop.MONOLOGUE, 3)),
        (["I am done.", "I am  done.\n", "I am done."], Repetition(Loop.MONOLOGUE, 3)),
        ([LS, CAT] * 3, Repetition(Loop.ALTERNATING, 6)),
        ([TEST, LS] * 3, Repetition(Loop.ALTERNATING, 6)),
    ],
)
def test_a_loop_is_found(steps: list[Step], loop: Repetition) -> None:
    """The thresholds of the field: 4, 3, 3 and 6."""
    assert after(*steps) == loop


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [LS] * 3,
        [TEST] * 2,
        ["I am done."] * 2,
        [LS, CAT, LS, CAT, LS],
        [LS, LS, LS, CAT, LS],
        # The same action, but something else comes of it.
        [("make test", f"!{left} failed") for left in (9, 8)] + [("make test", "7 failed")],
        [("date", str(hour)) for hour in range(9)],
        # A text between actions, and different texts.
        ["Next.", LS, "Next.", CAT, "Next.", ("pwd", "/")],
        ["one", "two", "three", "four"],
    ],
)
def test_what_is_not_a_loop(steps: list[Step]) -> None:
    assert after(*steps) is None


@pytest.mark.parametrize(
    "steps",
    [
        [("sleep 30 && gh run view 7", "in progress")] * 20,
        [("gh run watch 7", "!timeout")] * 9,
        [step for _ in range(9) for step in (("gh run view 7", "queued"), ("sleep 30", ""))],
        [("sleep 5; curl -s localhost/health", "!refused")] * 9,
    ],
)
def test_polling_is_exempt(steps: list[Step]) -> None:
    assert after(*steps) is None


def test_a_tool_that_polls_is_exempt() -> None:
    history = MoveHistory()
    for number in range(9):
        history = history.hear(ToolCalled(f"c{number}", "BashOutput", '{"id":1}'), LIMITS)
        history = history.hear(ToolReturned(f"c{number}", failed=False, result_digest="r"), LIMITS)
    assert history.repetition(LIMITS) is None


def test_the_thresholds_can_be_set_and_switched_off() -> None:
    off = LoopLimits(same_result=0, same_error=0, monologue=0, alternating=0)
    assert after(*[TEST] * 50, limits=off) is None
    assert after(LS, LS, limits=LoopLimits(same_result=2)) == Repetition(Loop.SAME_RESULT, 2)


@pytest.mark.parametrize(
    "arguments",
    ["", "no JSON", "[1]", '{"command": 7}', '{"command": ["ls", 3]}', '{"cmd":"a \'"}'],
)
def test_arguments_of_any_form_are_taken(arguments: str) -> None:
    history = MoveHistory()
    for number in range(4):
        history = history.hear(ToolCalled(str(number), "x", arguments), LIMITS)
        history = history.hear(ToolReturned(str(number), failed=False, result_digest="r"), LIMITS)
    assert history.repetition(LIMITS) == Repetition(Loop.SAME_RESULT, 4)


def test_calls_that_run_side_by_side_are_paired() -> None:
    history = MoveHistory()
    for name in ("a", "b"):
        history = history.hear(ToolCalled(name, "Read", json.dumps({"file": name})), LIMITS)
    assert history.in_tool
    for name in ("b", "a", "unknown"):
        history = history.hear(ToolReturned(name, failed=False, result_digest=name), LIMITS)
    assert not history.in_tool
    assert len({move.action for move in history.moves}) == 2


def test_the_history_stays_small() -> None:
    history = MoveHistory()
    for number, event in enumerate(events([LS, CAT, "so"] * 500)):
        history = history.hear(event, LIMITS).see_tree(f"t{number}")
    history = history.hear(ToolCalled("open", "x", "{}"), LIMITS)
    kept = (history.calls, history.moves, history.said, history.trees)
    assert all(len(each) <= 64 for each in kept)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3 passed in 0.31s", "3 passed in 12.40 s"),
        ("2026-01-02T03:04:05.678Z ok", "2027-11-12T13:14:15Z  ok"),
        ("at 0x7f00deadbeef", "at 0x55aa00112233"),
        ("wrote /tmp/tmp.aB3dE/x", "wrote /tmp/tmp.Zz9Yy/x"),
        ("killed pid 17", "killed pid 4711"),
    ],
)
def test_what_differs_at_every_run_is_not_compared(one: str, other: str) -> None:
    assert comparable(one) == comparable(other)


@pytest.mark.parametrize(
    ("one", "other"), [("3 failed", "2 failed"), ("line 7: x", "line 8: x"), ("a", "b")]
)
def test_what_says_something_is_compared(one: str, other: str) -> None:
    assert comparable(one) != comparable(other)


def test_what_a_long_stream_brings_again_is_not_done_again() -> None:
    """Its host takes the middle out of it, and whoever follows it reads some of it twice."""
    history, heard = MoveHistory(), events([TEST, TEST])
    for event in (*heard, TORN, *heard, TORN, *heard):
        history = history.hear(event, LIMITS)
    assert history.repetition(LIMITS) is None
    assert not history.in_tool
    for event in (replace(CALLED, call="c2"), replace(RETURNED, call="c2")):
        history = history.hear(event, LIMITS)
    assert history.repetition(LIMITS) == Repetition(Loop.SAME_ERROR, 3)


def test_an_open_call_that_a_stream_brings_again_returns_once() -> None:
    history = MoveHistory()
    for event in (CALLED, TORN, CALLED, RETURNED):
        history = history.hear(event, LIMITS)
    assert (history.in_tool, len(history.moves)) == (False, 1)


@pytest.mark.parametrize("ids", [("call_0",), ("",), ("call_0", "call_1")])
@pytest.mark.parametrize("noise", [[], [TORN]])
def test_calls_whose_ids_repeat_are_calls_of_their_own(
    ids: tuple[str, ...], noise: list[AgentEvent]
) -> None:
    """Ids are the model's, or those of any program: some begin anew with each answer."""
    history = MoveHistory()
    for turn in range(6):
        call = ids[turn % len(ids)]
        history = history.hear(replace(CALLED, call=call), LIMITS)
        assert history.in_tool
        history = history.hear(replace(RETURNED, call=call), LIMITS)
        for event in noise if turn == 3 else ():
            history = history.hear(event, LIMITS)
    assert history.repetition(LIMITS) == Repetition(Loop.SAME_RESULT, 6)


def test_a_torn_line_comes_before_what_a_stream_brings_again() -> None:
    """The first line that is read again lacks its beginning."""
    first, second, third, *_ = stream("claude-code/answered").splitlines(keepends=True)
    reader = ClaudeCode().reader()
    heard = reader.feed(first + second + third[:100])
    assert not any(isinstance(each, Unreadable) for each in heard)
    again = reader.feed(second[100:] + third)
    assert isinstance(again[0], Unreadable)
