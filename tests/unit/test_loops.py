"""A loop of the coordinator: it waits for servers that are away, and says so once."""

import threading
from typing import Any

import pytest
from structlog.testing import capture_logs

from orchestrator import loops
from orchestrator.loops import Loop
from shared.domain.errors import Misconfigured, Transient
from shared.domain.next_step import NextStep


def test_each_state_is_logged_once_with_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not each try, however long it lasts."""
    monkeypatch.setattr(loops, "_FIRST_WAIT", 0.001)
    monkeypatch.setattr(loops, "_LONGEST_WAIT", 0.001)
    stop = threading.Event()
    replica = Transient("a replica", stage="broker", next_step=NextStep.of("doctor"))
    refusal = Misconfigured("no rights", stage="broker")
    turns = iter([None, *[replica] * 20, refusal, refusal, None, None, replica, None])

    def work() -> float:
        error = next(turns, "end")
        if error == "end":
            stop.set()
        elif isinstance(error, Exception):
            raise error
        return 0.0

    nothing: Any = None
    with capture_logs() as logs:
        Loop("relay", nothing, None, work, stop).run()
    told = [(entry["event"], entry.get("reason"), entry.get("next")) for entry in logs]
    assert told == [
        ("loop_waits", "a replica", "replan doctor"),
        ("loop_waits", "no rights", None),
        ("loop_goes_on", None, None),
        ("loop_waits", "a replica", "replan doctor"),
        ("loop_goes_on", None, None),
    ]
