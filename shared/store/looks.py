"""The looks of planners in rows: each round that was asked for, and the attempts that it led to."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, insert, select, text

from shared.domain.attempt import Attempt
from shared.domain.errors import Defect
from shared.domain.jobs import Job, JobKind
from shared.domain.look import Look
from shared.store.attempts import RUNNING, attempt_of
from shared.store.tables import AttemptRow, LookRoundRow, RunRow
from shared.wire import from_json, to_json

_ROUNDS = text("""
    SELECT id, kind, round_no, looks FROM look_rounds
    WHERE task_id = :task_id AND coalesce(run_id, 0) = coalesce(:run_id, 0)
      AND coalesce(step, 0) = coalesce(:step, 0)
    ORDER BY id DESC LIMIT :rounds
""")


@dataclass(frozen=True, slots=True)
class LookRound:
    """A round of looks; `kind` is that of the planning job that asked for them."""

    id: int
    kind: JobKind
    round_no: int
    looks: tuple[Look, ...]


@dataclass(frozen=True, slots=True)
class RunningLook:
    """An attempt at a look that runs; `number` counts the looks at its step."""

    key: str
    revision: int
    pass_no: int
    number: int
    command: str
    started_at: datetime


def key(round_id: int, position: int) -> str:
    """The key of the attempt at one look of a round; whoever takes the round again has the same."""
    return f"L{round_id}-{position}"


def keep(  # noqa: PLR0917 - the place of a round, in its order
    connection: Connection,
    task_id: int,
    run_id: int | None,
    step: int | None,
    kind: JobKind,
    round_no: int,
    looks: Sequence[Look],
    *,
    revision: int,
    pass_no: int,
) -> None:
    """Write down what a planning wants to see in that round."""
    values = {
        "task_id": task_id,
        "run_id": run_id,
        "step": step,
        "kind": kind.value,
        "revision": revision,
        "pass_no": pass_no,
        "round_no": round_no,
        "looks": [to_json(look) for look in looks],
    }
    connection.execute(insert(LookRoundRow).values(values))


def rounds_of(connection: Connection, job: Job) -> tuple[LookRound, ...]:
    """The rounds of the planning that a job belongs to, in their order, `job.looks` in all.

    Raises Defect if one of them is missing.
    """
    if not job.looks:
        return ()
    place = {"task_id": job.task_id, "run_id": job.run_id, "step": job.step, "rounds": job.looks}
    found = [
        LookRound(
            row.id,
            JobKind(row.kind),
            row.round_no,
            tuple(from_json(Look, look) for look in row.looks),
        )
        for row in connection.execute(_ROUNDS, place)
    ]
    if [each.round_no for each in reversed(found)] != list(range(1, job.looks + 1)):
        raise Defect(f"job {job.id} has not the looks of its planning", stage=job.kind.value)
    return tuple(reversed(found))


def runs_by_target(connection: Connection, task_id: int) -> dict[str, int]:
    """The runs of a task by the names of their targets, in the order of the task."""
    query = select(RunRow.target, RunRow.id).where(RunRow.task_id == task_id).order_by(RunRow.id)
    return {row.target: row.id for row in connection.execute(query)}


def attempts_at(connection: Connection, keys: Collection[str]) -> dict[str, Attempt]:
    """The attempts at looks that are recorded under these keys."""
    query = select(AttemptRow.__table__).where(AttemptRow.key.in_(keys), AttemptRow.look)
    return {row.key: attempt_of(row) for row in connection.execute(query)} if keys else {}


def numbers_at(connection: Connection, keys: Collection[str]) -> dict[str, int]:
    """The numbers of the looks that are recorded under these keys, whether they have ended."""
    query = select(AttemptRow.key, AttemptRow.number).where(AttemptRow.key.in_(keys))
    return {row.key: row.number for row in connection.execute(query)}


def running_at(connection: Connection, run_id: int, step: int) -> tuple[RunningLook, ...]:
    """The looks at that step of a run that have not ended, as far as anybody has written."""
    query = (
        select(
            AttemptRow.key,
            AttemptRow.revision,
            AttemptRow.pass_no,
            AttemptRow.number,
            AttemptRow.command,
            AttemptRow.started_at,
        )
        .where(
            AttemptRow.run_id == run_id,
            AttemptRow.step == step,
            AttemptRow.look,
            AttemptRow.outcome == RUNNING,
        )
        .order_by(AttemptRow.id)
    )
    return tuple(RunningLook(**row) for row in connection.execute(query).mappings())


def numbers_used(connection: Connection, run_id: int, step: int, but: Collection[str]) -> int:
    """The highest number of a look at that step of a run, of all but those under these keys."""
    query = (
        select(AttemptRow.number)
        .where(
            AttemptRow.run_id == run_id,
            AttemptRow.step == step,
            AttemptRow.look,
            AttemptRow.key.not_in(but),
        )
        .order_by(AttemptRow.number.desc())
        .limit(1)
    )
    return connection.execute(query).scalar() or 0
