"""Deliveries in their rows: published, judged, reviewed, settled."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select, text
from sqlalchemy.dialects.postgresql import insert as upsert

from shared.domain.delivery import (
    Acceptance,
    CheckpointEnding,
    DeliveryStatus,
    Judgement,
    Rejection,
    Trust,
)
from shared.store.delivery_tables import CheckRunRow, DeliveryRow
from shared.store.tables import RunRow, RunStepRow
from shared.wire import from_json

_SETTLE = text("""
    UPDATE deliveries SET
        status = :status, rejection = :rejection, reason = :reason,
        commit = coalesce(:commit, deliveries.commit),
        settled_by = coalesce(:settled_by, deliveries.settled_by),
        settled_at = clock_timestamp()
    WHERE run_id = :run_id AND step = :step
      AND CASE WHEN CAST(:sha256 AS text) IS NULL THEN status = :before ELSE sha256 = :sha256 END
""")

_BEFORE = {
    DeliveryStatus.CHECKPOINTED: DeliveryStatus.ACCEPTED,
    DeliveryStatus.WITHDRAWN: DeliveryStatus.PUBLISHED,
}
"""Where a delivery of a step stands that is settled without being named."""

_END_CHECKPOINT = text("""
    UPDATE checkpoints SET status = :status, finished_at = clock_timestamp(),
        report = report || jsonb_build_object('reason', CAST(:reason AS text))
    WHERE run_id = :run_id AND number = :number AND finished_at IS NULL
""")

_BACK = (DeliveryStatus.REJECTED, DeliveryStatus.REFUSED)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivery as a pass publishes it; see `shared.store.delivery_tables.DeliveryRow`."""

    run_id: int
    step: int
    revision: int
    pass_no: int
    attempt_key: str | None
    runner: str | None
    issue_id: str
    sha256: str
    uri: str
    size: int
    base: str
    tree: str
    deliverables: Mapping[str, Any]
    stats: Mapping[str, Any]
    findings: tuple[Any, ...]
    trust: Trust
    created_at: datetime
    status: DeliveryStatus = DeliveryStatus.PUBLISHED
    rejection: Rejection | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class StoredDelivery(Delivery):
    """A delivery with its number, and what has become of it."""

    id: int = 0
    commit: str | None = None
    settled_by: str | None = None


@dataclass(frozen=True, slots=True)
class CheckRun:
    """A judgement of a delivery; see `shared.store.delivery_tables.CheckRunRow`."""

    delivery_id: int
    turn: int
    status: str
    onto: str
    commit: str | None
    tree: str | None
    repository: str
    checks: str | None
    ok: bool
    report: Mapping[str, Any]
    same_as: int | None = None
    envelope: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class SessionHead:
    """The newest commit of a session, None where it began, and how many deliveries it holds."""

    head: str | None
    accepted: int


def settle(
    connection: Connection,
    run_id: int,
    step: int,
    status: DeliveryStatus,
    *,
    sha256: str | None,
    rejection: Rejection | None = None,
    reason: str = "",
    commit: str | None = None,
    settled_by: str | None = None,
) -> None:
    """Write down what became of a delivery of a step.

    Without `sha256` it is the accepted one that is on the remote now, or what was published and
    nobody has heard of.
    """
    values = {
        "run_id": run_id,
        "step": step,
        "status": status.value,
        "sha256": sha256,
        "before": _BEFORE.get(status),
        "rejection": None if rejection is None else rejection.value,
        "reason": reason,
        "commit": commit,
        "settled_by": settled_by,
    }
    connection.execute(_SETTLE, values)


def add(connection: Connection, delivery: Delivery) -> None:
    """Write down what a pass publishes, unless it has published before."""
    values = asdict(delivery)
    values["trust"] = delivery.trust.value
    values["status"] = delivery.status.value
    values["rejection"] = None if delivery.rejection is None else delivery.rejection.value
    values["findings"] = list(delivery.findings)
    connection.execute(upsert(DeliveryRow).values(values).on_conflict_do_nothing())


def of_pass(
    connection: Connection, run_id: int, step: int, revision: int, pass_no: int
) -> StoredDelivery | None:
    """What that pass has published or was refused; None if neither."""
    query = select(DeliveryRow.__table__).where(
        DeliveryRow.run_id == run_id,
        DeliveryRow.step == step,
        DeliveryRow.revision == revision,
        DeliveryRow.pass_no == pass_no,
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else _stored(row)


def by_digest(connection: Connection, digests: Collection[str]) -> dict[str, StoredDelivery]:
    """The deliveries with these digests."""
    query = select(DeliveryRow.__table__).where(DeliveryRow.sha256.in_(digests))
    return {row.sha256: _stored(row) for row in connection.execute(query)}


def sent_back(connection: Connection, run_id: int, step: int) -> tuple[StoredDelivery, ...]:
    """The deliveries of a step that were rejected or refused, in all revisions, oldest first."""
    query = (
        select(DeliveryRow.__table__)
        .where(
            DeliveryRow.run_id == run_id,
            DeliveryRow.step == step,
            DeliveryRow.status.in_([each.value for each in _BACK]),
        )
        .order_by(DeliveryRow.id)
    )
    return tuple(map(_stored, connection.execute(query)))


def head_of(connection: Connection, run_id: int) -> SessionHead:
    """Where a session stands."""
    row = connection.execute(select(RunRow.head, RunRow.accepted).where(RunRow.id == run_id)).one()
    return SessionHead(row.head, row.accepted)


def acceptance_of(connection: Connection, run_id: int, step: int) -> Acceptance | None:
    """How far the delivery of a step has come; None if none is on its way."""
    query = select(RunStepRow.acceptance).where(
        RunStepRow.run_id == run_id, RunStepRow.step == step
    )
    body = connection.execute(query).scalar_one_or_none()
    return None if body is None else from_json(Acceptance, body)


def keep_check_run(connection: Connection, run: CheckRun) -> None:
    """Write down a judgement; a later one of the same turn takes its place."""
    values = asdict(run)
    statement = upsert(CheckRunRow).values(**values, finished_at=text("clock_timestamp()"))
    places = ["delivery_id", "turn"]
    changed = {name: statement.excluded[name] for name in values if name not in places}
    finished = {"finished_at": statement.excluded.finished_at}
    connection.execute(
        statement.on_conflict_do_update(index_elements=places, set_={**changed, **finished})
    )


def judgement_of(connection: Connection, delivery_id: int, turn: int) -> Judgement | None:
    """What came of that judgement of a delivery; None while it is under way."""
    query = select(
        CheckRunRow.commit, CheckRunRow.tree, CheckRunRow.status, CheckRunRow.ok, CheckRunRow.report
    ).where(CheckRunRow.delivery_id == delivery_id, CheckRunRow.turn == turn)
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    rejection = None if row.ok else Rejection(row.status)
    return Judgement(row.commit, row.tree, rejection, row.report.get("reason", ""))


def passed_run(connection: Connection, repository: str, tree: str, checks: str) -> int | None:
    """The number of a judgement in which that tree has passed those checks; None if there is none.

    One that rests on another is not named: it is the one that ran them.
    """
    query = (
        select(CheckRunRow.id)
        .where(
            CheckRunRow.repository == repository,
            CheckRunRow.tree == tree,
            CheckRunRow.checks == checks,
            CheckRunRow.ok.is_(True),
            CheckRunRow.same_as.is_(None),
        )
        .order_by(CheckRunRow.id)
        .limit(1)
    )
    return connection.execute(query).scalar_one_or_none()


def _stored(row: Any) -> StoredDelivery:
    return StoredDelivery(
        run_id=row.run_id,
        step=row.step,
        revision=row.revision,
        pass_no=row.pass_no,
        attempt_key=row.attempt_key,
        runner=row.runner,
        issue_id=row.issue_id,
        sha256=row.sha256,
        uri=row.uri,
        size=row.size,
        base=row.base,
        tree=row.tree,
        deliverables=row.deliverables,
        stats=row.stats,
        findings=tuple(row.findings),
        trust=Trust(row.trust),
        created_at=row.created_at,
        status=DeliveryStatus(row.status),
        rejection=None if row.rejection is None else Rejection(row.rejection),
        reason=row.reason,
        id=row.id,
        commit=row.commit,
        settled_by=row.settled_by,
    )


def end_checkpoint(connection: Connection, run_id: int, number: int, reason: str) -> None:
    """End a checkpoint as refused, unless it has ended or no worker has begun it."""
    values = {"status": CheckpointEnding.REFUSED.value, "reason": reason}
    connection.execute(_END_CHECKPOINT, {"run_id": run_id, "number": number, **values})
