"""The timeline of a task: events, attempts, escalations and interventions as ordered messages."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, func, or_, select

from orchestrator.views.attempts import AttemptLine, attempt_line
from orchestrator.views.fact_words import of_event
from orchestrator.views.interventions import list_interventions
from orchestrator.views.messages import (
    Message,
    MessageKind,
    Tone,
    of_attempt,
    of_end,
    of_escalation,
    of_intervention,
)
from orchestrator.views.places import require_task
from shared.domain.facts import PassStarted
from shared.domain.ids import Ref
from shared.domain.jobs import JobKind
from shared.domain.task import ENDED_TASK, TaskPhase
from shared.store.attempts import RUNNING
from shared.store.tables import (
    AttemptRow,
    EventRow,
    JobRow,
    RunRow,
    RunStepRow,
    TaskRow,
)

LOOK_BACK = 512
"""Attempts before the newest one known that are looked at again: workers commit out of order."""

_A_MOMENT = timedelta(seconds=2)
_AT_WORK = {phase.value for phase in TaskPhase} - {
    p.value for p in (*ENDED_TASK, TaskPhase.WAITING)
}

_SAME_TIME = {
    MessageKind.STEP_ENDED: 1,
    MessageKind.ESCALATION: 2,
    MessageKind.INTERVENTION: 3,
    MessageKind.REPORT: 4,
}


class Timeline:
    """Reads what is new of a task, each time it is asked; the first time, everything."""

    def __init__(self, ref: Ref) -> None:
        self._ref = ref
        self._event = 0
        self._attempt = 0
        self._told: set[tuple[str, str]] = set()
        self._running: set[int] = set()
        self._passes: set[tuple[int, int, int]] = set()
        self._at_work = True
        self._ended_at: object = None

    def read(self, connection: Connection) -> tuple[Message, ...]:
        """The messages that came since the last time, in order.

        Raises Rejected when there is no such task.
        """
        task_id = require_task(connection, self._ref)
        self._at_work = self._phase(connection, task_id) in _AT_WORK
        messages = [
            *self._events(connection, task_id),
            *self._attempts(connection, task_id),
            *self._escalations(connection, task_id),
            *self._interventions(connection, task_id),
            *self._end(connection, task_id),
        ]
        if self._ref.target is not None:
            messages = [m for m in messages if m.ref.target in {None, self._ref.target}]
        return tuple(sorted(messages, key=lambda m: (m.at, _SAME_TIME.get(m.kind, 0))))

    def _events(self, connection: Connection, task_id: int) -> list[Message]:
        rows = connection.execute(
            select(EventRow.__table__, RunRow.target)
            .outerjoin(RunRow, RunRow.id == EventRow.run_id)
            .where(EventRow.task_id == task_id, EventRow.id > self._event)
            .order_by(EventRow.id)
        ).all()
        if not rows:
            return []
        self._event = rows[-1].id
        for row in rows:
            if row.kind == PassStarted.__name__:
                self._passes.add((row.run_id, row.body["step"], row.body["pass_no"]))
        titles = self._titles(connection, task_id)
        found = (of_event(task_id, row, titles) for row in rows)
        return [message for message in found if message is not None]

    def _titles(self, connection: Connection, task_id: int) -> dict[int, str]:
        found = connection.execute(
            select(RunStepRow.step, RunStepRow.title)
            .join(RunRow, RunRow.id == RunStepRow.run_id)
            .where(RunRow.task_id == task_id)
        )
        return {row.step: row.title for row in found}

    def _attempts(self, connection: Connection, task_id: int) -> list[Message]:
        rows = connection.execute(
            select(
                AttemptRow.__table__,
                RunRow.target,
                (func.now() - AttemptRow.started_at).label("age"),
            )
            .join(RunRow, RunRow.id == AttemptRow.run_id)
            .where(
                RunRow.task_id == task_id,
                or_(AttemptRow.id > self._attempt - LOOK_BACK, AttemptRow.id.in_(self._running)),
            )
            .order_by(AttemptRow.id)
        ).all()
        messages = []
        for row in rows:
            if self._comes_too_early(row):
                continue
            self._attempt = max(self._attempt, row.id)
            messages += self._attempt_messages(row, task_id)
        return messages

    def _comes_too_early(self, row: Any) -> bool:
        """Whether it is still to be told that its pass has begun; that takes a moment longer."""
        if (row.run_id, row.step, row.pass_no) in self._passes:
            return False
        return self._at_work and row.age < _A_MOMENT

    def _phase(self, connection: Connection, task_id: int) -> str:
        return connection.execute(select(TaskRow.phase).where(TaskRow.id == task_id)).scalar_one()

    def _attempt_messages(self, row: Any, task_id: int) -> list[Message]:
        running = row.outcome == RUNNING
        if running:
            self._running.add(row.id)
        else:
            self._running.discard(row.id)
        line = attempt_line(row, task_id, row.target)
        found = []
        if line.correction is not None and self._fresh("correction", row.key):
            found.append(of_attempt(_as_started(line)))
        if not running and self._fresh("attempt", row.key):
            found.append(of_attempt(line))
        return [message for message in found if message is not None]

    def _escalations(self, connection: Connection, task_id: int) -> list[Message]:
        found = connection.execute(
            select(JobRow.id, JobRow.step, JobRow.created_at, RunRow.target)
            .join(RunRow, RunRow.id == JobRow.run_id)
            .where(
                RunRow.task_id == task_id,
                JobRow.kind == JobKind.REVISE.value,
                JobRow.postponed == 0,
            )
            .order_by(JobRow.id)
        )
        fresh = [row for row in found if self._fresh("escalation", str(row.id))]
        return [of_escalation(task_id, row) for row in fresh]

    def _interventions(self, connection: Connection, task_id: int) -> list[Message]:
        messages = []
        for view in list_interventions(connection, task_id=task_id, closed=True):
            if self._fresh("intervention", str(view.id)):
                messages.append(of_intervention(view))
            if view.closed_at is not None and self._fresh("closed", str(view.id)):
                text = f"no longer waits for you ({view.kind.replace('_', ' ')})"
                kind = MessageKind.INTERVENTION
                messages.append(Message(view.closed_at, view.ref, kind, Tone.PLAIN, text))
        return messages

    def _end(self, connection: Connection, task_id: int) -> list[Message]:
        row = connection.execute(
            select(TaskRow.phase, TaskRow.reason, TaskRow.ended_at).where(TaskRow.id == task_id)
        ).one()
        if row.phase not in ENDED_TASK or row.ended_at in (None, self._ended_at):
            return []
        self._ended_at = row.ended_at
        return [of_end(Ref(task_id), row.phase, row.reason, row.ended_at)]

    def _fresh(self, kind: str, key: str) -> bool:
        if (kind, key) in self._told:
            return False
        self._told.add((kind, key))
        return True


def _as_started(line: AttemptLine) -> AttemptLine:
    """The attempt as it was when it began."""
    return replace(line, outcome=RUNNING, ended_at=None)
