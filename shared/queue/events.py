"""The events for Flower: sent in groups, once a second, for any number of jobs."""

from time import monotonic
from typing import Any

from celery.app.events import Events
from celery.events.dispatcher import EventDispatcher

EVERY = 1.0
"""Seconds between two groups. The last group is sent with the next sign of life."""

AT_ONCE = 500
"""This many events are sent at once, without waiting."""


class CalmDispatcher(EventDispatcher):  # type: ignore[misc]
    """Publishes buffered events in groups.

    Celery's own publishes whenever its loop turns: under load that is a message for each event,
    and a quarter of what a worker does.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._flushed = 0.0
        super().__init__(*args, **{**kwargs, "buffer_limit": AT_ONCE})

    def flush(self, errors: bool = True, groups: bool = True) -> None:
        """Publish the buffered events, unless some were published a moment ago."""
        gathered = sum(map(len, list(self._group_buffer.values())))
        if gathered < AT_ONCE and monotonic() - self._flushed < EVERY:
            return
        self._flushed = monotonic()
        super().flush(errors, groups)

    def send(self, type: str, *args: Any, **fields: Any) -> None:  # noqa: A002 - Celery's name
        """Send or buffer an event; a sign of life sends the buffered ones, too."""
        super().send(type, *args, **fields)
        if type == "worker-heartbeat":
            self.flush()


class CalmEvents(Events):  # type: ignore[misc]
    """Celery's events with that dispatcher."""

    dispatcher_cls = f"{CalmDispatcher.__module__}:{CalmDispatcher.__qualname__}"
