"""A loop that cannot work waits a little longer each time, and forgets that once it has worked."""

import threading
from typing import Any, cast

from orchestrator.loops import Loop
from shared.domain.errors import Misconfigured, Transient


class Pauses(threading.Event):
    """Notes for how long it was waited on, and waits for nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.noted.append(timeout or 0.0)
        return self.is_set()


def test_the_pause_begins_anew_after_a_healthy_turn() -> None:
    stop = Pauses()
    away = Transient("away", stage="database")
    refused = Misconfigured("refused", stage="database")
    ends = iter([away, refused, away, None, away, away])

    def work() -> float:
        end = next(ends, "done")
        if end == "done":
            stop.set()
        elif isinstance(end, Exception):
            raise end
        return 7.0

    Loop("loop", cast("Any", None), None, work, stop).run()
    assert stop.noted[:6] == [0.1, 0.2, 0.4, 7.0, 0.1, 0.2]
