"""What Flower shows of jobs: an event when one begins, and one when it ends (D.9)."""

from typing import Any, Final

from shared.domain.budget import Ending
from shared.domain.facts import Fact, JobFailed, PassFinished
from shared.domain.ids import Ref
from shared.domain.jobs import Job

_WITHOUT_FAULT: Final = frozenset(
    {Ending.DONE, Ending.NEEDS_APPROVAL, Ending.NEEDS_INPUT, Ending.CANCELLED}
)
"""How passes end with nothing that failed."""

_LONGEST: Final = 300
"""Characters of a reason that are shown."""


class JobEvents:
    """Tells Flower of each job under the place in its task that every verb takes, `T12.1@web1`.

    A message rings for several jobs, and is read long before they end: Celery's own events about
    messages could not say which job failed. While no broker is connected, nothing is told.
    """

    def __init__(self) -> None:
        self._dispatcher: Any = None

    def connect(self, dispatcher: Any) -> None:
        """Send through this dispatcher of events from now on; None sends nothing."""
        self._dispatcher = dispatcher

    def begin(self, job: Job) -> None:
        """A worker has claimed the job and begins it."""
        name = f"replan.{job.kind.value}"
        self._send(job, "received", name=name, args=str(_place(job)), kwargs="")
        self._send(job, "started")

    def end(self, job: Job, fact: Fact, seconds: float) -> None:
        """The job has ended with a fact, after so many seconds."""
        failure = _failure(fact)
        if failure:
            self._send(job, "failed", exception=failure, traceback="")
        else:
            self._send(job, "succeeded", result=_result(fact), runtime=seconds)

    def withdraw(self, job: Job) -> None:
        """The job was cancelled, or another worker has it, whose events follow."""
        self._send(job, "revoked", terminated=False, signum=None, expired=False)

    def _send(self, job: Job, event: str, **fields: object) -> None:
        if self._dispatcher is not None:
            self._dispatcher.send(f"task-{event}", uuid=f"job-{job.id}", **fields)


def _place(job: Job) -> Ref:
    return Ref(job.task_id, job.step, target=job.target)


def _failure(fact: Fact) -> str:
    """Why the work of a job has failed; empty if it has not."""
    if isinstance(fact, JobFailed):
        return _line(fact.reason)
    if isinstance(fact, PassFinished) and fact.ending not in _WITHOUT_FAULT:
        return _line(f"{_word(fact.ending)}: {fact.reason}" if fact.reason else _word(fact.ending))
    return ""


def _result(fact: Fact) -> str:
    return _word(fact.ending) if isinstance(fact, PassFinished) else "done"


def _word(ending: Ending) -> str:
    return ending.value.replace("_", " ")


def _line(reason: str) -> str:
    first = reason.partition("\n")[0]
    return first if len(first) <= _LONGEST else f"{first[:_LONGEST]}…"
