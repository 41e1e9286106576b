"""What the agents of subtasks may spend on models, in rows; see `AgentBudgetRow`."""

from decimal import ROUND_UP, Decimal

from sqlalchemy import Connection, text
from sqlalchemy.dialects.postgresql import insert as upsert

from shared.domain.approval import SubtaskPlace
from shared.domain.ids import AttemptPlace
from shared.domain.spending import LEAST, CapReached
from shared.store.call_tables import AgentBudgetRow
from shared.wire import from_json

# Not by the number alone: the plan would walk the calls of all tasks until a refused one comes.
_REFUSED = text("""
    SELECT refused FROM model_calls
    WHERE attempt_key = :attempt_key AND refused IS NOT NULL ORDER BY id + 0 LIMIT 1
""")

_CACHED = text("""
    SELECT coalesce(max(input_tokens + cache_read_tokens + cache_written_tokens), 0)
    FROM model_calls
    WHERE attempt_key = ANY(ARRAY(
        SELECT key FROM attempts
        WHERE run_id = :run_id AND step = :step AND revision = :revision AND subtask = :subtask
        UNION SELECT CAST(:key AS text)
    )) AND model = :model AND (cache_read_tokens > 0 OR cache_written_tokens > 0)
""")


_PLACE = ["run_id", "step", "revision", "subtask"]


def plan(connection: Connection, place: AttemptPlace, dollars: Decimal) -> None:
    """Write what a plan allows for the subtask of an attempt; a person's word still replaces it."""
    at = (place.run, place.step, place.revision, place.subtask)
    _write(connection, at, "planned", dollars)


def raise_to(connection: Connection, run_id: int, place: SubtaskPlace, dollars: Decimal) -> None:
    """Write what a person allows for a subtask; 0 for no budget."""
    at = (run_id, place.step, place.revision, place.subtask)
    _write(connection, at, "raised", dollars)


def cap_reached(connection: Connection, attempt_key: str) -> CapReached | None:
    """The cap for which a call of an attempt was not made; None if all were."""
    refused = connection.execute(_REFUSED, {"attempt_key": attempt_key}).scalar_one_or_none()
    return None if refused is None else from_json(CapReached, refused)


def cached_tokens(connection: Connection, place: AttemptPlace, model: str) -> int:
    """The tokens of the longest question of a subtask to a model that the cache has had whole.

    `place` is that of one of its attempts: a later one goes on with the session of an earlier one.
    """
    asked = {**parameters_of(place), "model": model}
    return int(connection.execute(_CACHED, asked).scalar_one())


def parameters_of(place: AttemptPlace | None) -> dict[str, object]:
    """The place of an attempt as parameters of a query; all are empty for None."""
    names = (*_PLACE, "key")
    if place is None:
        return dict.fromkeys(names)
    at = (place.run, place.step, place.revision, place.subtask, place.key)
    return dict(zip(names, at, strict=True))


def _write(
    connection: Connection, place: tuple[int, int, int, int], column: str, dollars: Decimal
) -> None:
    amount = dollars.quantize(LEAST, ROUND_UP)  # 0 would be no budget
    values = {**dict(zip(_PLACE, place, strict=True)), column: amount}
    entered = upsert(AgentBudgetRow).values(values)
    connection.execute(
        entered.on_conflict_do_update(
            index_elements=_PLACE, set_={column: entered.excluded[column]}
        )
    )
