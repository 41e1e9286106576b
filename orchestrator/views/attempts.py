"""Attempts: a list, one in full, and the output of one that is running."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, Select, select, text

from orchestrator.views.agents import AgentLine, agent_line, spent_by
from orchestrator.views.last_words import said_in
from orchestrator.views.notes import NoteLine, notes_by_attempt
from orchestrator.views.places import RunPlace, one_run, runs_at
from orchestrator.views.values import RefValue
from shared.domain.agent import AgentWork
from shared.domain.attempt import AgentResult, Answer, EndedBy, explain
from shared.domain.errors import Rejected
from shared.domain.ids import LOOKS, Ref
from shared.domain.next_step import NextStep
from shared.domain.outcome import GREEN, Outcome
from shared.domain.plan import Subtask
from shared.domain.prediction import Prediction
from shared.domain.preview import Preview
from shared.domain.transcript import Transcript
from shared.store.attempts import RUNNING
from shared.store.model_calls import AttemptSpending
from shared.store.output import safe_text
from shared.store.tables import AttemptRow, BlobRow, OutputRow, RunRow
from shared.wire import from_json

_PLANNED = text("""
    SELECT coalesce(
        (SELECT subtasks FROM revisions
         WHERE run_id = :run_id AND step = :step AND revision <= :revision
         ORDER BY revision DESC LIMIT 1),
        (SELECT body -> 'subtasks' FROM planned_steps WHERE run_id = :run_id AND step = :step)
    )
""")

_PASS = text("""
    SELECT (SELECT max(heartbeat_at) FROM jobs
            WHERE jobs.run_id = :run_id AND jobs.step = :step AND jobs.kind = 'execute'
              AND jobs.revision = :revision AND jobs.pass_no = :pass_no) AS heartbeat_at,
           (SELECT base FROM deliveries
            WHERE deliveries.run_id = :run_id AND deliveries.step = :step
              AND deliveries.revision = :revision AND deliveries.pass_no = :pass_no) AS base
""")

_LIVE = 8_000
"""Characters that are shown of what a running attempt has written to a stream."""

Running = Literal["running"]
"""The outcome of an attempt that has none yet."""


@dataclass(frozen=True, slots=True)
class AttemptLine:
    """An attempt in a list. `retry_count` is 0 for the command as planned; `seconds` its duration.

    `said` is the line that says why a failed attempt failed, on standard error or by its check.
    `prediction` is that of a dry run, None for any other task. A `rollback` undid what the subtask
    of that number had done under that revision; a `look` showed its planner something before it
    answered. `told_by_person` is a person's answer about an
    unknown outcome, `ended_by` who or what ended the command, and `left_over` names its processes
    that still ran after its end; see `CommandResult`. `never_red` says that nobody has seen its
    check red: it may prove nothing. `agent` is what an agent did and cost, `notes` are what was
    noted about it while it worked.
    """

    id: int
    ref: RefValue
    key: str
    revision: int
    pass_no: int
    retry_count: int
    command: str
    correction: str | None
    outcome: Outcome | Running
    counted: bool
    reason: str
    said: str
    exit_code: int | None
    check_exit_code: int | None
    started_at: datetime
    ended_at: datetime | None
    seconds: float | None
    prediction: Prediction | None = None
    preview: Preview | None = None
    rollback: bool = False
    look: bool = False
    told_by_person: Answer | None = None
    ended_by: EndedBy | None = None
    left_over: tuple[str, ...] = ()
    never_red: bool = False
    notes: tuple[NoteLine, ...] = ()
    agent: AgentLine | None = None

    @property
    def running(self) -> bool:
        """True until its worker has reported how it ended."""
        return self.outcome == RUNNING


@dataclass(frozen=True, slots=True)
class AttemptList:
    """Attempts, oldest first; with `more`, there are older ones.

    They follow after `next`, the oldest of these.
    """

    attempts: tuple[AttemptLine, ...]
    more: bool
    next: int | None = None


@dataclass(frozen=True, slots=True)
class AttemptView:
    """An attempt in full. Sizes in bytes; `cut` says that a stream is longer than shown.

    Its worker has renewed the lease of its pass at `heartbeat_at`, whatever the command printed
    (S2.47). In a repository, `base_sha` is the commit that the work began with, once that is known.
    With `work`, its command is the goal of an agent, and `result` is what that agent did; then the
    streams are what its runner wrote, and `transcript` is what people read of that. `title` is that
    of its subtask, and `timeout` what its command may take, in seconds: None for what no plan says,
    as a look of a planner.
    """

    attempt: AttemptLine
    rule: str | None
    stdout: str
    stderr: str
    stdout_size: int
    stderr_size: int
    cut: bool
    check_command: str | None
    check_output: str
    worker: str
    work: AgentWork | None = None
    result: AgentResult | None = None
    transcript: Transcript | None = None
    base_sha: str | None = None
    heartbeat_at: datetime | None = None
    title: str = ""
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class OutputPiece:
    """A piece of output of a running attempt; `id` grows."""

    id: int
    stream: str
    text: str


def attempt_line(
    row: Any, task_id: int, target: str, spent: Mapping[str, AttemptSpending]
) -> AttemptLine:
    """The attempt in a row; `spent` is what `orchestrator.views.agents.spent_by` says of it."""
    step = row.step or None  # a look for the plan itself belongs to no step
    ref = Ref(task_id, step=step, subtask=row.subtask, attempt=row.number, target=target)
    ended = row.ended_at
    prediction = None if row.prediction is None else Prediction(row.prediction)
    answer = None if row.told_by_person is None else Answer(row.told_by_person)
    return AttemptLine(
        id=row.id,
        ref=ref,
        key=row.key,
        revision=row.revision,
        pass_no=row.pass_no,
        retry_count=row.try_no,
        command=row.command,
        correction=row.correction,
        outcome=RUNNING if row.outcome == RUNNING else Outcome(row.outcome),
        counted=row.counted,
        reason=explain(row.reason, prediction, answer),
        said=said_in(row) if row.counted or _failed_rollback(row) else "",
        exit_code=row.exit_code,
        check_exit_code=row.check_exit_code,
        started_at=row.started_at,
        ended_at=ended,
        seconds=None if ended is None else (ended - row.started_at).total_seconds(),
        prediction=prediction,
        preview=None if row.preview is None else from_json(Preview, row.preview),
        rollback=row.rollback,
        look=row.look,
        told_by_person=answer,
        ended_by=None if row.ended_by is None else EndedBy(row.ended_by),
        left_over=tuple(row.left_over),
        never_red=row.never_red,
        agent=agent_line(row, spent),
    )


def _failed_rollback(row: Any) -> bool:
    return row.rollback and row.outcome not in GREEN


def list_attempts(
    connection: Connection,
    ref: Ref,
    *,
    limit: int = 50,
    failed: bool = False,
    after: int | None = None,
) -> AttemptList:
    """The newest attempts at a place, at most `limit`; `failed` keeps only errors that counted.

    With `after`, the newest of those older than that attempt.
    """
    places = {place.run_id: place for place in runs_at(connection, ref)}
    query = select(AttemptRow.__table__).where(AttemptRow.run_id.in_(places))
    if failed:
        query = query.where(AttemptRow.counted)
    if after is not None:
        query = query.where(AttemptRow.id < after)
    query = _within(query, ref).order_by(AttemptRow.id.desc()).limit(limit + 1)
    rows = connection.execute(query).all()
    spent = spent_by(connection, rows)
    lines = [attempt_line(row, ref.task, places[row.run_id].target, spent) for row in rows[:limit]]
    more = len(rows) > limit
    return AttemptList(tuple(reversed(lines)), more=more, next=lines[-1].id if more else None)


def running_attempts(connection: Connection, ref: Ref) -> tuple[AttemptLine, ...]:
    """The attempts at a place that are running now."""
    places = {place.run_id: place for place in runs_at(connection, ref)}
    found = connection.execute(
        select(AttemptRow.__table__)
        .where(AttemptRow.run_id.in_(places), AttemptRow.outcome == RUNNING)
        .order_by(AttemptRow.id)
    ).all()
    spent = spent_by(connection, found)
    return tuple(attempt_line(row, ref.task, places[row.run_id].target, spent) for row in found)


def attempts_by_step(
    connection: Connection, places: Sequence[RunPlace], *, step: int | None = None
) -> dict[tuple[int, int], tuple[AttemptLine, ...]]:
    """Every attempt of every step of these runs, or of one step, by run and step, oldest first."""
    targets = {place.run_id: place for place in places}
    query = select(AttemptRow.__table__).where(AttemptRow.run_id.in_(targets))
    if step is not None:
        query = query.where(AttemptRow.step == step)
    found: dict[tuple[int, int], list[AttemptLine]] = defaultdict(list)
    notes = notes_by_attempt(connection, runs=targets, step=step)
    rows = connection.execute(query.order_by(AttemptRow.id)).all()
    spent = spent_by(connection, rows)
    for row in rows:
        place = targets[row.run_id]
        line = attempt_line(row, place.task_id, place.target, spent)
        found[row.run_id, row.step].append(replace(line, notes=notes.get(row.key, ())))
    return {where: tuple(lines) for where, lines in found.items()}


def looks_for_plan(connection: Connection, places: Sequence[RunPlace]) -> tuple[AttemptLine, ...]:
    """What the planner of a task looked at on its targets before there were steps."""
    by_step = attempts_by_step(connection, places, step=0)
    return tuple(line for place in places for line in by_step.get((place.run_id, 0), ()))


def attempt_view(
    connection: Connection, ref: Ref, *, full: bool = False, live: bool = False
) -> AttemptView:
    """One attempt; without a number, the latest of its subtask. Raises Rejected when there is none.

    `full` includes all captured output, `live` what one that still runs has written so far.
    """
    row = _find(connection, ref)
    stdout, stderr = row.stdout, row.stderr
    if full:
        stdout = _blob(connection, row.stdout_blob, stdout)
        stderr = _blob(connection, row.stderr_blob, stderr)
    line = attempt_line(row, ref.task, row.target, spent_by(connection, [row]))
    if live and line.running:
        pieces = live_output(connection, row.key, 0)
        stdout, stderr = (_joined(pieces, name, full=full) for name in ("stdout", "stderr"))
    planned = _planned(connection, row)
    result = None if row.body is None else from_json(AgentResult, row.body)
    of_pass = connection.execute(_PASS, _pass_of(row)).one()
    notes = notes_by_attempt(connection, key=row.key).get(row.key, ())
    return AttemptView(
        attempt=replace(line, notes=notes),
        rule=row.rule,
        stdout=stdout,
        stderr=stderr,
        stdout_size=row.stdout_size,
        stderr_size=row.stderr_size,
        cut=bool(row.stdout_blob or row.stderr_blob) and not full,
        check_command=row.check_command,
        check_output=row.check_output,
        worker=row.worker,
        work=None if planned is None else planned.agent,
        result=result,
        transcript=_transcript(connection, row.transcript_blob),
        base_sha=of_pass.base or (None if result is None else result.base),
        heartbeat_at=of_pass.heartbeat_at,
        title="" if planned is None else planned.title,
        timeout=None if planned is None else planned.timeout,
    )


def _joined(pieces: Sequence[OutputPiece], stream: str, *, full: bool) -> str:
    """What was written to a stream so far; unless `full`, the end of it."""
    whole = "".join(each.text for each in pieces if each.stream == stream)
    return whole if full else whole[-_LIVE:]


def _pass_of(row: Any) -> dict[str, int]:
    return {name: getattr(row, name) for name in ("run_id", "step", "revision", "pass_no")}


def _transcript(connection: Connection, digest: str | None) -> Transcript | None:
    written = _blob(connection, digest, "")
    return from_json(Transcript, json.loads(written)) if written else None


def _planned(connection: Connection, row: Any) -> Subtask | None:
    """The subtask that the attempt was about; None for a rollback and for a look."""
    if row.rollback or row.look:
        return None
    place = {"run_id": row.run_id, "step": row.step}
    found = connection.execute(_PLANNED, place | {"revision": row.revision}).scalar()
    planned = (from_json(Subtask, each) for each in found or ())
    return next((each for each in planned if each.ordinal == row.subtask), None)


def live_output(connection: Connection, key: str, after: int) -> tuple[OutputPiece, ...]:
    """Output of the attempt with that key that came after the piece `after` (0: all)."""
    found = connection.execute(
        select(OutputRow.id, OutputRow.stream, OutputRow.text)
        .where(OutputRow.attempt_key == key, OutputRow.id > after)
        .order_by(OutputRow.id)
    )
    return tuple(OutputPiece(row.id, row.stream, row.text) for row in found)


def _find(connection: Connection, ref: Ref) -> Any:
    if ref.subtask is None:
        raise Rejected(
            f"{ref} is not an attempt; write one as T{ref.task}.1.1#1",
            stage="input",
            next_step=NextStep.of("attempt list", ref),
        )
    place = one_run(connection, ref)
    query = select(AttemptRow.__table__, RunRow.target).join(RunRow, RunRow.id == AttemptRow.run_id)
    query = query.where(AttemptRow.run_id == place.run_id)
    newest = _within(query, ref).order_by(AttemptRow.id.desc()).limit(1)
    row = connection.execute(newest).one_or_none()
    if row is None:
        raise Rejected(
            f"there is no attempt {ref.at(place.target)}",
            stage="input",
            next_step=NextStep.of("attempt list", f"T{ref.task}"),
        )
    return row


def _within(query: Select[Any], ref: Ref) -> Select[Any]:
    if ref.step is not None or ref.subtask == LOOKS:
        query = query.where(AttemptRow.step == (ref.step or 0))
    if ref.subtask is not None:
        query = query.where(AttemptRow.subtask == ref.subtask)
    if ref.attempt is not None:
        query = query.where(AttemptRow.number == ref.attempt)
    return query


def _blob(connection: Connection, digest: str | None, otherwise: str) -> str:
    if digest is None:
        return otherwise
    data = connection.execute(select(BlobRow.data).where(BlobRow.digest == digest)).scalar()
    return otherwise if data is None else safe_text(data)
