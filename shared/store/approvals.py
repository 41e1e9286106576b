"""Approvals in rows: given by persons, used by the attempts that they are for.

All that is compared with time is compared with the database's clock.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, insert, text

from shared.domain.approval import Approval
from shared.store.tables import ApprovalRow

_OF_IT = "task_id = :task_id AND digest = ANY(CAST(:digests AS text[]))"
_UNUSED = "expires_at > clock_timestamp() AND (scope = 'task' OR used_by IS NULL)"
_LIVE = f"{_OF_IT} AND (used_by = :key OR {_UNUSED})"

_HOLDS = text(f"SELECT EXISTS (SELECT FROM approvals WHERE {_OF_IT} AND {_UNUSED})")  # noqa: S608

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


def holds(connection: Connection, task_id: int, digests: Sequence[str]) -> bool:
    """Whether there is an approval of one of these digests that is neither used up nor expired."""
    asked = {"task_id": task_id, "digests": list(digests)}
    return bool(connection.execute(_HOLDS, asked).scalar())


def spend(connection: Connection, task_id: int, digests: Sequence[str], key: str) -> bool:
    """Use an approval of one of these digests for the attempt with that key; False without any.

    One that serves once is given to one key, whoever asks at the same time, and to that key again
    however often: an attempt that is driven on has had its approval. The caller commits before
    anything starts.
    """
    asked = {"task_id": task_id, "digests": list(digests), "key": key}
    return connection.execute(_SPEND, asked).first() is not None
