"""What workers had in hand when it was cancelled, and how each command was ended."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.views.attempts import attempt_line
from orchestrator.views.values import RefValue
from shared.domain.ids import Ref
from shared.domain.outcome import Outcome
from shared.store.attempts import RUNNING

_CANCELLED = text("""
    SELECT runs.target, run_steps.step AS of_step, latest.owner,
           latest.lease_until IS NOT NULL AS unanswered,
           latest.lease_until < clock_timestamp() AS lapsed, tried.id AS attempt_id, tried.*
    FROM run_steps
    JOIN runs ON runs.id = run_steps.run_id
    LEFT JOIN LATERAL (
        SELECT jobs.owner, jobs.lease_until FROM jobs
        WHERE jobs.run_id = run_steps.run_id AND jobs.step = run_steps.step
          AND jobs.pass_no = run_steps.pass_no AND jobs.kind = 'execute'
        ORDER BY jobs.id DESC LIMIT 1
    ) AS latest ON true
    LEFT JOIN LATERAL (
        SELECT attempts.* FROM attempts
        WHERE attempts.run_id = run_steps.run_id AND attempts.step = run_steps.step
          AND attempts.pass_no = run_steps.pass_no AND NOT attempts.look
        ORDER BY attempts.id DESC LIMIT 1
    ) AS tried ON true
    WHERE runs.task_id = :task_id AND run_steps.phase = 'cancelled'
      AND (CAST(:target AS text) IS NULL OR runs.target = :target)
    ORDER BY runs.id, run_steps.step
""")
_IN_HAND = frozenset({RUNNING, Outcome.CANCELLED.value, Outcome.UNKNOWN.value})


class Word(StrEnum):
    """What is known of the end of something that was cancelled while a worker had it in hand."""

    AWAITED = "awaited"  # its worker has not answered yet
    ENDED = "ended"
    LEFT_OVER = "left_over"  # ended, but not all of it
    NOT_KNOWN = "not_known"  # nobody can say whether it was ended


@dataclass(frozen=True, slots=True)
class InHand:
    """A command, or a pass between two, that a worker had in hand when it was cancelled.

    `told` says how it was ended; `left_over` names the processes that could not be.
    """

    ref: RefValue
    command: str
    worker: str
    word: Word
    told: str
    left_over: str


def in_hand(connection: Connection, ref: Ref) -> tuple[InHand, ...]:
    """Everything that workers had in hand when a task, or one run of it, was cancelled."""
    chosen = {"task_id": ref.task, "target": ref.target}
    found = (_in_hand(row, ref.task) for row in connection.execute(_CANCELLED, chosen))
    return tuple(each for each in found if each is not None)


def unproven(ended: Iterable[InHand]) -> tuple[InHand, ...]:
    """Those that may still be there, as a whole or in part."""
    return tuple(each for each in ended if each.word is not Word.ENDED)


def _in_hand(row: Any, task_id: int) -> InHand | None:
    if row.attempt_id is not None and row.outcome in _IN_HAND:
        return _of_attempt(row, task_id)
    if not row.unanswered:
        return None
    step = Ref(task_id, step=row.of_step, target=row.target)
    word, told = _unanswered(row)
    return InHand(step, "", row.owner or "", word, told, "")


def _of_attempt(row: Any, task_id: int) -> InHand:
    line = attempt_line(row, task_id, row.target, {})
    remains = " ".join(line.left_over) if line.ended_by is not None else ""
    word, told = Word.ENDED, line.reason or line.outcome
    if remains:
        word = Word.LEFT_OVER
    elif line.outcome == Outcome.UNKNOWN:
        word = Word.NOT_KNOWN
    elif line.outcome == RUNNING:
        word, told = _running(row)
    return InHand(line.ref, line.command, row.owner or row.worker, word, told, remains)


def _running(row: Any) -> tuple[Word, str]:
    if row.unanswered and not row.lapsed:
        return Word.AWAITED, "its worker has not answered yet"
    return Word.AWAITED, "a worker is sent to end it"


def _unanswered(row: Any) -> tuple[Word, str]:
    if not row.unanswered:
        return Word.NOT_KNOWN, "no worker is at it: it may still run"
    if row.lapsed:
        return Word.NOT_KNOWN, "its worker did not answer before its lease ran out"
    return Word.AWAITED, "its worker has not answered yet"
