"""Sessions of Postgres that hold what others wait for, and whose clients have fallen silent.

The server ends a transaction that is idle. It waits for ever for a client that fell silent within a
batch, whose statements have begun and whose end has not come: `idle_in_transaction_session_timeout`
counts only between batches. Where a proxy acknowledges what nobody will ever answer, the network
does not end such a session either.
"""

from sqlalchemy import text

from shared.store.database import Database

_END = text("""
    SELECT count(pg_terminate_backend(holder.pid))
    FROM pg_stat_activity holder
    WHERE holder.pid IN (
            SELECT unnest(pg_blocking_pids(waiting.pid)) FROM pg_stat_activity waiting
            WHERE waiting.datname = current_database() AND waiting.wait_event_type = 'Lock'
        )
      AND holder.datname = current_database() AND holder.usename = current_user
      AND holder.application_name = current_setting('application_name')
      AND holder.backend_type = 'client backend' AND holder.wait_event_type = 'Client'
      AND holder.state_change < clock_timestamp() - make_interval(secs => :after)
""")


def end_silent_holders(database: Database) -> int:
    """End our sessions that others wait for, and whose clients have been silent for too long.

    That is as long as the server lets a transaction be idle. Sessions of other programs stay, as
    that of a backup. Returns how many there were. Raises Transient.
    """
    with database.autocommit() as connection:
        return int(connection.execute(_END, {"after": database.longest_pause}).scalar_one())
