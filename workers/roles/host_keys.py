"""Reports a host that shows another key than the enrolled one, whichever role meets it."""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from shared.domain.errors import ReplanError
from shared.domain.facts import HostKeyChanged
from shared.store import inbox
from shared.store.database import Database
from workers.shells.remote.hostkeys import WrongHostKey

log = structlog.get_logger()


@contextmanager
def reports_changed_keys(database: Database, task_id: int) -> Iterator[None]:
    """Report a changed host key to the coordinator if the block, run for that task, meets one.

    The error is raised again, so that the step waits and a person is told. An attacker in between
    could show the old key again, so only a person can enable a disabled host.
    """
    try:
        yield
    except WrongHostKey as error:
        _report(database, task_id, HostKeyChanged(error.host, error.reason))
        raise


def _report(database: Database, task_id: int, fact: HostKeyChanged) -> None:
    try:
        with database.begin() as connection:
            inbox.send(connection, [(task_id, None, fact)])
        log.error("host_key_changed", host=fact.host, reason=fact.reason)
    except ReplanError as failed:
        # The connection is refused all the same; the next one to that host reports it.
        log.warning("host_key_not_reported", host=fact.host, reason=failed.reason)
