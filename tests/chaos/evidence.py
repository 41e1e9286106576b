"""What the database says in the end, read once and sorted by task."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.chaos.rows import Rows

Place = tuple[int, int, int]
"""Step, revision, subtask."""

ATTEMPTS: Final = """
    SELECT r.task_id, r.target, a.*, b.data AS whole,
           extract(epoch FROM a.started_at) AS since, extract(epoch FROM a.ended_at) AS until
    FROM attempts a JOIN runs r ON r.id = a.run_id LEFT JOIN blobs b ON b.digest = a.stdout_blob
    ORDER BY r.task_id, a.step, a.revision, a.subtask, a.pass_no, a.try_no
"""

LEFT: Final = """
    SELECT 'job ' || id || ' of T' || task_id || ' is still open' AS what
    FROM jobs WHERE state = 'open'
    UNION ALL SELECT 'a report about T' || task_id || ' was never read' FROM inbox
    UNION ALL SELECT 'live output of ' || attempt_key || ' was left'
    FROM live_output GROUP BY attempt_key
"""

OWNERS: Final = """
    SELECT id, queue, owner, task_id FROM jobs WHERE owner IS NOT NULL
"""

EARLY: Final = """
    SELECT a.key, extract(epoch FROM a.started_at) AS since FROM attempts a
    JOIN (SELECT run_id, step, revision, pass_no, min(due_at) AS due FROM jobs
          WHERE kind = 'execute' GROUP BY run_id, step, revision, pass_no) j
    USING (run_id, step, revision, pass_no)
    WHERE a.started_at < j.due - interval '50 milliseconds'
"""

DEFECTS: Final = """
    SELECT task_id, body->>'error' AS error FROM events WHERE kind = 'Defect' ORDER BY id
"""


ASKED: Final = """
    SELECT i.task_id, i.closed_at, r.token AS run, i.step, record ->> 'claim' AS claim,
           (record ->> 'revision')::int AS revision, (record ->> 'pass_no')::int AS pass_no
    FROM interventions i JOIN runs r ON r.id = i.run_id, jsonb_array_elements(i.records) AS record
    WHERE i.kind = 'forgotten' ORDER BY i.id
"""
"""What people were asked about because a host knows it and the database does not."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Rows, as far as the verdict needs them."""

    phases: Mapping[int, str]
    attempts: Mapping[int, Mapping[Place, Sequence[Any]]]
    stories: Mapping[int, str]
    left: Sequence[str]
    owners: Sequence[Any]
    early: Sequence[Any]
    defects: Sequence[str]
    asked: Sequence[Any] = ()


def gather(rows: Rows) -> Evidence:
    """Read everything."""
    attempts: dict[int, dict[Place, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for row in rows.all(ATTEMPTS):
        attempts[row.task_id][row.step, row.revision, row.subtask].append(row)
    stories: dict[int, str] = {}
    for row in rows.all("SELECT task_id, kind, reason FROM interventions ORDER BY id"):
        told = f"{row.kind}: {row.reason}"
        stories[row.task_id] = "; ".join(filter(None, (stories.get(row.task_id), told)))
    return Evidence(
        phases={row.id: row.phase for row in rows.all("SELECT id, phase FROM tasks")},
        attempts={task_id: dict(places) for task_id, places in attempts.items()},
        stories=stories,
        left=[row.what for row in rows.all(LEFT)],
        owners=rows.all(OWNERS),
        early=rows.all(EARLY),
        asked=rows.all(ASKED),
        defects=[f"T{row.task_id}: {row.error}" for row in rows.all(DEFECTS)],
    )
