"""The events for Flower: sent in groups, once a second, for any number of jobs."""

from collections import deque
from time import monotonic
from typing import Any, ClassVar

import structlog
from celery.app.events import Events
from celery.events.dispatcher import EventDispatcher

from shared.queue.replies import translate

log = structlog.get_logger()

EVERY = 1.0
"""Seconds between two groups. The last group is sent with the next sign of life."""

AT_ONCE = 500
"""This many events are sent at once, without waiting."""


KEPT = 20
"""Groups that are kept while the broker refuses them; the newest ones."""


_SIGN_OF_LIFE = "worker.heartbeat"


class CalmDispatcher(EventDispatcher):  # type: ignore[misc]
    """Publishes buffered events in groups.

    Celery's own publishes whenever its loop turns: under load that is a message for each event,
    and a quarter of what a worker does. What the broker refuses is no reason to stop or to wait: by
    default, a sign of life is sent again and again, without a pause, until it is accepted.
    """

    refusal: ClassVar = ""
    """Why the last events were not sent; empty if they were."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._flushed = 0.0
        ours = {"buffer_limit": AT_ONCE, "buffer_while_offline": False}
        super().__init__(*args, **{**kwargs, **ours})
        self._outbound_buffer: deque[tuple[object, str]] = deque(maxlen=KEPT)

    def flush(self, errors: bool = True, groups: bool = True) -> None:
        """Publish the buffered events, unless some were published a moment ago."""
        gathered = sum(map(len, list(self._group_buffer.values())))
        if gathered < AT_ONCE and monotonic() - self._flushed < EVERY:
            return
        self._flushed = monotonic()
        super().flush(errors, groups)

    def send(self, type: str, *args: Any, **fields: Any) -> None:  # noqa: A002 - Celery's name
        """Send or buffer an event; a sign of life sends the buffered ones, too."""
        super().send(type, *args, **{**fields, "retry": False})
        if type == "worker-heartbeat":
            self.flush()

    def _publish(self, event: Any, producer: Any, routing_key: str, **options: Any) -> None:
        try:
            super()._publish(event, producer, routing_key, **options)
        except Exception as error:  # noqa: BLE001 - no failure to tell Flower may end a worker
            if routing_key != _SIGN_OF_LIFE:
                self._outbound_buffer.append((event, routing_key))
            self._note_refusal(translate(error, str(self.app.conf.broker_url)).reason)
        else:
            self._note_refusal("")

    def _note_refusal(self, reason: str) -> None:
        """Log that events are not sent: once for each reason, over all connections."""
        if reason and reason != CalmDispatcher.refusal:
            log.warning("events_not_sent", reason=reason)
        CalmDispatcher.refusal = reason


class CalmEvents(Events):  # type: ignore[misc]
    """Celery's events with that dispatcher."""

    dispatcher_cls = f"{CalmDispatcher.__module__}:{CalmDispatcher.__qualname__}"
