"""Reads what a checkpoint is to publish, and notes how far it has come."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, text

from shared.domain.checkpoint import CheckpointReport, CheckpointStage, SyncedWorktree
from shared.domain.delivery import CheckpointEnding, session_branch
from shared.domain.errors import Defect, Misconfigured
from shared.domain.host import Host
from shared.domain.jobs import Job
from shared.domain.next_step import Blank, NextStep
from shared.domain.target import Repository
from shared.domain.task import RunPhase
from shared.store import hosts, jobs, targets
from shared.wire import from_json, to_json
from workers.deliveries.remote import STAGE
from workers.deliveries.request_text import AcceptedDelivery, RequestText, request_text
from workers.deliveries.worktrees import IdleWorktree

UNDER_WAY: Final = "under_way"
"""The status of a checkpoint that has not ended."""

_GIVEN_UP: Final = "another checkpoint followed before it was complete"

_RUN = text("""
    SELECT runs.task_id, runs.target, runs.token, runs.head, runs.accepted, runs.phase,
        (SELECT count(*) FROM runs others WHERE others.task_id = runs.task_id) AS runs_of_task
    FROM runs WHERE runs.id = :run_id
""")

_BEGIN = text("""
    INSERT INTO checkpoints (run_id, number, status, stage, remote, ref, head_local, accepted)
    VALUES (:run_id, :number, :status, :stage, :remote, :ref, :head, :accepted)
    ON CONFLICT (run_id, number) DO UPDATE SET remote = excluded.remote, ref = excluded.ref
    WHERE checkpoints.finished_at IS NULL
""")

_GIVE_UP = text("""
    UPDATE checkpoints SET status = :status, finished_at = clock_timestamp(),
        report = report || jsonb_build_object('reason', CAST(:reason AS text))
    WHERE run_id = :run_id AND number < :number AND finished_at IS NULL
""")

_FOUND = text("""
    SELECT id, status, stage, head_local, head_remote, accepted, report, synced
    FROM checkpoints WHERE run_id = :run_id AND number = :number
""")

_ADVANCE = text("""
    UPDATE checkpoints SET stage = :stage, head_remote = coalesce(:head_remote, head_remote),
        report = CAST(:report AS jsonb), synced = CAST(:synced AS jsonb)
    WHERE id = :id AND finished_at IS NULL
""")

_END = text("""
    UPDATE checkpoints SET status = :status, finished_at = clock_timestamp()
    WHERE id = :id AND finished_at IS NULL
""")

_PASSED = text("""
    SELECT coalesce(runs.envelope, earlier.envelope) AS envelope
    FROM check_runs runs LEFT JOIN check_runs earlier ON earlier.id = runs.same_as
    WHERE runs.repository = :repository AND runs.tree = :tree AND runs.ok
    ORDER BY runs.id DESC LIMIT 20
""")

_IDLE = text("""
    SELECT DISTINCT ON (run_steps.step) run_steps.step, deliveries.tree,
        (SELECT count(*) FROM deliveries before
         WHERE before.run_id = run_steps.run_id AND before.step = run_steps.step
             AND before.status = 'rejected') AS rejected
    FROM run_steps JOIN deliveries USING (run_id, step)
    WHERE run_id = :run_id AND run_steps.accepted_as > 0
        AND deliveries.status IN ('accepted', 'checkpointed')
        AND NOT EXISTS (
            SELECT FROM jobs
            WHERE jobs.run_id = run_steps.run_id AND jobs.step = run_steps.step
                AND jobs.state IN ('open', 'cancelled') AND jobs.lease_until > clock_timestamp()
        )
    ORDER BY run_steps.step, deliveries.id DESC
""")

_GOAL = text("SELECT prompt FROM tasks WHERE id = :task_id")

_ACCEPTED = text("""
    SELECT DISTINCT ON (run_steps.accepted_as) run_steps.accepted_as AS number, run_steps.title,
        deliveries.issue_id, deliveries.runner, deliveries.sha256, deliveries.stats,
        reviews.reviewer,
        (SELECT jsonb_array_length(check_runs.report -> 'checks') FROM check_runs
         WHERE check_runs.delivery_id = deliveries.id AND check_runs.ok
         ORDER BY check_runs.turn DESC LIMIT 1) AS checks
    FROM run_steps JOIN deliveries USING (run_id, step)
    LEFT JOIN reviews ON reviews.delivery_id = deliveries.id
    WHERE run_id = :run_id AND run_steps.accepted_as BETWEEN 1 AND :accepted
        AND deliveries.status IN ('accepted', 'checkpointed')
    ORDER BY run_steps.accepted_as, deliveries.id DESC
""")


@dataclass(frozen=True, slots=True)
class Session:
    """A run that delivers, and where: `token` is its name on the `host` of the `repository`."""

    run_id: int
    task_id: int
    token: str
    host: Host
    repository: Repository
    branch: str

    @property
    def ref(self) -> str:
        """Its name for people."""
        return f"T{self.task_id}@{self.repository.name}"


@dataclass(frozen=True, slots=True)
class BegunCheckpoint:
    """The row of a checkpoint, as its last driver left it.

    `head` is what it publishes, `accepted` how many deliveries that holds; both stay the same for
    all its drivers. `ending` is None while it has not ended. `cancelled` says that the session was
    cancelled before this driver began.
    """

    id: int
    number: int
    head: str
    accepted: int
    stage: CheckpointStage
    ending: CheckpointEnding | None
    head_remote: str | None
    report: CheckpointReport
    synced: tuple[SyncedWorktree, ...] = ()
    cancelled: bool = False


def session_of(connection: Connection, job: Job) -> Session:
    """The session of a job. Raises Misconfigured if its repository or host cannot be used."""
    row = _run(connection, job)
    place = targets.find(connection, row.target)
    if place is None or place.repository is None:
        raise Misconfigured(
            f"{row.target!r} is not a repository on an enrolled host",
            stage=STAGE,
            next_step=NextStep.of("repo add", row.target, path=Blank("FOLDER")),
        )
    hosts.require_trusted(place.host)
    repository = place.repository
    branch = session_branch(row.task_id, repository.name, row.runs_of_task)
    host = hosts.with_route(connection, place.host)
    return Session(job.run_id or 0, row.task_id, row.token, host, repository, branch)


def begin(
    connection: Connection, job: Job, session: Session, *, remote: str, ref: str
) -> BegunCheckpoint:
    """The checkpoint of a job: a new row, or the one that an earlier driver began.

    Those before it that waited for an operator end with that. Raises Transient if the job is not
    ours any more, and Defect if nothing was accepted.
    """
    jobs.require_held(connection, job.claim, STAGE)
    run = _run(connection, job)
    if run.head is None:
        raise Defect(f"{session.ref} has nothing to publish", stage=STAGE)
    key = {"run_id": session.run_id, "number": job.pass_no}
    values = {
        "status": UNDER_WAY,
        "stage": CheckpointStage.INTEGRATE.value,
        "remote": remote,
        "ref": ref,
        "head": run.head,
        "accepted": run.accepted,
    }
    connection.execute(_BEGIN, {**key, **values})
    given_up = {"status": CheckpointEnding.GIVEN_UP.value, "reason": _GIVEN_UP}
    connection.execute(_GIVE_UP, {**key, **given_up})
    row = connection.execute(_FOUND, key).one()
    return BegunCheckpoint(
        id=row.id,
        number=job.pass_no,
        head=row.head_local,
        accepted=row.accepted,
        stage=CheckpointStage(row.stage),
        ending=None if row.status == UNDER_WAY else CheckpointEnding(row.status),
        head_remote=row.head_remote,
        report=from_json(CheckpointReport, row.report),
        synced=tuple(from_json(SyncedWorktree, each) for each in row.synced),
        cancelled=run.phase == RunPhase.CANCELLED,
    )


def advance(connection: Connection, job: Job, begun: BegunCheckpoint) -> None:
    """Note what a checkpoint does next, and what it knows; it ends with its `ending`.

    Raises Transient if the job is not ours any more.
    """
    jobs.require_held(connection, job.claim, STAGE)
    values: dict[str, Any] = {
        "id": begun.id,
        "stage": begun.stage.value,
        "head_remote": begun.head_remote,
        "report": json.dumps(to_json(begun.report)),
        "synced": json.dumps([to_json(each) for each in begun.synced]),
    }
    connection.execute(_ADVANCE, values)
    if begun.ending is not None:
        connection.execute(_END, {"id": begun.id, "status": begun.ending.value})


def envelopes(connection: Connection, repository: str, tree: str) -> tuple[Any, ...]:
    """The envelopes of the judgements in which that tree has passed its checks, newest first.

    One that was not signed is None.
    """
    found = connection.execute(_PASSED, {"repository": repository, "tree": tree})
    return tuple(found.scalars())


def idle_worktrees(
    connection: Connection, session: Session, name_of: Callable[[str, int, int], str]
) -> Sequence[IdleWorktree]:
    """The worktrees of the steps whose deliveries were accepted; nobody works on those steps.

    Each of them was made after the last delivery of its step that was rejected.
    """
    found = connection.execute(_IDLE, {"run_id": session.run_id})
    return [IdleWorktree(name_of(session.token, row.step, row.rejected), row.tree) for row in found]


def text_of_request(
    connection: Connection, session: Session, begun: BegunCheckpoint
) -> RequestText:
    """The title and the text of the request to merge what a checkpoint has published."""
    goal = connection.execute(_GOAL, {"task_id": session.task_id}).scalar_one()
    place = {"run_id": session.run_id, "accepted": begun.accepted}
    accepted = [_accepted(row) for row in connection.execute(_ACCEPTED, place)]
    head = begun.head_remote or begun.head
    return request_text(session.ref, goal, accepted, head, begun.report.tree or "")


def _accepted(row: Any) -> AcceptedDelivery:
    return AcceptedDelivery(
        number=row.number,
        issue=row.issue_id,
        title=row.title,
        runner=row.runner,
        sha256=row.sha256,
        files=row.stats.get("files", 0),
        added=row.stats.get("added", 0),
        deleted=row.stats.get("deleted", 0),
        checks=row.checks or 0,
        reviewer=row.reviewer,
    )


def _run(connection: Connection, job: Job) -> Any:
    row = connection.execute(_RUN, {"run_id": job.run_id}).one_or_none()
    if row is None:
        raise Defect(f"job {job.id} names no run", stage=STAGE)
    return row
