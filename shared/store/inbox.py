"""The inbox: facts on their way to the coordinator."""

from collections.abc import Collection, Iterable

from sqlalchemy import Connection, func, select, text

from shared.domain.facts import Fact
from shared.store.database import REPORTS
from shared.store.recordset import as_rows
from shared.store.tables import InboxRow
from shared.wire import encode_fact

_SEND = text("""
    WITH sent AS (
        INSERT INTO inbox (task_id, run_id, kind, body)
        SELECT task_id, run_id, kind, body
        FROM ROWS FROM (
            jsonb_to_recordset(CAST(:rows AS jsonb))
            AS (task_id bigint, run_id bigint, kind text, body jsonb)
        ) WITH ORDINALITY AS r(task_id, run_id, kind, body, place)
        ORDER BY place
    )
    SELECT pg_notify(:channel, '')
""")

Report = tuple[int, int | None, Fact]
"""Whom a fact is about (task, run or None) and the fact."""


def send(connection: Connection, reports: Iterable[Report]) -> None:
    """Put facts into the inbox in this transaction, and wake the coordinator when it commits."""
    rows = []
    for task_id, run_id, fact in reports:
        kind, body = encode_fact(fact)
        rows.append({"task_id": task_id, "run_id": run_id, "kind": kind, "body": body})
    if rows:
        connection.execute(_SEND, {"rows": as_rows(rows), "channel": REPORTS})


def newest(connection: Connection) -> int:
    """The number of the newest fact in the inbox, 0 when it is empty."""
    return connection.execute(select(func.max(InboxRow.id))).scalar() or 0


def pending(connection: Connection, task_ids: Collection[int], up_to: int) -> bool:
    """Whether facts of these tasks, up to that number, still wait for a coordinator."""
    found = connection.execute(
        select(InboxRow.id).where(InboxRow.task_id.in_(task_ids), InboxRow.id <= up_to).limit(1)
    )
    return found.first() is not None
