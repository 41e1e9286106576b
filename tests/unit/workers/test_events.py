"""Events for Flower are sent in groups."""

from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery

from shared.queue import events
from shared.queue.events import CalmDispatcher, CalmEvents


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(events, "monotonic", made)
    return made


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was published, one entry per message."""
    found: list[Any] = []
    monkeypatch.setattr(
        CalmDispatcher, "_publish", lambda _self, event, *_args, **_rest: found.append(event)
    )
    return found


@pytest.fixture
def dispatcher() -> Iterator[CalmDispatcher]:
    """As in a worker: events of tasks are buffered, and each asks for a flush."""
    app = Celery("t", broker="memory://", set_as_current=False, events=CalmEvents)
    with app.connection_for_write() as connection:
        made = app.events.Dispatcher(connection, buffer_group=["task"])
        made.on_send_buffered = made.flush
        yield made


def test_what_comes_in_a_burst_goes_out_together(
    dispatcher: CalmDispatcher, sent: list[Any], clock: Clock
) -> None:
    for number in range(5):
        dispatcher.send("task-received", uuid=str(number))
    assert [len(message) for message in sent] == [1]
    clock.now += events.EVERY
    dispatcher.send("task-received", uuid="5")
    assert [[event["uuid"] for event in message] for message in sent] == [
        ["0"],
        ["1", "2", "3", "4", "5"],
    ]


def test_the_last_of_a_burst_goes_out_with_the_next_sign_of_life(
    dispatcher: CalmDispatcher, sent: list[Any], clock: Clock
) -> None:
    dispatcher.send("task-received", uuid="0")
    dispatcher.send("task-received", uuid="1")
    clock.now += 2
    dispatcher.send("worker-heartbeat")
    assert sent[1]["type"] == "worker-heartbeat"
    assert [event["uuid"] for event in sent[2]] == ["1"]


def test_no_more_than_so_many_wait(dispatcher: CalmDispatcher, sent: list[Any]) -> None:
    dispatcher.send("task-received", uuid="first")
    for number in range(events.AT_ONCE):
        dispatcher.send("task-received", uuid=str(number))
    assert [len(message) for message in sent] == [1, events.AT_ONCE]
