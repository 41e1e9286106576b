"""Reads from the broker and drops invalid messages; an error reply ends the connection.

Whoever can write to the broker can put anything under the names of our queues. By default, Kombu
and Celery unpack it outside every handler: one such entry ends the worker that reads it.

By default, Celery reconnects after a broken connection only: an error reply, like that of a server
which has become a replica, ends the worker.
"""

from base64 import b64decode
from queue import Empty
from typing import Any, Final

from kombu.transport import redis
from redis import Connection, SSLConnection
from redis.exceptions import RedisError, ResponseError

from shared.domain.jobs import QueueName
from shared.queue.dropped import DROPPED
from shared.queue.replies import ends_connection

_SHOWN: Final = 200
_QUEUES: Final = frozenset(queue.value for queue in QueueName)
_ENCODINGS: Final = frozenset({None, "", "base64"})


def fault_of(message: object, queue: str) -> str:
    """What is wrong with an entry of a queue; empty if Kombu can make a message of it.

    Its content is checked later; see `workers.process.messages`.
    """
    if not isinstance(message, dict):
        return "it is not an object"
    properties, headers = message.get("properties"), message.get("headers")
    if not isinstance(properties, dict) or not isinstance(properties.get("delivery_tag"), str):
        return "it has no properties of a message"
    if not isinstance(headers, dict):
        return "it has no headers of a message"
    if queue in _QUEUES and not all(isinstance(headers.get(name), str) for name in ("task", "id")):
        return "it names no task"
    texts = (message.get("content-type"), message.get("content-encoding"))
    if not all(text is None or isinstance(text, str) for text in texts):
        return "its content is of no type"
    if not isinstance(properties.get("delivery_info"), dict):
        return "it does not say how it was delivered"
    return _fault_of_body(message.get("body"), properties.get("body_encoding"))


def _fault_of_body(body: object, encoding: object) -> str:
    if not isinstance(body, str) or not (encoding is None or isinstance(encoding, str)):
        return "its body is not a text"
    if encoding not in _ENCODINGS:
        return f"its body is encoded as {encoding[:_SHOWN] if encoding else encoding!r}"
    try:
        b64decode(body) if encoding else body.encode()
    except ValueError as error:
        return f"its body cannot be read: {error}"
    return ""


class _Leaving:
    """A connection that is closed after use when its server has said that it cannot serve us.

    So the next command looks the address up again, and finds the server that it then leads to.
    """

    def read_response(self, *args: Any, **options: Any) -> Any:
        try:
            return super().read_response(*args, **options)  # type: ignore[misc]
        except ResponseError as error:
            if ends_connection(error):
                self.mark_for_reconnect()  # type: ignore[attr-defined]
            raise


class LeavingConnection(_Leaving, Connection):
    """Such a connection over TCP."""


class LeavingSSLConnection(_Leaving, SSLConnection):
    """Such a connection over TLS."""


class Channel(redis.Channel):
    """Reads queues and the control channel; drops and logs unreadable entries."""

    connection_class = LeavingConnection
    connection_class_ssl = LeavingSSLConnection

    def _brpop_read(self, **options: Any) -> Any:
        try:
            return super()._brpop_read(**options)  # type: ignore[no-untyped-call]
        except ResponseError as error:
            if not self._removed_foreign_keys():
                raise
            raise Empty from error
        except (ValueError, RecursionError) as error:
            DROPPED.add("of a queue", str(error))
            raise Empty from error

    def _receive_one(self, c: Any) -> Any:
        try:
            return super()._receive_one(c)  # type: ignore[no-untyped-call]
        except RecursionError as error:
            DROPPED.add("of the control channel", str(error))
            raise Empty from error

    def _removed_foreign_keys(self) -> bool:
        """Remove a key with the name of a queue that is not a list; True if there was one."""
        keys = [
            self._q_for_pri(queue, priority)  # type: ignore[no-untyped-call]
            for queue in self.active_queues
            for priority in self.priority_steps
        ]
        with self.conn_or_acquire() as client:
            foreign = [key for key in keys if client.type(key) not in (b"list", b"none")]
            for key in foreign:
                DROPPED.add(str(key), "it is not a list")
                client.delete(key)
        return bool(foreign)


class Transport(redis.Transport):
    """Kombu's own for Redis over such channels."""

    Channel = Channel
    connection_errors = (*redis.Transport.connection_errors, RedisError)

    def _deliver(self, message: Any, queue: str) -> None:
        fault = fault_of(message, queue)
        if fault:
            DROPPED.add(queue, fault, repr(message))
        else:
            super()._deliver(message, queue)  # type: ignore[no-untyped-call]
