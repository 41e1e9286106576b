"""What is wrong with the processes that serve, as values; pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from orchestrator.views.processes import Presence, ProcessLine, QueueLine, is_anybody
from orchestrator.views.status import Status
from shared.domain.jobs import QueueName
from shared.domain.process_name import ALL, COORDINATOR


class ServingFault(StrEnum):
    """What can be wrong."""

    NO_COORDINATOR = "no_coordinator"
    NO_WORKER = "no_worker"  # none at all
    UNSERVED = "unserved"  # no worker serves a queue
    SILENT = "silent"  # a process is connected and not heard of
    GONE = "gone"  # a process is gone, and nobody has freed its jobs
    OTHER_VERSION = "other_version"  # a process is of another version than this program


@dataclass(frozen=True, slots=True)
class ServingTrouble:
    """Something that is wrong; `role` is that of whoever is missing, or of the `process`."""

    fault: ServingFault
    role: str
    queue: QueueLine | None = None
    process: ProcessLine | None = None


_IF_WANTED = frozenset({QueueName.TASKMASTER})
"""Queues of roles that are switched on: nobody needs to serve them before they have jobs."""


def serving_troubles(found: Status, version: str) -> tuple[ServingTrouble, ...]:
    """Everything that is wrong with who serves, the worst first; `version` is this program's."""
    return (*_missing(found), *_odd(found, version))


def _missing(found: Status) -> Iterator[ServingTrouble]:
    if not found.pooled and not is_anybody(found.coordinators):
        yield ServingTrouble(ServingFault.NO_COORDINATOR, COORDINATOR)
    if not found.pooled and not is_anybody(found.workers):
        yield ServingTrouble(ServingFault.NO_WORKER, ALL)
        return
    for queue in found.queues:
        jobs = queue.waiting + queue.later
        if queue.workers == 0 and (jobs or queue.queue not in _IF_WANTED):
            yield ServingTrouble(ServingFault.UNSERVED, queue.role, queue)


def _odd(found: Status, version: str) -> Iterator[ServingTrouble]:
    for each in (*found.coordinators, *found.workers):
        role = "-".join(each.roles or (ALL,))
        if each.presence is Presence.SILENT:
            yield ServingTrouble(ServingFault.SILENT, role, process=each)
        elif each.presence is Presence.GONE:
            yield ServingTrouble(ServingFault.GONE, role, process=each)
        elif each.version not in {None, version}:
            yield ServingTrouble(ServingFault.OTHER_VERSION, role, process=each)
