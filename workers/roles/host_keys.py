"""A host that shows another key than the enrolled one is disabled, whoever met it."""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from shared.domain.errors import ReplanError
from shared.store import hosts
from shared.store.database import Database
from workers.shells.remote.hostkeys import HostKeyChanged

log = structlog.get_logger()


@contextmanager
def distrusting(database: Database) -> Iterator[None]:
    """When what is done here meets a changed host key, nothing runs on that host from then on.

    The error is raised on, so that the step waits and a person is told. Whoever stands between
    could show the old key again: only a person's word brings the host back.
    """
    try:
        yield
    except HostKeyChanged as error:
        _disable(database, error)
        raise


def _disable(database: Database, error: HostKeyChanged) -> None:
    try:
        with database.begin() as connection:
            if hosts.distrust(connection, error.host, error.reason):
                log.error("host_disabled", host=error.host, reason=error.reason)
    except ReplanError as failed:
        # The refusal stands all the same; the next one to come there disables it.
        log.warning("host_not_disabled", host=error.host, reason=failed.reason)
