"""What a person may ask about the whole installation, and about the processes that serve."""

from dataclasses import dataclass, fields, replace

from orchestrator.acts.caller import Caller
from orchestrator.acts.verbs import act
from orchestrator.doctor import Finding, serving_findings
from orchestrator.views.processes import Processes, processes
from orchestrator.views.status import Status, is_running, status, with_messages
from shared.domain.errors import ReplanError


@dataclass(frozen=True, slots=True)
class Overview(Status):
    """A status, whether somebody decides and somebody works, and what is wrong with that."""

    running: bool = False
    troubles: tuple[Finding, ...] = ()


@act("status")
def look_at_status(caller: Caller) -> Overview:
    """Who serves and what waits, with the messages that the broker has if it can be asked.

    Raises Misconfigured or Transient while the database cannot be used.
    """
    with caller.database.reading() as connection:
        found = status(connection)
    found = _with_broker(caller, found)
    known = {field.name: getattr(found, field.name) for field in fields(found)}
    return Overview(**known, running=is_running(found), troubles=serving_findings(found))


def _with_broker(caller: Caller, found: Status) -> Status:
    from shared.queue.app import unread_messages

    try:
        counts = unread_messages(caller.settings.server.broker_url)
    except ReplanError as error:
        return replace(found, broker=error.reason)
    return replace(found, queues=with_messages(found.queues, counts))


@act("worker.list")
def list_processes(caller: Caller) -> Processes:
    """Every coordinator and worker. Raises Misconfigured or Transient."""
    with caller.database.reading() as connection:
        return processes(connection)
