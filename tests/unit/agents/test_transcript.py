"""What people read of an agent: a line for what it says and does, bounded and without secrets."""

import json

from orchestrator.words.transcripts import tell_transcript
from shared.domain.attempt import AgentStatus, CommandResult
from shared.domain.question import Question
from shared.domain.transcript import Transcript, TranscriptKind, TranscriptLine
from shared.wire import from_json
from tests.fakes.scripted_agents import LineReader
from tests.unit.agents.streams import stream
from tests.unit.passes.given import ended
from workers.agents.events import (
    AgentEvent,
    Asked,
    EndReason,
    RetriedModel,
    RunnerEnded,
    Said,
    ToolCalled,
    ToolReturned,
    Unreadable,
)
from workers.agents.follower import Follower
from workers.agents.runners.table import find_runner
from workers.agents.transcript import HEAD_LINES, LONGEST_TEXT, TAIL_LINES, Recorder, encode

EVENTS: list[AgentEvent] = [
    Said("I look."),
    ToolCalled("c1", "Bash", '{"command":"pytest -q","timeout":9}'),
    RetriedModel(1, 10, 529),
    ToolReturned("c1", failed=True, result_digest="d", shown="one\ntwo\nthree\nfour\nfive"),
    Asked(Question("Which one?"), "c2", deferred=True),
    Unreadable(b"half a li\xff"),
    RunnerEnded(AgentStatus.OK, "All done.", None, EndReason.COMPLETED),
]


def recorded(*events: AgentEvent) -> Transcript:
    recorder = Recorder(lambda text: text.replace("hunter2", "***"))
    recorder.note(events)
    return recorder.transcript


def test_events_become_words() -> None:
    assert [*tell_transcript(recorded(*EVENTS))] == [
        "I look.",
        "→ Bash: pytest -q",
        "! its model answered 529: retry 1 of 10",
        "← failed one\n  two\n  three\n  … 2 more lines",
        "? Which one?",
        "  half a li\ufffd",
        "✓ All done.",
    ]
    assert "five" in "".join(tell_transcript(recorded(*EVENTS), whole=True))


def test_no_secret_is_kept_and_no_line_is_endless() -> None:
    (line,) = recorded(Said(f"hunter2 {'x' * 3 * LONGEST_TEXT}")).lines
    assert line.text.startswith("*** x")
    assert (len(line.text), line.cut) == (LONGEST_TEXT, 2 * LONGEST_TEXT + len("*** "))


def test_the_beginning_and_the_end_are_kept() -> None:
    whole = HEAD_LINES + TAIL_LINES + 7
    kept = recorded(*(Said(str(number)) for number in range(whole)))
    assert (kept.left_out, kept.lines[-1].text) == (7, str(whole - 1))
    told = [*tell_transcript(kept)]
    assert (told[HEAD_LINES - 1], told[HEAD_LINES]) == (str(HEAD_LINES - 1), "… 7 lines not kept")
    assert len(recorded(*(Said("y" * LONGEST_TEXT) for _ in range(500))).lines) < HEAD_LINES + 100


def test_a_reader_that_has_seen_some_lines_goes_on_after_them() -> None:
    lines = tuple(TranscriptLine(TranscriptKind.SAID, str(n)) for n in (0, 1, 8, 9))
    kept = Transcript(lines, head=2, left_out=6)
    assert [*tell_transcript(kept.after(1))] == ["1", "… 6 lines not kept", "8", "9"]
    assert [*tell_transcript(kept.after(5))] == ["… 3 lines not kept", "8", "9"]
    assert [*tell_transcript(kept.after(9))] == ["9"]
    assert [*tell_transcript(kept.after(12))] == []


def test_lines_pass_through_live_output() -> None:
    lines = Recorder().note(EVENTS)
    back = [from_json(TranscriptLine, json.loads(line)) for line in encode(lines).splitlines()]
    assert back == [*lines]


def test_tools_of_real_streams_show_what_they_returned() -> None:
    for name in ("claude-code/ok", "codex/ok", "acp/ok"):
        events = find_runner(name.partition("/")[0], "true").reader().feed(stream(name))
        returned = [event.shown for event in events if isinstance(event, ToolReturned)]
        assert returned, name
        assert not any(text.startswith(("[{", '{"')) for text in returned), (name, returned)


def test_what_did_not_arrive_live_is_in_the_transcript() -> None:
    """And what did is there once."""
    heard: list[str] = []
    follower = Follower(
        LineReader,
        lambda *_: None,
        lambda _: None,
        lambda lines: heard.extend(line.text for line in lines),
        mask=str,
    )
    follower.take("stdout", b"say one\n")
    result: CommandResult = ended("agent", stdout="say one\nsay two\n")
    follower.read_rest(result)
    assert follower.transcript is not None
    assert ([line.text for line in follower.transcript.lines], heard) == (["one", "two"], ["one"])
