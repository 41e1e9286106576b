"""The doors: a message comes in with a job's id, and the lifecycle does the rest."""

from celery import Celery

from shared.domain.errors import Transient
from shared.domain.jobs import QueueName
from shared.queue.app import task_name
from workers.lifecycle import Lifecycle
from workers.messages import only_jobs


def open_doors(app: Celery, lifecycle: Lifecycle, queues: tuple[QueueName, ...]) -> None:
    """Register one Celery task for each queue that this worker consumes, and no other."""
    for queue in queues:
        _open(app, lifecycle, queue)
    ours = {task_name(queue.value) for queue in queues}
    app.finalize()
    for name in set(app.tasks) - ours:
        app.tasks.unregister(name)  # Celery's own: they would run tasks with anything


def _open(app: Celery, lifecycle: Lifecycle, queue: QueueName) -> None:
    def door(job_id: int) -> str:
        """What Flower shows as the result: whether there was anything to do."""
        try:
            return "done" if lifecycle.carry_out(job_id) else "nothing to do"
        except Transient as error:
            return f"put back: {error.reason}"

    app.task(
        door,
        name=task_name(queue.value),
        ignore_result=True,
        max_retries=0,
        Strategy=staticmethod(only_jobs),
    )
