"""Execution jobs: one pass over a step on its host, written to the journal as it goes."""

import threading
from collections.abc import Callable

from shared.domain.attempt import Attempt
from shared.domain.facts import Fact, PassFinished
from shared.guard import Guard, default_entries
from shared.store.database import Database
from workers.executor.clock import SystemClock
from workers.executor.passes import carry_out
from workers.journal import Journal
from workers.leases import Hold
from workers.ports import Connections, PassOrder
from workers.store import StepBrief, step_brief


class Executor:
    """Carries out passes; many at once in one process, on warm connections."""

    def __init__(
        self,
        database: Database,
        journal: Journal,
        connections: Connections,
        guard_for: Callable[[tuple[str, ...]], Guard],
    ) -> None:
        self._database = database
        self._journal = journal
        self._connections = connections
        self._guard_for = guard_for

    def perform(self, hold: Hold) -> Fact:
        """One pass. Raises Transient when the host cannot be reached or is lost on the way."""
        job = hold.job
        with self._database.begin() as connection:
            brief = step_brief(connection, job)
        order = _order(brief, job.revision, job.pass_no)
        guard = self._guard_for(order.policy.forbidden_commands)
        shell = self._connections.shell(order.host)
        try:
            result = carry_out(order, shell, guard, HeldLog(self._journal, hold), SystemClock())
        finally:
            shell.close()
        return PassFinished(
            step=brief.step.ordinal,
            revision=job.revision,
            pass_no=job.pass_no,
            ending=result.ending,
            errors=result.errors,
            reason=result.reason,
        )


class HeldLog:
    """The pass's view of the journal: everything under the fence of the job in hand."""

    def __init__(self, journal: Journal, hold: Hold) -> None:
        self._journal = journal
        self._hold = hold

    def started(self, attempt: Attempt) -> None:
        """An attempt begins."""
        self._journal.began(self._hold.job, attempt)

    def output(self, key: str, stream: str, chunk: bytes) -> None:
        """Output of an attempt arrived."""
        self._journal.output(key, stream, chunk)

    def finished(self, attempt: Attempt) -> None:
        """An attempt ended."""
        self._journal.ended(self._hold.job, attempt)

    def cancelled(self) -> bool:
        """True once the job is cancelled, given up or somebody else's."""
        stopped = self._hold.lost.is_set() or self._hold.given_up.is_set()
        return stopped or self._journal.refused(self._hold.job)


class Guards:
    """One guard for each list of forbidden commands: what it has judged before it knows."""

    def __init__(self) -> None:
        self._guards: dict[tuple[str, ...], Guard] = {}
        self._lock = threading.Lock()

    def __call__(self, forbidden: tuple[str, ...]) -> Guard:
        """The guard for the operator's list; the rules that ship with it are always in force."""
        with self._lock:
            if forbidden not in self._guards:
                self._guards[forbidden] = Guard((*default_entries(), *forbidden))
            return self._guards[forbidden]


def _order(brief: StepBrief, revision: int, pass_no: int) -> PassOrder:
    return PassOrder(
        run_id=brief.run_id,
        task_ref=f"T{brief.task.id}",
        host=brief.host,
        step=brief.step,
        subtasks=brief.subtasks,
        revision=revision,
        pass_no=pass_no,
        policy=brief.task.policy,
        earlier=brief.attempts,
    )
