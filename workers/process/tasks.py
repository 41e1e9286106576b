"""The doors: a message comes in with the ids of jobs, and the crew does the rest."""

from collections import UserDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import structlog
from celery import Celery
from celery.worker.control import Panel

from shared.domain.errors import Transient
from shared.domain.jobs import QueueName
from shared.queue.app import CeleryBell, task_name
from workers.process.job_threads import Crew
from workers.process.messages import only_jobs

log = structlog.get_logger()


def open_doors(app: Celery, crew: Crew, queues: tuple[QueueName, ...]) -> None:
    """Register one Celery task for each queue that this worker consumes, and no other."""
    bell = CeleryBell(app)
    for queue in queues:
        _open(app, crew, bell, queue)
    ours = {task_name(queue.value) for queue in queues}
    app.finalize()
    for name in set(app.tasks) - ours:
        app.tasks.unregister(name)  # Celery's own: they would run tasks with anything


def _open(app: Celery, crew: Crew, bell: CeleryBell, queue: QueueName) -> None:
    def pass_on(job_ids: Sequence[int]) -> None:
        try:
            bell.ring(queue.value, job_ids)
        except Transient as error:  # the coordinator rings for them again
            log.warning("not_passed_on", jobs=list(job_ids), reason=error.reason)

    def door(*job_ids: int) -> str:
        """What Flower shows as the result: whether there was anything to do."""
        try:
            had = crew.carry_out(job_ids, pass_on)
        except Transient as error:
            return f"put back: {error.reason}"
        if had is None:
            return "left to others: this worker stops"
        if len(job_ids) == 1:
            return "done" if had else "nothing to do"
        return f"{had} of {len(job_ids)} taken"

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
