"""The connection to the broker: it is back two seconds after the broker at the latest."""

from typing import Any

from celery.app.amqp import AMQP
from kombu.connection import Connection

from shared.queue.transport import Transport

_FIRST_PAUSE = 0.2
_LONGER_BY = 0.3
_LONGEST_PAUSE = 1.4


class SteadyConnection(Connection):
    """Tries again at least every 1.4 seconds, and drops invalid messages.

    By default, Celery's consumer waits two seconds longer after each try, up to thirty, and no
    setting changes that.
    """

    def get_transport_cls(self) -> type[Transport]:
        """The only transport: every address is a Redis address."""
        return Transport

    def ensure_connection(self, *args: Any, **kwargs: Any) -> Connection:
        """Connect, however long that takes; raises after `max_retries` failed tries."""
        paced = {
            "interval_start": _FIRST_PAUSE,
            "interval_step": _LONGER_BY,
            "interval_max": _LONGEST_PAUSE,
            **kwargs,
        }
        connected: Connection = super().ensure_connection(*args, **paced)  # type: ignore[no-untyped-call]
        return connected


class SteadyAMQP(AMQP):  # type: ignore[misc]
    """Celery's messaging over such connections."""

    Connection = SteadyConnection
