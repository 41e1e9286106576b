"""Readers of streams, whatever the stream: cut anywhere, torn, too long, or not what it seems."""

import json
import tracemalloc
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.agents.streams import names, stream
from workers.agents.deliverable import parse_deliverable
from workers.agents.events import AgentEvent, Said, SessionStarted, Unreadable
from workers.agents.runners.json_lines import MOST, JsonLines, amount_of, count_of
from workers.agents.runners.port import Runner, StreamReader
from workers.agents.runners.table import NAMES, find_runner

READERS: list[Runner] = [find_runner(name, "true") for name in NAMES]
STREAMS = {name: stream(name) for name in names()}
ONLY_JSON = sorted(name for name in names() if not name.startswith("mini-swe-agent"))


@given(name=st.sampled_from(sorted(STREAMS)), data=st.data())
def test_a_stream_cut_anywhere_gives_the_events_of_what_is_whole(
    name: str, data: st.DataObject
) -> None:
    raw = STREAMS[name]
    end = data.draw(st.integers(0, len(raw)))
    whole = raw[: raw.rfind(b"\n", 0, end) + 1]
    pieces = data.draw(st.lists(st.integers(0, end), max_size=6).map(sorted))
    reader = reader_of(name)
    events: list[AgentEvent] = []
    for begin, stop in zip([0, *pieces], [*pieces, end], strict=True):
        events += reader.feed(raw[begin:stop])
    assert events == reader_of(name).feed(whole)
    reader.outcome(data.draw(st.sampled_from([None, 0, 1, 143])))


@pytest.mark.parametrize("runner", READERS, ids=lambda runner: runner.name)
@given(raw=st.binary(max_size=300))
def test_any_bytes_are_read(runner: Runner, raw: bytes) -> None:
    reader = runner.reader()
    reader.feed(raw)
    reader.outcome(0, None, raw)


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(name=st.sampled_from(ONLY_JSON), data=st.data())
def test_an_event_with_any_value_in_any_place_is_read(name: str, data: st.DataObject) -> None:
    lines = [json.loads(line) for line in STREAMS[name].splitlines()]
    place: Any = data.draw(st.sampled_from(lines)) if lines else {}
    while isinstance(place, dict | list) and place:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if data.draw(st.booleans()) or not isinstance(place[key], dict | list) or not place[key]:
            place[key] = data.draw(VALUES)
            break
        place = place[key]
    reader = reader_of(name)
    reader.feed("".join(json.dumps(line) + "\n" for line in lines).encode())
    reader.outcome(0)


def test_invalid_utf8_spoils_only_its_own_character() -> None:
    raw = STREAMS["codex/ok"].replace(b"I write.", b"I wr\xffite.")
    assert Said("I wr\ufffdite.") in reader_of("codex/ok").feed(raw)


def test_half_of_a_surrogate_pair_becomes_a_character_that_can_be_stored() -> None:
    raw = STREAMS["codex/ok"].replace(b"I write.", b"I \\ud83d write \\ud83d\\ude00.")
    assert Said("I \ufffd write 😀.") in reader_of("codex/ok").feed(raw)


@pytest.mark.parametrize(
    "line", [b"Warning: something", b"[1, 2]", b"null", b'{"type": ', b"[" * 100_000, b"\x00"]
)
@pytest.mark.parametrize("name", ["claude-code/ok", "codex/ok"])
def test_a_line_that_is_no_event_is_told_and_passed_over(name: str, line: bytes) -> None:
    first, rest = STREAMS[name].split(b"\n", 1)
    events = reader_of(name).feed(b"\n".join((first, line, b"", rest)))
    assert events.count(Unreadable(line[:200])) == 1
    events.remove(Unreadable(line[:200]))
    assert events == reader_of(name).feed(STREAMS[name])


@pytest.mark.parametrize("name", ["claude-code/ok", "codex/ok"])
def test_unknown_events_are_passed_over(name: str) -> None:
    first, rest = STREAMS[name].split(b"\n", 1)
    unknown = b'{"type": "from_the_future", "subtype": "init"}\n{"type": {"a": 1}}\n{}'
    events = reader_of(name).feed(b"\n".join((first, unknown, rest)))
    assert events == reader_of(name).feed(STREAMS[name])


@pytest.mark.parametrize("runner", READERS, ids=lambda runner: runner.name)
def test_a_line_without_an_end_takes_no_memory(runner: Runner) -> None:
    reader = runner.reader()
    chunk = b"x" * 1_000_000
    tracemalloc.start()
    try:
        for _ in range(100):
            assert reader.feed(chunk) == []
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 20_000_000
    assert len(reader.feed(b"\n")) == 1


@given(data=st.data())
def test_lines_over_the_limit_are_cut_alike_however_they_arrive(data: st.DataObject) -> None:
    raw = b'{"a": 1}\n' + b'{"b": "' + b"y" * 300 + b'"}\n{"c": 2}\n'
    pieces = data.draw(st.lists(st.integers(0, len(raw)), max_size=8).map(sorted))
    lines = JsonLines(longest=250)
    read = [
        value
        for begin, stop in zip([0, *pieces], [*pieces, len(raw)], strict=True)
        for value in lines.feed(raw[begin:stop])
    ]
    assert read == [{"a": 1}, Unreadable((b'{"b": "' + b"y" * 300)[:200]), {"c": 2}]


@pytest.mark.parametrize(
    "value",
    [None, [], "ok", {}, {"status": ["ok"], "summary": ""}, {"status": "timeout", "summary": ""}],
)
def test_a_value_that_is_no_deliverable_is_none(value: object) -> None:
    assert parse_deliverable(value) is None


def test_the_first_session_is_the_session() -> None:
    events = reader_of("claude-code/ok").feed(STREAMS["claude-code/ok"] * 2)
    assert len([event for event in events if isinstance(event, SessionStarted)]) == 1


def reader_of(name: str) -> StreamReader:
    return find_runner(name.partition("/")[0], "true").reader()


@pytest.mark.parametrize(
    ("said", "count", "amount"),
    [
        ("7", 7, "7"),
        ("0.25", 0, "0.25"),
        ("-1", 0, None),
        ("true", 0, None),
        ("1e999", 0, None),
        ("1e300", 0, str(MOST)),
        ("9" * 400, MOST, str(MOST)),
    ],
)
def test_no_number_is_too_large_for_a_database(said: str, count: int, amount: str | None) -> None:
    value = json.loads(f'{{"n": {said}}}')
    assert count_of(value, "n") == count
    assert amount_of(value, "n") == (None if amount is None else Decimal(amount))
