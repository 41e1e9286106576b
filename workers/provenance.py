"""What tasks have left on hosts: written with their attempts, and read by passes."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, select, text

from shared.domain.provenance import Mark, MarkKind
from shared.store.provenance_tables import ProvenanceRow
from shared.store.recordset import as_rows, recordset

KEPT_FOR: Final = "180 days"
"""The age at which a place is forgotten that no task has used again."""

MOST_OF_HOST: Final = 5000
"""The most places that are remembered of one host, the newest first."""

_COLUMNS = ("digest", "host", "kind", "path", "target", "task_id")

_REMEMBER = text(f"""
    INSERT INTO provenance ({", ".join(_COLUMNS)})
    SELECT {", ".join(_COLUMNS)} FROM {recordset("rows", ProvenanceRow, *_COLUMNS)}
    ORDER BY digest
    ON CONFLICT (digest) DO UPDATE SET task_id = excluded.task_id, left_at = clock_timestamp()
""")  # noqa: S608 - nothing but constants

_FORGET = text(f"""
    DELETE FROM provenance WHERE digest IN (
        SELECT digest FROM provenance
        WHERE host = :host AND left_at < clock_timestamp() - INTERVAL '{KEPT_FOR}'
        UNION ALL
        (SELECT digest FROM provenance WHERE host = :host
         ORDER BY left_at DESC OFFSET {MOST_OF_HOST})
    )
""")  # noqa: S608 - nothing but constants


@dataclass(frozen=True, slots=True)
class Left:
    """What a task may leave on a host."""

    host: str
    task: int
    marks: tuple[Mark, ...]


def remember(connection: Connection, left: Iterable[Left]) -> None:
    """Note what tasks may leave on hosts, and forget what is too old or too much."""
    rows = {}
    hosts = set()
    for each in left:
        for mark in each.marks:
            row = {
                "digest": _digest(each.host, mark),
                "host": each.host,
                "kind": mark.kind.value,
                "path": mark.path,
                "target": mark.target,
                "task_id": each.task,
            }
            rows[row["digest"]] = row
            hosts.add(each.host)
    if not rows:
        return
    connection.execute(_REMEMBER, {"rows": as_rows(rows.values())})
    for host in sorted(hosts):
        connection.execute(_FORGET, {"host": host})


def remembered(connection: Connection, host: str) -> dict[Mark, str]:
    """What tasks have left on a host, each with the name of the last task."""
    listed = select(
        ProvenanceRow.kind, ProvenanceRow.path, ProvenanceRow.target, ProvenanceRow.task_id
    ).where(ProvenanceRow.host == host)
    return {
        Mark(MarkKind(row.kind), row.path, row.target): f"T{row.task_id}"
        for row in connection.execute(listed.order_by(ProvenanceRow.left_at))
    }


def _digest(host: str, mark: Mark) -> str:
    joined = f"{host}\0{mark.kind.value}\0{mark.path}\0{mark.target}"
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()
