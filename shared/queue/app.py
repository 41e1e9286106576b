"""The Celery application and its doorbell: messages with the ids of jobs and nothing else."""

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from uuid import uuid4

from celery import Celery
from kombu.entity import Queue

from shared.domain.jobs import QueueName
from shared.queue import replies
from shared.queue.address import with_certificate_check
from shared.queue.connection import SteadyAMQP, SteadyConnection
from shared.queue.events import CalmEvents


def task_name(queue: str) -> str:
    """The task name of a queue's messages."""
    return f"replan.{queue}"


JOBS_A_MESSAGE = 8
"""Jobs that one message may ring for: a worker handles them together.

It rings again for jobs that it has no room for, so that other workers share them.
"""

_MESSAGE = re.compile(
    rf"jobs?-(?P<job_ids>[0-9]{{1,18}}(?:-[0-9]{{1,18}}){{0,{JOBS_A_MESSAGE - 1}}})(?:\.[0-9a-f]+)?"
)


def message_id(*job_ids: int) -> str:
    """A name for one message about jobs, as Celery and Flower show it."""
    word = "job" if len(job_ids) == 1 else "jobs"
    return f"{word}-{'-'.join(map(str, job_ids))}.{uuid4().hex[:8]}"


def jobs_of(message: str) -> tuple[int, ...]:
    """The jobs that a message is about, given its name (or the name without what follows the dot).

    Empty for anything that is not such a name.
    """
    found = _MESSAGE.fullmatch(message)
    return () if found is None else tuple(map(int, found["job_ids"].split("-")))


def make_app(broker_url: str) -> Celery:
    """The application for a broker at `redis://…`.

    Messages are acknowledged early and carry ids of jobs only: one that is lost, doubled, delayed
    or forged has no effect, for the rows of the jobs decide. So there is no result backend, no ETA
    and no retry of Celery's own; of remote control, workers understand `revoke` alone.
    """
    app = Celery(
        "replan",
        broker=with_certificate_check(broker_url),
        backend=None,
        set_as_current=False,
        amqp=SteadyAMQP,
        events=CalmEvents,
    )
    app.conf.update(
        task_queues=[_queue(queue.value) for queue in QueueName],
        task_default_queue="unrouted",
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        task_acks_late=False,
        task_track_started=False,
        worker_prefetch_multiplier=1,
        worker_send_task_events=True,
        worker_enable_remote_control=True,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            # Acknowledged as soon as it is read: a copy kept in the broker would help nobody.
            "ack_emulation": False,
            "socket_keepalive": True,
            "health_check_interval": 10,
            "socket_connect_timeout": 5,
            "socket_timeout": 30,
        },
    )
    return app


def _queue(name: str) -> Queue:
    return Queue(name, routing_key=name)  # type: ignore[no-untyped-call]


def knock(broker_url: str) -> None:
    """Return when the broker answers.

    Raises Transient with its reason when it does not, Misconfigured when it refuses us.
    """
    with _connection(broker_url) as connection:
        connection.ensure_connection(max_retries=0)


def require_writable(broker_url: str) -> None:
    """Check that the broker accepts messages; nothing is kept.

    Raises Transient, for instance for a read-only replica, or Misconfigured.
    """
    with _connection(broker_url) as connection:
        connection.ensure_connection(max_retries=0)
        channel: Any = connection.default_channel
        with channel.conn_or_acquire() as client:
            key = f"replan.scratch.{uuid4().hex}"  # nobody reads it
            client.lpush(key, "")
            client.delete(key)


def unread_messages(broker_url: str) -> dict[QueueName, int]:
    """How many messages of each queue nobody has read; nothing is changed.

    Raises Transient or Misconfigured, as `knock` does.
    """
    with _connection(broker_url) as connection:
        connection.ensure_connection(max_retries=0)
        channel = connection.default_channel
        return {queue: _unread(channel, queue) for queue in QueueName}


def _unread(channel: Any, queue: str) -> int:
    return int(channel.queue_declare(queue, passive=False).message_count)


@contextmanager
def _connection(broker_url: str) -> Iterator[SteadyConnection]:
    app = make_app(broker_url)
    try:
        with _translate_errors(broker_url), app.connection_for_write() as connection:
            yield connection
    finally:
        app.close()


class CeleryBell:
    """Sends by name, so no sender imports a worker."""

    def __init__(self, app: Celery) -> None:
        self._app = app

    def ring(self, queue: str, job_ids: Sequence[int]) -> None:
        """Send messages for these jobs.

        Raises Transient while the broker is away, and Misconfigured while it refuses us.
        """
        with self._translated(), self._app.producer_or_acquire() as producer:
            for start in range(0, len(job_ids), JOBS_A_MESSAGE):
                together = list(job_ids[start : start + JOBS_A_MESSAGE])
                self._app.send_task(
                    task_name(queue),
                    args=together,
                    task_id=message_id(*together),
                    queue=queue,
                    producer=producer,
                    retry=False,
                )

    def ringing(self, queue: str) -> int:
        """The most jobs that unread messages can ring for. Raises as `ring` does."""
        with self._translated(), self._app.connection_or_acquire() as connection:
            return _unread(connection.default_channel, queue) * JOBS_A_MESSAGE

    def _translated(self) -> AbstractContextManager[None]:
        return _translate_errors(str(self._app.conf.broker_url))


@contextmanager
def _translate_errors(broker_url: str) -> Iterator[None]:
    try:
        yield
    except replies.FAILURES as error:
        raise replies.translate(error, broker_url) from error
