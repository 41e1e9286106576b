"""Celery's consumer of messages, which no failure of the broker ends."""

from collections.abc import Callable
from time import monotonic, sleep
from typing import Any, Final

import structlog
from celery.worker.consumer import Consumer
from celery.worker.state import maybe_shutdown

from shared.domain.next_step import command_line
from shared.queue.replies import FAILURES, translate
from workers.process.job_events import JobEvents

log = structlog.get_logger()

FIRST_PAUSE: Final = 0.2
LONGEST_PAUSE: Final = 1.4
"""Seconds between the end of a connection and the next try; below 0.2, Celery adds its own."""

STEADY: Final = 3.0
"""Seconds that a connection must last before the broker counts as back."""

_SLICE: Final = 0.1


class BrokerState:
    """Whether messages arrive from the broker, as far as its consumer knows; logs each change."""

    def __init__(self, broker_url: str, *, clock: Callable[[], float] = monotonic) -> None:
        self._broker_url = broker_url
        self._clock = clock
        self._reason = ""
        self._connected: float | None = None
        self._pause = FIRST_PAUSE

    @property
    def reason(self) -> str:
        """Why no messages arrive; empty while they do."""
        self._settle()
        return self._reason

    def connected(self) -> None:
        """Note that the consumer waits for messages on a new connection."""
        self._connected = self._clock()

    def failed(self, error: BaseException) -> float:
        """Note that the connection has failed; returns the seconds to wait before the next."""
        self._settle()
        self._connected = None
        if isinstance(error, FAILURES):
            found = translate(error, self._broker_url)
            reason, advice = found.reason, command_line(found.next_step)
        else:
            reason, advice = f"{type(error).__name__}: {error}", None
        if reason != self._reason:
            expected = advice is not None
            log.warning(
                "broker_unusable", reason=reason, next=advice, exc_info=None if expected else error
            )
        self._reason = reason
        pause, self._pause = self._pause, min(self._pause * 2, LONGEST_PAUSE)
        return pause

    def _settle(self) -> None:
        """Forget the failure once a connection has lasted."""
        if self._connected is None or self._clock() - self._connected < STEADY:
            return
        self._pause = FIRST_PAUSE
        if self._reason:
            self._reason = ""
            log.info("broker_usable")


class SteadyConsumer(Consumer):  # type: ignore[misc]
    """Connects again after any error whatever, and never ends for one.

    The queues can be read from the database as well, so nothing that a broker says or sends is a
    reason to end the process. By default, Celery does so for every error reply that it does not
    count as a failure of the connection.
    """

    def __init__(self, *args: Any, broker: BrokerState, events: JobEvents, **options: Any) -> None:
        super().__init__(*args, **options)
        self._broker = broker
        self._events = events
        self.connection_errors = (Exception,)

    def on_ready(self) -> None:
        """Begin to wait for messages on a new connection."""
        self._broker.connected()
        self._events.connect(self.event_dispatcher)
        super().on_ready()

    def on_connection_error_before_connected(self, exc: Exception) -> None:
        """Wait until the next try; log the reason once."""
        self._wait(exc)

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        """Let the connection go, and wait until the next try; log the reason once."""
        super().on_connection_error_after_connected(exc)
        self._wait(exc)

    def ensure_connected(self, conn: Any) -> Any:
        """Connect, however long that takes; log the reason once for each state."""
        connected = conn.ensure_connection(
            lambda error, _pause: self._broker.failed(error), None, callback=maybe_shutdown
        )
        self.first_connection_attempt = False
        return connected

    def _wait(self, error: Exception) -> None:
        until = monotonic() + self._broker.failed(error)
        while monotonic() < until:
            maybe_shutdown()
            sleep(_SLICE)
