"""What people said about records of a host that the database does not know."""

from collections.abc import Sequence

from sqlalchemy import Connection, text

from orchestrator.views.approvals import GivenAnswer

_ANSWERED = text("""
    SELECT DISTINCT ON (asked.id) asked.id, body ->> 'answer' AS answer, body ->> 'settled_by' AS by
    FROM interventions asked
    JOIN events ON events.task_id = asked.task_id AND events.kind = 'RecordsSettled'
         AND (events.body ->> 'intervention')::bigint = asked.id
    WHERE asked.id = ANY(CAST(:ids AS bigint[]))
    ORDER BY asked.id, events.id
""")


def answers(connection: Connection, intervention_ids: Sequence[int]) -> dict[int, GivenAnswer]:
    """What people said about the records of these interventions."""
    if not intervention_ids:
        return {}
    found = connection.execute(_ANSWERED, {"ids": list(intervention_ids)})
    return {row.id: GivenAnswer(row.answer, row.by) for row in found}
