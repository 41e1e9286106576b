"""The table of calls is readable on a terminal of 80 columns."""

from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO

from orchestrator.cli.calls_table import show_calls
from orchestrator.cli.terminal import Terminal
from orchestrator.views.spending import CallLine, CallList
from shared.domain.ids import parse_ref

AT = datetime(2026, 1, 1, tzinfo=UTC)
CALL = CallLine(
    id=123,
    ref=parse_ref("T12.2@web1"),
    role="subtask_planner",
    purpose="revise",
    prompt="revise.v1",
    model="claude-sonnet-5-5",
    effort=None,
    input_tokens=6789,
    cache_read_tokens=0,
    cache_written_tokens=0,
    output_tokens=1512,
    cost=0.0123,
    input_cost=0.0012,
    estimated=False,
    lost=False,
    seconds=12.3,
    stop_reason="end_turn",
    request_id=None,
    error=None,
    reason="",
    replay_of=None,
    started_at=AT,
    ended_at=AT,
)


def printed(*calls: CallLine) -> list[str]:
    """The lines of the table, on a narrow terminal."""
    stream = StringIO()
    show_calls(Terminal(file=stream, width=80), CallList(parse_ref("T12"), calls))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_a_call_takes_two_lines() -> None:
    _, first, second = printed(CALL)
    assert first.split() == ["123", "T12.2@web1", "6789/1512", "$0.0123", "12.3", "s", "end_turn"]
    assert second.strip() == "revise, claude-sonnet-5-5"


def test_what_was_refused_or_broke_off_says_so_below() -> None:
    refused = replace(CALL, error="unusable", reason="step 2 needs step 1, which needs step 2")
    broken = replace(CALL, id=124, estimated=True, error="cancelled", stop_reason=None)
    _, first, _, second, _, why, estimate = printed(refused, broken)
    assert first.endswith("unusable")
    assert "about $0.0123" in second
    assert second.endswith("cancelled")
    assert why == "call 123: step 2 needs step 1, which needs step 2"
    assert estimate == "call 124: what came of its answer is an estimate"


def test_a_call_whose_worker_is_gone_is_lost() -> None:
    gone = replace(CALL, lost=True, ended_at=None, cost=None, seconds=None)
    _, first, _, *rest = printed(gone)
    assert first.split() == ["123", "T12.2@web1", "6789/1512", "?", "lost"]
    assert " ".join(rest) == (
        "call 123: its worker is gone, so nobody knows what it cost; it counts for its question, "
        "about $0.0012"
    )
    _, first, _ = printed(replace(gone, lost=False))
    assert first.endswith("running")
