"""The doors: a message comes in with a job's id, and the lifecycle does the rest."""

from collections import UserDict
from collections.abc import Callable, Iterable
from typing import Any

from celery import Celery
from celery.worker.control import Panel

from shared.domain.errors import Transient
from shared.domain.jobs import QueueName
from shared.queue.app import task_name
from workers.capacity import Capacity
from workers.lifecycle import Lifecycle
from workers.messages import only_jobs


def open_doors(
    app: Celery, lifecycle: Lifecycle, capacity: Capacity, queues: tuple[QueueName, ...]
) -> None:
    """Register one Celery task for each queue that this worker consumes, and no other."""
    for queue in queues:
        _open(app, lifecycle, capacity, queue)
    ours = {task_name(queue.value) for queue in queues}
    app.finalize()
    for name in set(app.tasks) - ours:
        app.tasks.unregister(name)  # Celery's own: they would run tasks with anything


def _open(app: Celery, lifecycle: Lifecycle, capacity: Capacity, queue: QueueName) -> None:
    def door(job_id: int) -> str:
        """What Flower shows as the result: whether there was anything to do."""
        if not capacity.take():
            return "left to others: this worker stops"
        try:
            return "done" if lifecycle.carry_out(job_id) else "nothing to do"
        except Transient as error:
            return f"put back: {error.reason}"
        finally:
            capacity.give_back()

    app.task(
        door,
        name=task_name(queue.value),
        ignore_result=True,
        max_retries=0,
        shared=False,  # with this app alone: a process may have several
        Strategy=staticmethod(only_jobs),
    )


def open_panel(on_revoke: Callable[[Iterable[object]], None]) -> None:
    """Let this process understand `revoke`, as `on_revoke` takes it, and no other command.

    Whoever can write to the broker can send commands: to stop a worker, to have it consume other
    queues, to read its settings. None of Celery's own is left.
    """

    def revoke(_state: Any, task_id: object = (), **_options: object) -> dict[str, str]:
        """Whether a process shall be terminated, and how, makes no difference."""
        on_revoke(task_id if isinstance(task_id, list) else [task_id])
        return {"ok": "its run will be cancelled if it is open"}

    Panel.data = _Commands(revoke=revoke)


class _Commands(UserDict[str, Callable[..., Any]]):
    """The commands that are understood; every other one does nothing and answers nothing."""

    def __missing__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None
