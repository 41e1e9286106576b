"""Notes on attempts in rows: written under the claim of their job, read back as values."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, select, text

from shared.domain.attempt_notes import NOTES, AttemptNote, NoteKind, kind_of
from shared.domain.errors import Defect
from shared.domain.jobs import Claim
from shared.store.recordset import as_rows, recordset
from shared.store.tables import AttemptNoteRow
from shared.wire import from_json, to_json

_GIVEN: Final = ("id", "attempt_key", "kind", "body", "at")

_ADD = text(f"""
    INSERT INTO attempt_notes (id, attempt_key, run_id, step, kind, body, at)
    SELECT r.id, r.attempt_key, attempts.run_id, attempts.step, r.kind, r.body, r.at
    FROM {recordset("rows", AttemptNoteRow, *_GIVEN, job="bigint", claim="text")}
    JOIN attempts ON attempts.key = r.attempt_key
    JOIN jobs ON jobs.id = r.job AND jobs.tokens[cardinality(jobs.tokens)] = r.claim
    ORDER BY r.id
    ON CONFLICT (id) DO NOTHING
""")  # noqa: S608 - nothing but constants

_RESERVE = text("""
    SELECT nextval(pg_get_serial_sequence('attempt_notes', 'id')) FROM generate_series(1, :count)
""")


@dataclass(frozen=True, slots=True)
class NoteWrite:
    """A note on the attempt with that key, to write under the claim of its job."""

    claim: Claim
    key: str
    note: AttemptNote
    at: datetime


def reserve(connection: Connection, count: int) -> list[int]:
    """Reserve numbers for that many notes; they stay reserved even if unused."""
    return list(connection.execute(_RESERVE, {"count": count}).scalars()) if count else []


def add(connection: Connection, numbers: Sequence[int], notes: Sequence[NoteWrite]) -> None:
    """Add notes on attempts that have rows, each with its number.

    A note whose number exists already is not added again. One under a claim that is not the job's
    latest is dropped.
    """
    rows = [
        {
            "id": number,
            "attempt_key": each.key,
            "kind": kind_of(each.note).value,
            "body": to_json(each.note),
            "at": each.at,
            "job": each.claim.job,
            "claim": each.claim.token,
        }
        for number, each in zip(numbers, notes, strict=True)
    ]
    if rows:
        connection.execute(_ADD, {"rows": as_rows(rows)})


def of_attempt(connection: Connection, key: str) -> tuple[AttemptNote, ...]:
    """The notes on an attempt, oldest first."""
    table = AttemptNoteRow.__table__
    query = select(table).where(table.c.attempt_key == key).order_by(table.c.id)
    return tuple(_known(connection.execute(query)))


def note_of(row: Any) -> AttemptNote:
    """The note in a row; raises Defect for one that this version cannot read."""
    try:
        form = NOTES[NoteKind(row.kind)]
    except ValueError:
        raise Defect(f"unknown note {row.kind!r}", stage="wire") from None
    return from_json(form, row.body)


def _known(rows: Iterable[Any]) -> Iterable[AttemptNote]:
    known = {kind.value for kind in NoteKind}
    return (note_of(row) for row in rows if row.kind in known)
