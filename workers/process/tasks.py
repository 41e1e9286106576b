"""The doors: a message brings job ids, and the crew carries out the jobs."""

from collections import UserDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import structlog
from celery import Celery
from celery.worker.control import Panel

from shared.domain.errors import Misconfigured, Transient
from shared.domain.jobs import QueueName
from shared.queue.app import CeleryBell, task_name
from workers.process.job_threads import Crew
from workers.process.messages import only_jobs

log = structlog.get_logger()


def open_doors(app: Celery, crews: Mapping[QueueName, Crew]) -> None:
    """Register one Celery task for each queue that this worker consumes, and no other tasks."""
    bell = CeleryBell(app)
    for queue, crew in crews.items():
        _open(app, crew, bell, queue)
    ours = {task_name(queue.value) for queue in crews}
    app.finalize()
    for name in set(app.tasks) - ours:
        app.tasks.unregister(name)  # Celery's own tasks would run other tasks with any arguments


def _open(app: Celery, crew: Crew, bell: CeleryBell, queue: QueueName) -> None:
    def pass_on(job_ids: Sequence[int]) -> None:
        try:
            bell.ring(queue.value, job_ids)
        except (Transient, Misconfigured) as error:  # the coordinator will ring for them again
            log.warning("jobs_not_passed_on", jobs=list(job_ids), reason=error.reason)

    def door(*job_ids: int) -> str:
        """The result that is logged: whether there was anything to do."""
        try:
            had = crew.carry_out(job_ids, pass_on)
        except (Transient, Misconfigured) as error:
            return f"put back: {error.reason}"
        if had is None:
            return "left to other workers: this one is stopping, or has no free place"
        if len(job_ids) == 1:
            return "done" if had else "nothing to do"
        return f"{had} of {len(job_ids)} claimed"

    app.task(
        door,
        name=task_name(queue.value),
        ignore_result=True,
        send_events=False,  # about jobs, `JobEvents` says more
        max_retries=0,
        shared=False,  # register it with this app only: a process may have several
        Strategy=staticmethod(only_jobs),
    )


def open_panel(on_revoke: Callable[[Iterable[object]], None]) -> None:
    """Make this process understand the command `revoke`, through `on_revoke`, and no other.

    Anyone who can write to the broker can send commands: to stop a worker, to make it consume
    other queues, to read its settings. All of Celery's own commands are removed.
    """

    def revoke(_state: Any, task_id: object = (), **_options: object) -> dict[str, str]:
        """Options such as `terminate` and `signal` make no difference."""
        on_revoke(task_id if isinstance(task_id, list) else [task_id])
        return {"ok": "its run will be cancelled if it is open"}

    Panel.data = _Commands(revoke=revoke)


class _Commands(UserDict[str, Callable[..., Any]]):
    """The supported commands; any other command does nothing and returns nothing."""

    def __missing__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None
