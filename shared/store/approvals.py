"""Approvals in rows: given by persons, used by the attempts that they are for.

All that is compared with time is compared with the database's clock.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, insert, text

from shared.domain.approval import Approval
from shared.store.tables import ApprovalRow

_LIVE = """
    task_id = :task_id AND digest = ANY(CAST(:digests AS text[])) AND (
        used_by = :key
        OR expires_at > clock_timestamp() AND (scope = 'task' OR used_by IS NULL)
    )
"""

_HOLDS = text(f"SELECT EXISTS (SELECT FROM approvals WHERE {_LIVE})")  # noqa: S608 - constants

_SPEND = text(f"""
    UPDATE approvals SET
        used_at = coalesce(used_at, clock_timestamp()), used_by = coalesce(used_by, :key)
    WHERE id = (
        SELECT id FROM approvals WHERE {_LIVE}
        ORDER BY used_by IS NOT DISTINCT FROM :key DESC, scope = 'task' DESC, id
        LIMIT 1 FOR UPDATE
    ) AND {_LIVE}
    RETURNING id
""")  # noqa: S608 - nothing but constants


def grant(connection: Connection, task_id: int, given: Sequence[Approval]) -> None:
    """Write down what a person has approved."""
    rows = [
        {
            "task_id": task_id,
            "digest": approval.digest,
            "scope": approval.scope.value,
            "given_by": approval.given_by,
            "expires_at": approval.expires_at,
        }
        for approval in given
    ]
    if rows:
        connection.execute(insert(ApprovalRow), rows)


def holds(connection: Connection, task_id: int, digests: Sequence[str], key: str) -> bool:
    """Whether an attempt with that key would find an approval; nothing is used."""
    return bool(connection.execute(_HOLDS, _asked(task_id, digests, key)).scalar())


def spend(connection: Connection, task_id: int, digests: Sequence[str], key: str) -> bool:
    """Use an approval of one of these digests for the attempt with that key; False without any.

    One that serves once is given to one key, whoever asks at the same time, and to that key again
    however often: an attempt that is driven on has had its approval. The caller commits before
    anything starts.
    """
    return connection.execute(_SPEND, _asked(task_id, digests, key)).first() is not None


def _asked(task_id: int, digests: Sequence[str], key: str) -> dict[str, object]:
    return {"task_id": task_id, "digests": list(digests), "key": key}
