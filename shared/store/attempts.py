"""Attempts in rows: written in groups under the fence of their job, read back as values."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, delete, select, text
from sqlalchemy.dialects.postgresql import insert as upsert

from shared.domain.attempt import AgentResult, Answer, Attempt, CommandResult, EndedBy, Ran, Unknown
from shared.domain.jobs import Claim
from shared.domain.outcome import Outcome
from shared.domain.prediction import Prediction
from shared.domain.preview import Preview
from shared.store.attempt_columns import result_columns
from shared.store.output import safe_text, store_output
from shared.store.recordset import as_rows, columns, recordset
from shared.store.tables import AttemptRow, BlobRow, OutputRow
from shared.wire import from_json, to_json

RUNNING: Final = "running"
"""The outcome in the row of an attempt that has not ended."""

_WRITTEN = columns(AttemptRow, without=("id", "told_by_person"))
_AT_FIRST = ("rule", "preview")
_UPDATED = [
    *(
        f"{each} = excluded.{each}"
        for each in _WRITTEN
        if each not in ("key", "started_at", *_AT_FIRST)
    ),
    *(f"{each} = coalesce(excluded.{each}, attempts.{each})" for each in _AT_FIRST),
]
"""Whoever resumes an attempt knows less about its beginning than whoever began it."""

_CLAIM = {"job_id": "bigint", "fence": "bigint", "claim": "text", "before": "text"}

_ENDED = f"SELECT FROM attempts known WHERE known.outcome <> '{RUNNING}' AND known.key ="

_RECORD = text(f"""
    WITH given AS (
        SELECT r.*, jobs.state,
            r.before IS NOT NULL AND NOT EXISTS ({_ENDED} r.before) AS forgotten
        FROM {recordset("rows", AttemptRow, *_WRITTEN, **_CLAIM)}
        JOIN jobs ON jobs.id = r.job_id AND jobs.fence = r.fence
             AND jobs.tokens[cardinality(jobs.tokens)] = r.claim
             AND jobs.state IN ('open', 'cancelled')
    ), written AS (
        INSERT INTO attempts ({", ".join(_WRITTEN)})
        SELECT {", ".join(_WRITTEN)} FROM given WHERE NOT forgotten
        ON CONFLICT (key) DO UPDATE SET
            {", ".join(_UPDATED)},
            started_at = least(attempts.started_at, excluded.started_at)
    )
    SELECT key, state, forgotten FROM given
""")  # noqa: S608 - nothing but constants

_MISSING = text(f"""
    SELECT key FROM unnest(CAST(:keys AS text[])) AS given(key)
    WHERE NOT EXISTS ({_ENDED} given.key)
""")  # noqa: S608 - nothing but constants

_RESERVE = text("""
    SELECT nextval(pg_get_serial_sequence('live_output', 'id')) FROM generate_series(1, :count)
""")

_SETTLE = text("""
    UPDATE attempts SET
        outcome = CASE WHEN :ran THEN 'ok' ELSE outcome END, told_by_person = :answer
    WHERE id = (
        SELECT id FROM attempts
        WHERE run_id = :run_id AND step = :step AND pass_no = :pass_no AND outcome = 'unknown'
        ORDER BY id DESC LIMIT 1
    )
""")

_LEFT_RUNNING = text("""
    SELECT DISTINCT ON (attempts.run_id, attempts.step)
        runs.task_id, attempts.run_id, attempts.step, attempts.revision, attempts.pass_no
    FROM attempts
    JOIN runs ON runs.id = attempts.run_id
    JOIN run_steps ON run_steps.run_id = attempts.run_id AND run_steps.step = attempts.step
    WHERE attempts.outcome = 'running' AND run_steps.phase = 'cancelled' AND run_steps.cleanups = 0
      AND NOT EXISTS (
          SELECT FROM jobs
          WHERE jobs.run_id = attempts.run_id AND jobs.step = attempts.step
            AND jobs.kind IN ('execute', 'accept') AND jobs.lease_until >= clock_timestamp()
      )
    ORDER BY attempts.run_id, attempts.step, attempts.id
""")

_CLOSE = text("""
    UPDATE attempts SET outcome = 'unknown', ended_at = clock_timestamp(), reason = :reason
    WHERE run_id = :run_id AND step = :step AND pass_no = :pass_no AND outcome = 'running'
""")
_NOT_ENDED = "cancelled, and no worker could end it: it may still run"

_APPEND = text(f"""
    INSERT INTO live_output (id, attempt_key, stream, text)
    SELECT :id, key, :stream, :text FROM attempts
    WHERE key = CAST(:key AS text) AND outcome = '{RUNNING}' AND EXISTS (
        SELECT FROM jobs WHERE id = :job AND tokens[cardinality(tokens)] = CAST(:claim AS text)
    )
    FOR SHARE
    ON CONFLICT DO NOTHING
""")  # noqa: S608 - nothing but constants


@dataclass(frozen=True, slots=True)
class AttemptWrite:
    """An attempt to write under the claim of its job; `ended` is False if it has only begun."""

    claim: Claim
    attempt: Attempt
    ended: bool
    worker: str


@dataclass(frozen=True, slots=True)
class OutputWrite:
    """A piece of live output of an attempt, to write under the claim of its job."""

    claim: Claim
    key: str
    stream: str
    data: bytes


@dataclass(frozen=True, slots=True)
class LeftRunning:
    """A pass of a cancelled step of which an attempt still runs."""

    task_id: int
    run_id: int
    step: int
    revision: int
    pass_no: int


@dataclass(frozen=True, slots=True)
class Recorded:
    """The keys of the attempts whose job is still ours, and of those that were forgotten."""

    ours: frozenset[str] = frozenset()
    forgotten: frozenset[str] = frozenset()


def record(
    connection: Connection,
    records: Sequence[AttemptWrite],
    before: Mapping[Claim, str] | None = None,
) -> Recorded:
    """Write attempts of held jobs.

    The ends of attempts are written for a cancelled job, too, because nobody else knows them.
    Attempts under another claim are not written. `before` holds the key of the last attempt that
    was written as ended under each claim. If the database does not know that one any more, it has
    lost commits, and nothing is written after it.
    """
    if not records:
        return Recorded()
    blobs: dict[str, bytes] = {}
    rows = {
        r.attempt.key: _row(r, blobs) | {"before": (before or {}).get(r.claim)} for r in records
    }
    if blobs:
        connection.execute(
            upsert(BlobRow).on_conflict_do_nothing(),
            [{"digest": name, "data": data} for name, data in blobs.items()],
        )
    written = connection.execute(_RECORD, {"rows": as_rows(rows.values())}).all()
    return Recorded(
        frozenset(row.key for row in written if row.state == "open" and not row.forgotten),
        frozenset(row.key for row in written if row.forgotten),
    )


def missing(connection: Connection, keys: Collection[str]) -> set[str]:
    """Those of the attempts that the database does not know as ended."""
    if not keys:
        return set()
    return set(connection.execute(_MISSING, {"keys": list(keys)}).scalars())


def settle(connection: Connection, run_id: int, step: int, pass_no: int, answer: Answer) -> None:
    """Write a person's answer to the attempt whose unknown outcome ended a pass."""
    place = {"run_id": run_id, "step": step, "pass_no": pass_no}
    connection.execute(_SETTLE, {**place, "ran": answer is Answer.RAN, "answer": answer.value})


def left_running(connection: Connection) -> list[LeftRunning]:
    """Find the passes of cancelled steps of which an attempt still runs without a worker.

    Of each step it is the oldest such pass, and none while a clean-up is under way.
    """
    return [LeftRunning(**row) for row in connection.execute(_LEFT_RUNNING).mappings()]


def close(connection: Connection, run_id: int, step: int, pass_no: int) -> None:
    """Call unknown how the attempt of that pass ended that still shows as running."""
    place = {"run_id": run_id, "step": step, "pass_no": pass_no}
    connection.execute(_CLOSE, {**place, "reason": _NOT_ENDED})


def reserve_output(connection: Connection, count: int) -> list[int]:
    """Reserve numbers for that many pieces of live output; they stay reserved even if unused."""
    if not count:
        return []
    return list(connection.execute(_RESERVE, {"count": count}).scalars())


def append_output(
    connection: Connection, numbers: Sequence[int], chunks: Sequence[OutputWrite]
) -> None:
    """Add live output of running attempts, each piece with its number.

    A piece whose reserved number exists already is not added again. Output that arrives after its
    attempt has ended, or under a claim that is not the job's latest, is dropped.
    """
    rows = [
        {
            "id": number,
            "job": chunk.claim.job,
            "claim": chunk.claim.token,
            "key": chunk.key,
            "stream": chunk.stream,
            "text": safe_text(chunk.data),
        }
        for number, chunk in zip(numbers, chunks, strict=True)
    ]
    if rows:
        connection.execute(_APPEND, rows)


def drop_output(connection: Connection, keys: Sequence[str]) -> None:
    """Remove the live output of those attempts that have ended: their rows hold it now."""
    if keys:
        running = select(AttemptRow.key).where(
            AttemptRow.key.in_(keys), AttemptRow.outcome == RUNNING
        )
        chosen = OutputRow.attempt_key.in_(keys), OutputRow.attempt_key.not_in(running)
        connection.execute(delete(OutputRow).where(*chosen))


def of_step(connection: Connection, run_id: int, step: int) -> tuple[Attempt, ...]:
    """The attempts of a step in a run that have ended, oldest first, without planners' looks."""
    place = (AttemptRow.run_id == run_id, AttemptRow.step == step, ~AttemptRow.look)
    query = select(AttemptRow.__table__).where(*place, AttemptRow.outcome != RUNNING)
    found = connection.execute(query.order_by(AttemptRow.id))
    return tuple(attempt_of(row) for row in found)


def began_red(connection: Connection, run_id: int, step: int) -> frozenset[str]:
    """The keys of the running attempts of a step whose check had been red before they began."""
    place = (AttemptRow.run_id == run_id, AttemptRow.step == step, ~AttemptRow.look)
    query = select(AttemptRow.key).where(*place, AttemptRow.outcome == RUNNING)
    return frozenset(connection.execute(query.where(~AttemptRow.never_red)).scalars())


def attempt_of(row: Any) -> Attempt:
    """The attempt in a row; its streams hold the row's text."""
    return Attempt(
        key=row.key,
        run_id=row.run_id,
        step=row.step,
        revision=row.revision,
        subtask=row.subtask,
        pass_no=row.pass_no,
        try_no=row.try_no,
        number=row.number,
        command=row.command,
        outcome=Outcome(row.outcome),
        started_at=row.started_at,
        ended_at=row.ended_at,
        correction=row.correction,
        reason=row.reason,
        rule=row.rule,
        result=_result(row),
        check=_check(row),
        never_red=row.never_red,
        rollback=row.rollback,
        look=row.look,
        prediction=None if row.prediction is None else Prediction(row.prediction),
        preview=None if row.preview is None else from_json(Preview, row.preview),
        told_by_person=None if row.told_by_person is None else Answer(row.told_by_person),
    )


def _result(row: Any) -> Ran | None:
    if row.ran_at is None:
        return None
    if row.body is not None:
        return from_json(AgentResult, row.body)
    return CommandResult(
        command=row.command,
        exit_code=row.exit_code,
        stdout=row.stdout.encode(),
        stderr=row.stderr.encode(),
        started_at=row.ran_at,
        ended_at=row.ran_until,
        ended_by=None if row.ended_by is None else EndedBy(row.ended_by),
        left_over=tuple(row.left_over),
        unknown=None if row.unknown is None else Unknown(row.unknown),
    )


def _check(row: Any) -> CommandResult | None:
    if row.check_command is None:
        return None
    return CommandResult(
        command=row.check_command,
        exit_code=row.check_exit_code,
        stdout=row.check_output.encode(),
        stderr=b"",
        started_at=row.started_at,
        ended_at=row.ended_at,
    )


def _row(entry: AttemptWrite, blobs: dict[str, bytes]) -> dict[str, Any]:
    attempt = entry.attempt
    return {
        "job_id": entry.claim.job,
        "fence": entry.claim.fence,
        "claim": entry.claim.token,
        "key": attempt.key,
        "run_id": attempt.run_id,
        "step": attempt.step,
        "revision": attempt.revision,
        "subtask": attempt.subtask,
        "pass_no": attempt.pass_no,
        "try_no": attempt.try_no,
        "number": attempt.number,
        "command": _clean(attempt.command),
        "correction": None if attempt.correction is None else _clean(attempt.correction),
        "outcome": attempt.outcome.value if entry.ended else RUNNING,
        "counted": entry.ended and attempt.counted,
        "never_red": attempt.never_red,
        "rollback": attempt.rollback,
        "look": attempt.look,
        "reason": _clean(attempt.reason),
        "prediction": attempt.prediction,
        "preview": None if attempt.preview is None else to_json(attempt.preview),
        "rule": attempt.rule,
        "started_at": attempt.started_at,
        "ended_at": attempt.ended_at if entry.ended else None,
        "worker": entry.worker,
        **result_columns(attempt.result, blobs),
        **_check_columns(attempt.check),
    }


def _check_columns(check: CommandResult | None) -> dict[str, Any]:
    if check is None:
        return {"check_command": None, "check_exit_code": None, "check_output": ""}
    return {
        "check_command": _clean(check.command),
        "check_exit_code": check.exit_code,
        "check_output": store_output(check.stdout + check.stderr).text,
    }


def _clean(written: str) -> str:
    """The text in a form that a row can hold: a host's records may not be valid text."""
    return written.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")
