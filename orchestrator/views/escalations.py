"""Who received the evidence of a step, each time it was gathered (S0.79, S0.80)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import Connection, text

from orchestrator.views.causes import causes_in
from shared.domain.cause import Cause

_GATHERED = text("""
    SELECT b.run_id, b.step, b.revision, b.pass_no, b.created_at, b.body -> 'causes' AS causes,
        given.recipient
    FROM bundles b
    LEFT JOIN LATERAL (
        SELECT jobs.created_at AS at, CASE
            WHEN jobs.kind = 'replan' THEN 'planner'
            WHEN jobs.kind = 'advise' THEN 'adviser'
            WHEN EXISTS (
                SELECT FROM events WHERE events.task_id = jobs.task_id
                  AND events.run_id = b.run_id AND events.kind = 'StepRevised'
                  AND (events.body ->> 'step')::bigint = b.step
                  AND (events.body ->> 'revision')::bigint = b.revision + 1
                  AND events.body ->> 'fix' IS NOT NULL
            ) THEN 'memory'
            ELSE 'author' END AS recipient
        FROM jobs
        WHERE jobs.run_id = b.run_id AND jobs.step = b.step AND jobs.revision = b.revision
          AND jobs.pass_no = b.pass_no AND jobs.kind IN ('revise', 'replan', 'advise')
          AND jobs.postponed = 0 AND jobs.looks = 0
        UNION ALL
        SELECT asked.opened_at, CASE asked.kind WHEN 'held_bundle' THEN 'held' ELSE 'person' END
        FROM interventions asked
        WHERE asked.run_id = b.run_id AND asked.step = b.step
          AND asked.kind IN ('held_bundle', 'escalation', 'revision')
          AND asked.opened_at >= b.created_at
          AND NOT EXISTS (
              SELECT FROM jobs WHERE jobs.run_id = b.run_id AND jobs.step = b.step
                AND jobs.kind = 'execute'
                AND jobs.created_at BETWEEN b.created_at AND asked.opened_at
          )
    ) AS given ON true
    WHERE b.run_id = ANY(CAST(:run_ids AS bigint[]))
      AND (CAST(:step AS bigint) IS NULL OR b.step = :step)
    ORDER BY b.run_id, b.step, b.id, given.at
""")


class Recipient(StrEnum):
    """Who received the evidence of a step."""

    AUTHOR = "author"  # who planned the step, to revise it
    ADVISER = "adviser"  # the same, to say whether another try is worth it (S1.35)
    PLANNER = "planner"  # who planned the task: the author cannot do the step as planned
    MEMORY = "memory"  # the memory of fixes answered in the author's place
    HELD = "held"  # it waits, or waited, until a person sends it (S0.96)
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class Escalation:
    """A bundle, by its pass, and who received it, in order; empty when nobody has yet.

    `causes` are what the host said was wrong.
    """

    revision: int
    pass_no: int
    at: datetime
    recipients: tuple[Recipient, ...]
    causes: tuple[Cause, ...] = ()


def escalations(
    connection: Connection, run_ids: Sequence[int], *, step: int | None = None
) -> Mapping[tuple[int, int], tuple[Escalation, ...]]:
    """The escalations of every step of these runs, or of one, by run and step, oldest first."""
    chosen = {"run_ids": list(run_ids), "step": step}
    passes: dict[tuple[int, int, int, int], list[Recipient]] = {}
    moments: dict[tuple[int, int, int, int], datetime] = {}
    causes: dict[tuple[int, int, int, int], object] = {}
    for row in connection.execute(_GATHERED, chosen):
        place = row.run_id, row.step, row.revision, row.pass_no
        given = passes.setdefault(place, [])
        moments[place] = row.created_at
        causes[place] = row.causes
        if row.recipient is not None and given[-1:] != [row.recipient]:
            given.append(Recipient(row.recipient))
    found: dict[tuple[int, int], list[Escalation]] = defaultdict(list)
    for (run_id, ordinal, revision, pass_no), given in passes.items():
        place = run_id, ordinal, revision, pass_no
        wrong = causes_in(causes[place])
        found[run_id, ordinal].append(
            Escalation(revision, pass_no, moments[place], tuple(given), wrong)
        )
    return {place: tuple(listed) for place, listed in found.items()}
