"""A task while somebody looks: what runs, what it writes, what has failed, and who plans."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.views.attempts import AttemptLine, OutputPiece, running_attempts
from orchestrator.views.failures import TROUBLED, Failure, open_failures
from orchestrator.views.tasks import TaskView
from orchestrator.views.titles import TITLE
from orchestrator.views.values import RefValue
from shared.domain.ids import Ref
from shared.domain.jobs import JobKind
from shared.domain.task import StepPhase
from shared.domain.transcript import RAW

_PIECES = 12
"""Pieces of the output of a running command that are read."""

_TITLES = text(f"""
    SELECT a.key, {TITLE} AS title FROM attempts a
    WHERE a.key = ANY(CAST(:keys AS text[])) AND NOT a.look
""")  # noqa: S608 - constants

_OUTPUT = text("""
    SELECT newest.* FROM unnest(CAST(:keys AS text[])) AS wanted (key)
    CROSS JOIN LATERAL (
        SELECT id, attempt_key, stream, text FROM live_output
        WHERE attempt_key = wanted.key AND stream <> :raw ORDER BY id DESC LIMIT :most
    ) newest ORDER BY newest.id
""")

_BEGUN = text("""
    SELECT run_id, step, min(started_at) AS at FROM attempts
    WHERE run_id = ANY(CAST(:runs AS bigint[])) AND NOT look GROUP BY run_id, step
""")

_JOBS = text("""
    SELECT jobs.kind, jobs.step, runs.target, coalesce(jobs.lease_until > now, false) AS held,
           CASE WHEN jobs.lease_until > now THEN coalesce(jobs.claimed_at, jobs.created_at)
                ELSE jobs.created_at END AS since,
           CASE WHEN jobs.due_at > now THEN jobs.due_at END AS until
    FROM jobs CROSS JOIN clock_timestamp() AS now LEFT JOIN runs ON runs.id = jobs.run_id
    WHERE jobs.task_id = :task AND jobs.state = 'open'
      AND (CAST(:target AS text) IS NULL OR runs.target IS NULL OR runs.target = :target)
    ORDER BY jobs.id
""")


@dataclass(frozen=True, slots=True)
class RunningAttempt:
    """An attempt that runs, the title of its subtask, and the newest pieces of its output."""

    attempt: AttemptLine
    title: str = ""
    output: tuple[OutputPiece, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenJob:
    """Open work: a worker has it (`held`) since then, or it waits for one, or `until` it is due."""

    kind: JobKind
    ref: RefValue
    held: bool
    since: datetime
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class LiveTask:
    """A task, and what is at work for it.

    `failures` are the commands of each step that failed under its revision and were not put right,
    and `begun` is when its first command began; both are by run and step.
    """

    task: TaskView
    running: tuple[RunningAttempt, ...] = ()
    jobs: tuple[OpenJob, ...] = ()
    failures: Mapping[tuple[int, int], tuple[Failure, ...]] = field(default_factory=dict)
    begun: Mapping[tuple[int, int], datetime] = field(default_factory=dict)


def live_task(connection: Connection, ref: Ref, task: TaskView) -> LiveTask:
    """What is at work for a task, or for one target of it; `task` is its view."""
    steps = [step for run in task.runs for step in run.steps]
    may_fail = {*TROUBLED, StepPhase.READY}
    troubled = {(step.run_id, step.ordinal) for step in steps if step.phase in may_fail}
    runs = [run.run_id for run in task.runs]
    jobs = connection.execute(_JOBS, {"task": ref.task, "target": ref.target})
    begun = connection.execute(_BEGUN, {"runs": runs})
    return LiveTask(
        task,
        _running(connection, running_attempts(connection, ref)),
        tuple(_job(ref.task, row) for row in jobs),
        open_failures(connection, troubled),
        {(row.run_id, row.step): row.at for row in begun},
    )


def _job(task: int, row: Any) -> OpenJob:
    place = Ref(task, row.step, target=row.target)
    return OpenJob(JobKind(row.kind), place, row.held, row.since, row.until)


def _running(connection: Connection, attempts: Sequence[AttemptLine]) -> tuple[RunningAttempt, ...]:
    if not attempts:
        return ()
    keys = [attempt.key for attempt in attempts]
    titles = {row.key: row.title for row in connection.execute(_TITLES, {"keys": keys})}
    pieces: dict[str, list[OutputPiece]] = defaultdict(list)
    given = {"keys": keys, "raw": RAW, "most": _PIECES}
    for row in connection.execute(_OUTPUT, given):
        pieces[row.attempt_key].append(OutputPiece(row.id, row.stream, row.text))
    return tuple(
        RunningAttempt(each, titles.get(each.key) or "", tuple(pieces[each.key]))
        for each in attempts
    )
