"""Commands with an unknown outcome: the evidence, and a person's answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.views.values import RefValue
from shared.domain.attempt import Answer, explain
from shared.domain.ids import Ref

SHOWN = 2000
"""Characters of each stream, from its end, that the evidence includes."""

_ASKED = text("""
    SELECT asked.id, asked.task_id, asked.step, runs.target, told.body ->> 'answer' AS answer,
           tried.subtask, tried.number, tried.command, tried.reason, tried.told_by_person,
           tried.started_at,
           tried.stdout, tried.stderr, tried.worker, tried.rollback,
           coalesce(revisions.subtasks, planned.body -> 'subtasks') AS subtasks
    FROM interventions asked
    JOIN runs ON runs.id = asked.run_id
    JOIN LATERAL (
        SELECT (body ->> 'pass_no')::bigint AS pass_no, (body ->> 'revision')::bigint AS revision
        FROM events
        WHERE events.task_id = asked.task_id AND events.run_id = asked.run_id
          AND kind = 'PassFinished' AND (body ->> 'step')::bigint = asked.step
          AND at <= asked.opened_at
        ORDER BY id DESC LIMIT 1
    ) AS ended ON true
    LEFT JOIN LATERAL (
        SELECT * FROM attempts
        WHERE attempts.run_id = asked.run_id AND attempts.step = asked.step
          AND attempts.pass_no = ended.pass_no AND NOT attempts.look
        ORDER BY id DESC LIMIT 1
    ) AS tried ON true
    LEFT JOIN LATERAL (
        SELECT body FROM events
        WHERE events.task_id = asked.task_id AND events.run_id = asked.run_id
          AND kind = 'OutcomeTold' AND (body ->> 'step')::bigint = asked.step
          AND (body ->> 'pass_no')::bigint = ended.pass_no
        ORDER BY id LIMIT 1
    ) AS told ON true
    LEFT JOIN revisions ON revisions.run_id = asked.run_id AND revisions.step = asked.step
         AND revisions.revision = ended.revision
    LEFT JOIN planned_steps AS planned
         ON planned.run_id = asked.run_id AND planned.step = asked.step
    WHERE asked.id = ANY(CAST(:ids AS bigint[]))
""")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about a command with an unknown outcome.

    `reason` says why it is unknown; `stdout` and `stderr` are the ends of its output; `check` is
    the check of its subtask, None when there is none.
    """

    attempt: RefValue
    host: str
    command: str
    reason: str
    stdout: str
    stderr: str
    check: str | None
    started_at: datetime
    worker: str


@dataclass(frozen=True, slots=True)
class UnknownOutcome:
    """The evidence of an intervention, and the answer that was given (`ran`, `not_run`, …)."""

    evidence: Evidence | None = None
    answer: str | None = None


def unknown_outcomes(
    connection: Connection, intervention_ids: Sequence[int]
) -> dict[int, UnknownOutcome]:
    """The evidence and answer of each intervention of kind `unknown`."""
    if not intervention_ids:
        return {}
    found = connection.execute(_ASKED, {"ids": list(intervention_ids)})
    return {row.id: UnknownOutcome(_evidence(row), row.answer) for row in found}


def _evidence(row: Any) -> Evidence | None:
    if row.subtask is None:
        return None
    ref = Ref(row.task_id, row.step, row.subtask, row.number, row.target)
    answer = None if row.told_by_person is None else Answer(row.told_by_person)
    checks = (s.get("check") for s in row.subtasks or () if s["ordinal"] == row.subtask)
    return Evidence(
        attempt=ref,
        host=row.target,
        command=row.command,
        reason=explain(row.reason, None, answer),
        stdout=row.stdout[-SHOWN:],
        stderr=row.stderr[-SHOWN:],
        check=None if row.rollback else next(checks, None),
        started_at=row.started_at,
        worker=row.worker,
    )
