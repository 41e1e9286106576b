"""Ringing the doorbell: one message a job, the job's id and nothing else."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from celery import Celery
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from shared.domain.errors import Transient
from shared.queue.app import task_name


class CeleryBell:
    """Sends by name, so that nobody imports a worker to ask one."""

    def __init__(self, app: Celery) -> None:
        self._app = app

    def ring(self, queue: str, job_ids: Sequence[int]) -> None:
        """Send one message a job. Raises Transient while the broker is away."""
        with _translated(), self._app.producer_or_acquire() as producer:
            for job_id in job_ids:
                self._app.send_task(
                    task_name(queue), args=[job_id], queue=queue, producer=producer, retry=False
                )

    def length(self, queue: str) -> int:
        """How many messages of the queue nobody has taken. Raises Transient."""
        with _translated(), self._app.connection_or_acquire() as connection:
            declared = connection.default_channel.queue_declare(queue, passive=False)
            return int(declared.message_count)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (OperationalError, RedisError, OSError) as error:
        raise Transient(
            f"the broker cannot be reached: {error}",
            stage="broker",
            next_step_cmd="replan config show",
        ) from error
