"""How often a worker looks for jobs itself: often while no messages arrive."""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest

from shared.store import jobs
from tests.services.ring import eventually
from workers.process import polling
from workers.process.capacity import Capacity
from workers.process.polling import Poller

RARELY = 3600.0


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """One entry for each look."""
    found: list[float] = []

    def claimable(*_: object) -> list[int]:
        found.append(monotonic())
        return []

    monkeypatch.setattr(jobs, "claimable", claimable)
    monkeypatch.setattr(polling, "WHILE_DEAF", 0.05)
    monkeypatch.setattr(polling, "_SLICE", 0.01)
    monkeypatch.setattr(random, "uniform", lambda _least, most: most)
    return found


@contextmanager
def poller(deaf: threading.Event) -> Iterator[None]:
    @contextmanager
    def autocommit() -> Iterator[None]:
        yield

    database: Any = SimpleNamespace(autocommit=autocommit)
    made = Poller(
        database, ["q"], Capacity(1), print, every=RARELY, sign=lambda: None, deaf=deaf.is_set
    )
    made.start()
    yield
    made.close()


def test_it_looks_often_while_no_messages_arrive(looks: list[float]) -> None:
    deaf = threading.Event()
    with poller(deaf):
        assert looks == []
        deaf.set()  # in the middle of a long pause
        eventually(lambda: len(looks) >= 3, "three looks", 10)
        deaf.clear()


def test_it_stops_at_once_in_a_long_pause(looks: list[float]) -> None:
    begun = monotonic()
    with poller(threading.Event()):
        pass
    assert monotonic() - begun < 10
    assert looks == []
