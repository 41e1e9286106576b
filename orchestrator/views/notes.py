"""What was noted about attempts of agents while they worked."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from shared.domain.attempt_notes import NOTES, AttemptNote
from shared.store.attempt_notes import note_of
from shared.store.tables import AttemptNoteRow


@dataclass(frozen=True, slots=True)
class NoteLine:
    """A note on an attempt; `kind` says which form it has."""

    at: datetime
    kind: str
    note: AttemptNote


def notes_by_attempt(
    connection: Connection,
    *,
    runs: Collection[int] = (),
    step: int | None = None,
    key: str | None = None,
) -> dict[str, tuple[NoteLine, ...]]:
    """The notes on all attempts of these runs, of one step of them, or on the one with that key.

    They are by the keys of the attempts, oldest first; what a newer version has written is left
    out.
    """
    table = AttemptNoteRow.__table__
    query = select(table).where(table.c.kind.in_([kind.value for kind in NOTES]))
    query = query.where(table.c.run_id.in_(runs) if key is None else table.c.attempt_key == key)
    if step is not None:
        query = query.where(table.c.step == step)
    found: dict[str, list[NoteLine]] = defaultdict(list)
    for row in connection.execute(query.order_by(table.c.id)):
        found[row.attempt_key].append(NoteLine(row.at, row.kind, note_of(row)))
    return {key: tuple(lines) for key, lines in found.items()}
