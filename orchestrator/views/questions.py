"""Questions to people, and what they answered (S3.11, S3.28, S3.57)."""

import shlex
from collections.abc import Sequence

from sqlalchemy import Connection, text

from orchestrator.views.approvals import Word
from shared.domain.ids import Ref

_ANSWERED = text("""
    SELECT DISTINCT ON (asked.id) asked.id, body ->> 'answer' AS answer, body ->> 'given_by' AS by
    FROM interventions asked
    JOIN events ON events.task_id = asked.task_id AND events.kind = 'QuestionAnswered'
         AND (events.body ->> 'intervention')::bigint = asked.id
    WHERE asked.id = ANY(CAST(:ids AS bigint[]))
    ORDER BY asked.id, events.id
""")


def answers(connection: Connection, intervention_ids: Sequence[int]) -> dict[int, Word]:
    """What persons answered to those of these interventions that asked something."""
    if not intervention_ids:
        return {}
    found = connection.execute(_ANSWERED, {"ids": list(intervention_ids)})
    return {row.id: Word(row.answer, row.by) for row in found}


def commands(number: int, ref: Ref, options: Sequence[str]) -> tuple[str, ...]:
    """What can be typed about a question, an answer each where there is a choice."""
    answer = f"replan intervention answer I{number}"
    ways = [f"{answer} {shlex.quote(option)}" for option in options] or [f"{answer} 'ANSWER'"]
    if ref.step is not None and ref.target is not None:
        ways.append(f"replan step revise {ref} --file revision.yaml")
        ways.append(f"replan step abandon {ref}")
    elif ref.step is None:
        ways.append(f"replan plan provide T{ref.task} --file plan.yaml")
    return (*ways, f"replan task cancel T{ref.task}")
