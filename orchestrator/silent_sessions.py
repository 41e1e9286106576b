"""Sessions of Postgres that hold what others need, and whose clients have fallen silent.

The server ends a transaction that is idle. It waits for ever for a client that fell silent within a
batch, whose statements have begun and whose end has not come: `idle_in_transaction_session_timeout`
counts only between batches. Where a proxy acknowledges what nobody will ever answer, the network
does not end such a session either.

Whether anybody waits says nothing: who takes tasks and jobs skips those that are locked, so what a
silent session holds would never be taken up, and nobody would notice.
"""

from typing import Any

from sqlalchemy import text

from shared.store.database import Database

_SILENT = text("""
    SELECT pid, backend_start, state_change
    FROM pg_stat_activity
    WHERE datname = current_database() AND usename = current_user
      AND split_part(application_name, ' ', 1)
          = split_part(current_setting('application_name'), ' ', 1)
      AND backend_type = 'client backend' AND state = 'active' AND xact_start IS NOT NULL
      AND wait_event_type = 'Client'
      AND state_change < clock_timestamp() - make_interval(secs => :after)
""")
_END = text("""
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE (pid, backend_start, state_change)
          IN (SELECT * FROM unnest(:pids, :starts, :changes)) AND wait_event_type = 'Client'
""")


class SilentSessions:
    """Ends our sessions whose clients have been silent within a batch for too long.

    That is as long as the server lets a transaction be idle, and at two looks in a row: the end of
    a long statement looks like silence for a moment. Sessions of other programs stay, as that of a
    backup.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._seen: set[tuple[Any, ...]] = set()

    def end(self) -> int:
        """Look once; returns how many have been ended. Raises Transient."""
        with self._database.autocommit() as connection:
            rows = connection.execute(_SILENT, {"after": self._database.longest_pause})
            found = {tuple(row) for row in rows}
            silent = sorted(found & self._seen)
            self._seen = found - set(silent)
            if not silent:
                return 0
            pids, starts, changes = (list(column) for column in zip(*silent, strict=True))
            given = {"pids": pids, "starts": starts, "changes": changes}
            return int(connection.execute(_END, given).scalar_one())
