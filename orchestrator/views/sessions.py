"""Sessions: a list, and one with its head, its queue, and what waits for whom."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, text

from orchestrator.views.deliveries import DeliveryLine, open_deliveries
from orchestrator.views.interventions import InterventionView, list_interventions
from orchestrator.views.places import RunPlace, runs_at
from orchestrator.views.postponed import PutOff, postponed_checkpoints, postponed_work_of
from orchestrator.views.values import RefValue
from shared.domain.checkpoint import CheckpointReport, SyncedWorktree
from shared.domain.delivery import DeliveryStatus, branch_name
from shared.domain.errors import Rejected
from shared.domain.ids import Ref
from shared.domain.next_step import NextStep
from shared.domain.task import RunPhase
from shared.wire import from_json

MOST_SHOWN: Final = 1000
"""Deliveries in the queue of a session that are shown."""

_LINES: Final = """
    SELECT runs.id, runs.task_id, runs.target, runs.phase, runs.head, runs.accepted,
           runs.held_open, runs.paused, runs.ended_at, runs.checkpoint, tasks.prompt,
           tasks.created_at, counted.deliveries
    FROM ledger.runs_of_sessions mine
    JOIN runs ON runs.id = mine.run_id JOIN tasks ON tasks.id = mine.task_id
    LEFT JOIN LATERAL (
        SELECT jsonb_object_agg(status, number) AS deliveries FROM (
            SELECT status, count(*) AS number FROM deliveries
            WHERE deliveries.run_id = runs.id GROUP BY status
        ) AS by_status
    ) AS counted ON true
"""
_PAGE = text(f"""
    {_LINES}
    WHERE (CAST(:repository AS text) IS NULL OR runs.target = :repository)
      AND (:every OR runs.ended_at IS NULL OR runs.held_open)
      AND (CAST(:after AS bigint) IS NULL OR runs.id < :after)
    ORDER BY runs.id DESC LIMIT :limit
""")
_ONE = text(f"{_LINES} WHERE runs.id = :run_id")
_STEPS = text("""
    SELECT phase, count(*) AS number FROM run_steps WHERE run_id = :run_id GROUP BY phase
""")
_CHECKPOINTS = text("""
    SELECT c.number, c.status, c.stage, c.remote, c.ref, c.head_local, c.head_remote, c.accepted,
           c.synced, c.report, c.started_at, c.finished_at, runs.task_id, runs.target
    FROM checkpoints c JOIN runs ON runs.id = c.run_id
    WHERE c.run_id = :run_id AND (CAST(:number AS bigint) IS NULL OR c.number = :number)
    ORDER BY c.number DESC LIMIT :limit
""")
_WORKTREES = text("""
    SELECT w.name, w.step, w.repository, w.host, w.path, w.state, w.last_seen_at,
           runs.task_id, runs.target, steps.phase
    FROM worktrees w JOIN runs ON runs.id = w.run_id
    LEFT JOIN run_steps steps ON steps.run_id = w.run_id AND steps.step = w.step
    WHERE w.run_id = :run_id ORDER BY w.step NULLS FIRST
""")


@dataclass(frozen=True, slots=True)
class SessionLine:
    """A session in a list; `deliveries` counts those of each status.

    `head` is its newest commit, None before the first of its `accepted` deliveries. While it is
    `held_open`, it does not end with its last step.
    """

    ref: RefValue
    repository: str
    phase: RunPhase
    goal: str
    head: str | None
    accepted: int
    deliveries: Mapping[DeliveryStatus, int]
    held_open: bool
    paused: bool
    checkpoint: Mapping[str, Any]
    created_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class SessionList:
    """Sessions, newest first; there are older ones after `next`, unless it is None."""

    sessions: tuple[SessionLine, ...]
    next: int | None = None


@dataclass(frozen=True, slots=True)
class CheckpointLine:
    """A checkpoint: what it published where, how far it has come, and what was verified there.

    `branch` is the name that people know, `session/T12`. `put_off` says why one that is under way
    is tried again later.
    """

    ref: RefValue
    number: int
    status: str
    stage: str
    remote: str
    branch: str
    head_local: str
    head_remote: str | None
    accepted: int
    synced: tuple[SyncedWorktree, ...]
    report: CheckpointReport
    started_at: datetime
    finished_at: datetime | None
    put_off: PutOff | None = None


@dataclass(frozen=True, slots=True)
class WorktreeLine:
    """Where a step works on a host, with the `phase` of the step; the main one has no step."""

    name: str
    ref: RefValue
    repository: str
    host: str
    path: str
    phase: str | None
    state: Mapping[str, Any]
    last_seen_at: datetime


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session on one screen; `steps` counts those in each phase, `queue` is in its order.

    `put_off` is its postponed work.
    """

    session: SessionLine
    steps: Mapping[str, int]
    queue: tuple[DeliveryLine, ...]
    waiting: tuple[InterventionView, ...]
    checkpoint: CheckpointLine | None
    worktrees: tuple[WorktreeLine, ...]
    put_off: tuple[PutOff, ...] = ()


def list_sessions(
    connection: Connection,
    *,
    limit: int = 100,
    repository: str | None = None,
    every: bool = False,
    after: int | None = None,
) -> SessionList:
    """The newest open sessions, or with `every` the closed ones too, at most `limit`."""
    values = {"repository": repository, "every": every, "after": after, "limit": limit + 1}
    rows = connection.execute(_PAGE, values).all()
    more = rows[limit - 1].id if len(rows) > limit else None
    return SessionList(tuple(map(_line, rows[:limit])), next=more)


def require_session(connection: Connection, ref: Ref) -> RunPlace:
    """The session that a reference means. Raises Rejected for none, or when it may mean several."""
    places = [
        place
        for place in runs_at(connection, ref)
        if connection.execute(_ONE, {"run_id": place.run_id}).one_or_none() is not None
    ]
    if len(places) == 1:
        return places[0]
    if places:
        meant = ", ".join(str(place.ref) for place in places)
        why = f"{ref} could mean any of {meant}; say which"
    else:
        why = f"{ref} is not a session: it does not deliver"
    raise Rejected(why, stage="input", next_step=NextStep.of("session list"))


def newest_session(connection: Connection) -> RunPlace:
    """The newest open session. Raises Rejected when there is none."""
    found = list_sessions(connection, limit=1).sessions
    if not found:
        raise Rejected(
            "there is no open session", stage="input", next_step=NextStep.of("session list")
        )
    return require_session(connection, found[0].ref)


def session_view(connection: Connection, place: RunPlace) -> SessionView:
    """The session of a run."""
    line = _line(connection.execute(_ONE, {"run_id": place.run_id}).one())
    checkpoints = list_checkpoints(connection, place, limit=1)
    waiting = list_interventions(connection, task_id=place.task_id)
    return SessionView(
        session=line,
        steps={row.phase: row.number for row in connection.execute(_STEPS, _of(place))},
        queue=open_deliveries(connection, place.run_id, MOST_SHOWN),
        waiting=tuple(each for each in waiting if each.ref.target in {None, place.target}),
        checkpoint=checkpoints[0] if checkpoints else None,
        worktrees=list_worktrees(connection, place),
        put_off=postponed_work_of(connection, place.run_id),
    )


def list_checkpoints(
    connection: Connection, place: RunPlace, *, limit: int = 100, number: int | None = None
) -> tuple[CheckpointLine, ...]:
    """The checkpoints of a session, newest first."""
    found = connection.execute(_CHECKPOINTS, _of(place) | {"limit": limit, "number": number})
    put_off = next(iter(postponed_checkpoints(connection, place.run_id)), None)
    return tuple(
        CheckpointLine(
            ref=Ref(row.task_id, target=row.target),
            number=row.number,
            status=row.status,
            stage=row.stage,
            remote=row.remote,
            branch=branch_name(row.ref),
            head_local=row.head_local,
            head_remote=row.head_remote,
            accepted=row.accepted,
            synced=tuple(from_json(SyncedWorktree, each) for each in row.synced),
            report=from_json(CheckpointReport, row.report),
            started_at=row.started_at,
            finished_at=row.finished_at,
            put_off=put_off if row.finished_at is None else None,
        )
        for row in found
    )


def require_checkpoint(
    connection: Connection, place: RunPlace, number: int | None = None
) -> CheckpointLine:
    """The checkpoint of a session with that number, or its newest; raises Rejected for none."""
    found = list_checkpoints(connection, place, limit=1, number=number)
    if not found:
        which = "no checkpoint yet" if number is None else f"no checkpoint {number}"
        raise Rejected(
            f"{place.ref} has {which}",
            stage="input",
            next_step=NextStep.of("checkpoint list", place.ref),
        )
    return found[0]


def list_worktrees(connection: Connection, place: RunPlace) -> tuple[WorktreeLine, ...]:
    """Where the steps of a session have worked, the main worktree first."""
    return tuple(
        WorktreeLine(
            name=row.name,
            ref=Ref(row.task_id, step=row.step, target=row.target),
            repository=row.repository,
            host=row.host,
            path=row.path,
            phase=row.phase,
            state=row.state,
            last_seen_at=row.last_seen_at,
        )
        for row in connection.execute(_WORKTREES, _of(place))
    )


def _of(place: RunPlace) -> dict[str, Any]:
    return {"run_id": place.run_id}


def _line(row: Any) -> SessionLine:
    counted = row.deliveries or {}
    return SessionLine(
        ref=Ref(row.task_id, target=row.target),
        repository=row.target,
        phase=RunPhase(row.phase),
        goal=row.prompt,
        head=row.head,
        accepted=row.accepted,
        deliveries={DeliveryStatus(status): number for status, number in counted.items()},
        held_open=row.held_open,
        paused=row.paused,
        checkpoint=row.checkpoint,
        created_at=row.created_at,
        ended_at=row.ended_at,
    )
