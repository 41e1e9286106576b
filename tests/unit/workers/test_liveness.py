"""When a worker counts as cut off from everything, and when it does not."""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from structlog.testing import capture_logs

from shared.domain.exits import ExitCode
from tests.services.ring import eventually
from workers.process.liveness import Liveness

LIMIT = 0.4


class Process:
    """A fake of the watched process."""

    def __init__(self) -> None:
        self.codes: list[int] = []
        self.left = threading.Event()
        self.busy = False

    def leave(self, code: int) -> None:
        self.codes.append(code)
        self.left.set()


@contextmanager
def watched(process: Process) -> Iterator[Liveness]:
    parts = {"queues": lambda: "the broker is away", "poll": lambda: "the database is away"}
    liveness = Liveness(parts, limit=LIMIT, in_hand=lambda: process.busy, leave=process.leave)
    liveness.start()
    yield liveness
    liveness.close()


def lasts(process: Process, sign: Callable[[], None], seconds: float = 4 * LIMIT) -> bool:
    """Whether the process stays alive while `sign` is called often, for that long."""
    for _ in range(round(seconds / (LIMIT / 8))):
        sign()
        if process.left.wait(LIMIT / 8):
            return False
    return True


def test_silence_on_every_side_ends_it_with_both_reasons() -> None:
    process = Process()
    with capture_logs() as logs, watched(process) as liveness:
        liveness.sign("queues")
        eventually(process.left.is_set, "the end", 10)
    assert process.codes == [ExitCode.CUT_OFF] == [75]
    (told,) = [entry for entry in logs if entry["event"] == "worker_cut_off"]
    heard = r"last heard \d s ago \(\d{4}-\d\d-\d\dT[\d:]{8}\+00:00\): the broker is away"
    assert re.fullmatch(heard, told["queues"])
    assert re.fullmatch(r"never heard in \d s: the database is away", told["poll"])


@pytest.mark.parametrize("part", ["queues", "poll"])
def test_one_way_in_which_jobs_come_is_enough(part: str) -> None:
    process = Process()
    with watched(process) as liveness:
        assert lasts(process, lambda: liveness.sign(part))
        eventually(process.left.is_set, "the end once that is silent, too", 10)


def test_a_job_whose_lease_is_renewed_is_not_left() -> None:
    """After its end, the process has the whole limit to find the next job."""
    process = Process()
    process.busy = True
    with watched(process):
        assert lasts(process, lambda: None)
        process.busy = False
        assert not process.left.wait(LIMIT / 2)
        eventually(process.left.is_set, "the end", 10)


def test_it_watches_no_more_once_closed() -> None:
    process = Process()
    with watched(process):
        pass
    assert not process.left.wait(2 * LIMIT)
