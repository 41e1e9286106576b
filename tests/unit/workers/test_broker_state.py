"""What a worker knows of its broker: each change is logged once, and tries keep their distance."""

import pytest
from redis.exceptions import ReadOnlyError
from structlog.testing import capture_logs

from workers.process.consumer import FIRST_PAUSE, LONGEST_PAUSE, STEADY, BrokerState

REPLICA = ReadOnlyError("You can't write against a read only replica.", status_code="READONLY")


class Clock:
    """A clock that stands still until it is moved."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def state(clock: Clock) -> BrokerState:
    return BrokerState("redis://broker/0", clock=clock)


def test_a_state_is_logged_once_with_its_end(state: BrokerState, clock: Clock) -> None:
    with capture_logs() as logs:
        for _ in range(5):
            state.failed(REPLICA)
            state.connected()
            clock.now += STEADY / 2
        state.failed(OSError("refused"))
        state.connected()
        clock.now += STEADY
        assert state.reason == ""
        assert state.reason == ""
    assert [entry["event"] for entry in logs] == ["broker_unusable"] * 2 + ["broker_usable"]
    assert "read-only replica" in logs[0]["reason"]
    assert logs[0]["next"] == "redis-cli -h broker -p 6379 info replication"


def test_it_is_deaf_until_a_connection_has_lasted(state: BrokerState, clock: Clock) -> None:
    assert state.reason == ""
    state.failed(REPLICA)
    state.connected()
    clock.now += STEADY - 0.1
    assert "read-only replica" in state.reason
    clock.now += 0.1
    assert state.reason == ""


def test_the_pauses_grow_and_are_short_again_after_health(state: BrokerState, clock: Clock) -> None:
    pauses = [state.failed(REPLICA) for _ in range(6)]
    assert pauses[0] == FIRST_PAUSE
    assert pauses == sorted(pauses)
    assert pauses[-1] == LONGEST_PAUSE
    state.connected()
    clock.now += STEADY
    assert state.failed(REPLICA) == FIRST_PAUSE


def test_an_error_that_nobody_foresaw_is_logged_with_its_place(state: BrokerState) -> None:
    with capture_logs() as logs:
        state.failed(TypeError("odd"))
    assert logs[0]["exc_info"] is not None
    assert "TypeError: odd" in state.reason
