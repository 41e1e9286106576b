"""The inbox: facts on their way to the coordinator."""

from collections.abc import Collection, Iterable

from sqlalchemy import Connection, func, select, text

from shared.domain.facts import Fact
from shared.fact_wire import encode_fact
from shared.store.database import REPORTS
from shared.store.recordset import as_rows
from shared.store.tables import InboxRow

SENT = """
    sent AS (
        INSERT INTO inbox (task_id, run_id, kind, body, created_at)
        SELECT task_id, run_id, kind, body, clock_timestamp() - make_interval(secs => ago)
        FROM ROWS FROM (
            jsonb_to_recordset(CAST(:rows AS jsonb))
            AS (task_id bigint, run_id bigint, kind text, body jsonb, ago float8)
        ) WITH ORDINALITY AS r(task_id, run_id, kind, body, ago, place)
        ORDER BY place
    )
"""
"""The part of a statement that sends facts, for callers that write something else with it."""

_SEND = text(f"WITH {SENT} SELECT pg_notify(:channel, '')")

Report = tuple[int, int | None, Fact]
"""The task and run (or None) that a fact is about, and the fact."""


def send(connection: Connection, reports: Iterable[Report]) -> None:
    """Put facts into the inbox in this transaction, and wake the coordinator when it commits."""
    send_dated(connection, ((report, 0.0) for report in reports))


def send_dated(connection: Connection, reports: Iterable[tuple[Report, float]]) -> None:
    """The same for facts that happened that many seconds ago."""
    dated = list(reports)
    if dated:
        connection.execute(_SEND, sending(dated))


def sending(reports: Iterable[tuple[Report, float]]) -> dict[str, str]:
    """The parameters of `SENT`, and the `channel` to notify, for such facts."""
    rows = []
    for (task_id, run_id, fact), ago in reports:
        kind, body = encode_fact(fact)
        row = {"task_id": task_id, "run_id": run_id, "kind": kind, "body": body, "ago": ago}
        rows.append(row)
    return {"rows": as_rows(rows), "channel": REPORTS}


def newest(connection: Connection) -> int:
    """The number of the newest fact in the inbox, 0 when it is empty."""
    return connection.execute(select(func.max(InboxRow.id))).scalar() or 0


def pending(connection: Connection, task_ids: Collection[int], up_to: int) -> bool:
    """Whether facts of these tasks, up to that number, still wait for a coordinator."""
    found = connection.execute(
        select(InboxRow.id).where(InboxRow.task_id.in_(task_ids), InboxRow.id <= up_to).limit(1)
    )
    return found.first() is not None
