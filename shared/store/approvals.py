"""Approvals in rows: given by people, used by attempts.

Times are compared with the database's clock.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, insert, text

from shared.domain.approval import Approval, ApprovalScope
from shared.store.tables import ApprovalRow

_OF_IT = "task_id = :task_id AND digest = ANY(CAST(:digests AS text[]))"
_UNUSED = "expires_at > clock_timestamp() AND (scope = 'task' OR used_by IS NULL)"
_LIVE = f"(used_by = :key OR {_UNUSED})"

_UNUSED_ONES = text(f"SELECT id FROM approvals WHERE {_OF_IT} AND {_UNUSED}")  # noqa: S608

_RULES = text("""
    SELECT digest, scope, given_by, expires_at, signature, rule FROM approvals
    WHERE task_id = :task_id AND scope = 'rule' AND expires_at > clock_timestamp() ORDER BY id
""")

_OFFERED = text(f"""
    SELECT id, digest, scope, given_by, expires_at, signature FROM approvals
    WHERE {_OF_IT} AND {_LIVE}
    ORDER BY used_by IS NOT DISTINCT FROM :key DESC, scope = 'task' DESC, id
""")  # noqa: S608 - nothing but constants

_SPEND = text(f"""
    UPDATE approvals SET
        used_at = coalesce(used_at, clock_timestamp()), used_by = coalesce(used_by, :key)
    WHERE id = :id AND {_LIVE} RETURNING id
""")  # noqa: S608 - nothing but constants


def grant(connection: Connection, task_id: int, given: Sequence[Approval]) -> None:
    """Store what a person approved."""
    rows = [
        {
            "task_id": task_id,
            "digest": approval.digest,
            "scope": approval.scope.value,
            "given_by": approval.given_by,
            "expires_at": approval.expires_at,
            "signature": approval.signature,
            "rule": approval.rule,
        }
        for approval in given
    ]
    if rows:
        connection.execute(insert(ApprovalRow), rows)


def unused(connection: Connection, task_id: int, digests: Sequence[str]) -> frozenset[int]:
    """The numbers of the approvals of these digests that are neither used up nor expired."""
    asked = {"task_id": task_id, "digests": list(digests)}
    return frozenset(connection.execute(_UNUSED_ONES, asked).scalars())


def candidates(
    connection: Connection, task_id: int, digests: Sequence[str], key: str
) -> tuple[tuple[int, Approval], ...]:
    """The approvals that an attempt with that key can use, each with its number, best first.

    Those that it has used already come first, then those for the whole task.
    """
    asked = {"task_id": task_id, "digests": list(digests), "key": key}
    return tuple((row.id, _approval(row)) for row in connection.execute(_OFFERED, asked))


def rules(connection: Connection, task_id: int) -> tuple[Approval, ...]:
    """The rules that people have given a task, and that have not expired, oldest first."""
    found = connection.execute(_RULES, {"task_id": task_id})
    return tuple(replace(_approval(row), rule=row.rule) for row in found)


def spend(connection: Connection, approval_id: int, key: str) -> bool:
    """Use the approval for the attempt with that key; False if it has expired or is used up.

    An approval for one use goes to one key, even if several ask at once, and to that key as often
    as it asks: an attempt that is resumed keeps its approval. The caller commits before anything
    starts.
    """
    return connection.execute(_SPEND, {"id": approval_id, "key": key}).first() is not None


def _approval(row: Any) -> Approval:
    return Approval(
        digest=row.digest,
        scope=ApprovalScope(row.scope),
        given_by=row.given_by,
        expires_at=row.expires_at,
        signature=row.signature,
    )
