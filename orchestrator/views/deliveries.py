"""Deliveries: a list, and one with its judgements, its review, and where it is now."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, text

from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.views.interventions import InterventionView, list_interventions
from orchestrator.views.places import one_run, require_step
from orchestrator.views.values import RefValue
from shared.domain.delivery import DeliveryStatus, Rejection, Stage, Trust
from shared.domain.errors import Rejected
from shared.domain.findings import Finding
from shared.domain.ids import Ref, parse_ref
from shared.domain.next_step import NextStep
from shared.wire import from_json

_NUMBER: Final = re.compile(r"[Dd]?([1-9][0-9]{0,17})")
_DIGEST: Final = re.compile(r"[0-9a-f]{8,64}")

_LINES: Final = """
    SELECT d.id, d.run_id, d.step, d.issue_id, d.sha256, d.status, d.rejection, d.reason, d.runner,
           d.stats, d.created_at, d.settled_by, d.settled_at, runs.task_id, runs.target,
           steps.title, own.stage, own.place
    FROM deliveries d
    JOIN runs ON runs.id = d.run_id
    LEFT JOIN run_steps steps ON steps.run_id = d.run_id AND steps.step = d.step
    LEFT JOIN LATERAL (
        SELECT steps.acceptance ->> 'stage' AS stage,
               (steps.acceptance ->> 'place')::bigint AS place
        WHERE d.status = 'published'
          AND steps.acceptance -> 'published' ->> 'delivery' = d.sha256
    ) AS own ON true
"""
_PAGE = text(f"""
    {_LINES}
    WHERE (CAST(:run_id AS bigint) IS NULL OR d.run_id = :run_id)
      AND (CAST(:repository AS text) IS NULL OR runs.target = :repository)
      AND (CAST(:status AS text) IS NULL OR d.status = :status)
      AND (CAST(:after AS bigint) IS NULL OR d.id < :after)
    ORDER BY d.id DESC LIMIT :limit
""")
_OPEN = text(f"""
    {_LINES} WHERE d.run_id = :run_id AND d.status = 'published'
    ORDER BY coalesce(nullif(own.place, 0), 9223372036854775807), d.id LIMIT :limit
""")
_ONE = text(f"{_LINES} WHERE d.id = :id")
_NAMED = text("SELECT id FROM deliveries WHERE sha256 LIKE :digest || '%' ORDER BY id LIMIT 2")
_NEWEST = text("SELECT max(id) FROM deliveries WHERE run_id = :run_id AND step = :step")
_WAITING = text(f"""
    SELECT asked.*, i.id AS intervention, i.reason AS why, now.revision, now.pass_no
    FROM ({_LINES}) AS asked
    JOIN run_steps now ON now.run_id = asked.run_id AND now.step = asked.step
     AND now.waits_for = 'acceptance'
    JOIN interventions i ON i.run_id = asked.run_id AND i.step = asked.step
     AND i.kind = 'delivery' AND i.closed_at IS NULL
    WHERE asked.stage = 'allowing' AND asked.run_id = :run_id
      AND (CAST(:step AS bigint) IS NULL OR asked.step = :step)
    ORDER BY asked.id
""")  # noqa: S608 - nothing but constants
_WHOLE = text("""
    SELECT d.uri, d.size, d.base, d.tree, d.commit, d.trust, d.deliverables, d.findings,
           d.revision, d.pass_no, d.attempt_key, steps.accepted_as,
           (SELECT min(c.number) FROM checkpoints c
            WHERE c.run_id = d.run_id AND c.status = 'complete' AND d.status = 'checkpointed'
              AND c.accepted >= steps.accepted_as) AS checkpoint
    FROM deliveries d LEFT JOIN run_steps steps ON steps.run_id = d.run_id AND steps.step = d.step
    WHERE d.id = :id
""")
_JUDGEMENTS = text("""
    SELECT turn, status, onto, commit, tree, ok, report, same_as, envelope IS NOT NULL AS attested,
           started_at, finished_at
    FROM check_runs WHERE delivery_id = :id ORDER BY turn
""")
_REVIEW = text("SELECT reviewer, result, created_at FROM reviews WHERE delivery_id = :id")


@dataclass(frozen=True, slots=True)
class DeliveryLine:
    """A delivery in a list; `ref` is the step that it is for, `issue` the name of that (S2.41).

    While it is neither accepted nor rejected, `stage` says how far it has come, and `place` orders
    the queue (0: it is not in it). `files` changed, by so many lines `added` and `deleted`.
    """

    name: str
    ref: RefValue
    issue: str
    title: str
    status: DeliveryStatus
    stage: Stage | None
    place: int
    rejection: Rejection | None
    reason: str
    runner: str | None
    files: int
    added: int
    deleted: int
    created_at: datetime
    settled_by: str | None
    settled_at: datetime | None
    sha256: str


@dataclass(frozen=True, slots=True)
class DeliveryList:
    """Deliveries, newest first; there are older ones after `next`, unless it is None."""

    deliveries: tuple[DeliveryLine, ...]
    next: int | None = None


@dataclass(frozen=True, slots=True)
class JudgementLine:
    """A delivery merged with the line `onto`, and checked on exactly that tree.

    `ok` is None until it has ended. `attested` says that the result is signed. `same_as` is the
    earlier check of the same tree whose result it took.
    """

    turn: int
    status: str
    onto: str
    commit: str | None
    tree: str | None
    ok: bool | None
    report: Mapping[str, Any]
    same_as: int | None
    attested: bool
    started_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class ReviewLine:
    """What a reviewer said of a delivery (S3.50-S3.54)."""

    reviewer: str
    result: Mapping[str, Any]
    created_at: datetime

    @property
    def approved(self) -> bool:
        """Whether it may be accepted."""
        return bool(self.result.get("approved"))


@dataclass(frozen=True, slots=True)
class DeliveryView:
    """A delivery with all that became of it; see `DeliveryRow` for its parts.

    `checkpoint` is the number of the one that put it on the remote. `waiting` is what its step
    waits for from a person.
    """

    delivery: DeliveryLine
    base: str
    tree: str
    commit: str | None
    uri: str
    size: int
    trust: Trust
    deliverables: Mapping[str, Any]
    findings: tuple[Finding, ...]
    judgements: tuple[JudgementLine, ...]
    review: ReviewLine | None
    attempt: str | None
    accepted_as: int
    checkpoint: int | None
    waiting: tuple[InterventionView, ...] = ()


@dataclass(frozen=True, slots=True)
class WaitingDelivery:
    """A delivery that waits for a person, because of `why`; the pass that it is of."""

    delivery: DeliveryLine
    why: str
    intervention: int
    run_id: int
    revision: int
    pass_no: int


def list_deliveries(
    connection: Connection,
    *,
    limit: int = 1000,
    run_id: int | None = None,
    repository: str | None = None,
    status: DeliveryStatus | None = None,
    after: int | None = None,
) -> DeliveryList:
    """The newest deliveries, at most `limit`; with `after`, those that follow it in this order."""
    values = {
        "run_id": run_id,
        "repository": repository,
        "status": None if status is None else status.value,
        "after": after,
        "limit": limit + 1,
    }
    rows = connection.execute(_PAGE, values).all()
    more = rows[limit - 1].id if len(rows) > limit else None
    return DeliveryList(tuple(map(_line, rows[:limit])), next=more)


def open_deliveries(connection: Connection, run_id: int, limit: int) -> tuple[DeliveryLine, ...]:
    """Those of a session that are neither accepted nor rejected, the queue first, in its order."""
    found = connection.execute(_OPEN, {"run_id": run_id, "limit": limit})
    return tuple(map(_line, found))


def waiting_deliveries(connection: Connection, name: str) -> tuple[WaitingDelivery, ...]:
    """What waits for a person to accept it: one delivery, or those of a step or a session.

    Raises Rejected when there is no such place, or nothing waits there.
    """
    found = _where(connection, name)
    rows = connection.execute(_WAITING, found).all()
    if not rows:
        raise Rejected(
            f"{name}: no delivery waits for a person there",
            stage="input",
            next_step=NextStep.of("intervention list"),
        )
    return tuple(
        WaitingDelivery(
            _line(row), row.why, row.intervention, row.run_id, row.revision, row.pass_no
        )
        for row in rows
    )


def _where(connection: Connection, name: str) -> dict[str, Any]:
    if name[:1] in {"T", "t"}:
        ref = parse_ref(name)
        if ref.step is None:
            return {"run_id": one_run(connection, ref).run_id, "step": None}
        place, step = require_step(connection, ref)
        return {"run_id": place.run_id, "step": step}
    row = connection.execute(_ONE, {"id": _named(connection, name)}).one()
    if row.stage != Stage.ALLOWING:
        raise Rejected(
            f"{name} does not wait for a person: it is {row.stage or row.status}",
            stage="input",
            next_step=NextStep.of("delivery show", name),
        )
    return {"run_id": row.run_id, "step": row.step}


def delivery_view(connection: Connection, name: str) -> DeliveryView:
    """The delivery called `D7`, by the beginning of its SHA-256, or the newest one of a step.

    Raises Rejected when there is none.
    """
    number = _named(connection, name)
    row = connection.execute(_ONE, {"id": number}).one()
    whole = connection.execute(_WHOLE, {"id": number}).one()
    line = _line(row)
    review = connection.execute(_REVIEW, {"id": number}).one_or_none()
    return DeliveryView(
        delivery=line,
        base=whole.base,
        tree=whole.tree,
        commit=whole.commit,
        uri=whole.uri,
        size=whole.size,
        trust=Trust(whole.trust),
        deliverables=whole.deliverables,
        findings=tuple(from_json(Finding, each) for each in whole.findings),
        judgements=_judgements(connection, number),
        review=None if review is None else ReviewLine(*review),
        attempt=whole.attempt_key,
        accepted_as=0 if line.settled_at is None else whole.accepted_as or 0,
        checkpoint=whole.checkpoint,
        waiting=_waiting(connection, line),
    )


def _named(connection: Connection, name: str) -> int:
    if name[:1] in {"T", "t"}:
        return _newest_of(connection, parse_ref(name))
    number = _NUMBER.fullmatch(name)
    if number is None and _DIGEST.fullmatch(name) is None:
        raise Rejected(
            f"{name!r} is not a valid delivery; write it as D7, as the beginning of its SHA-256, "
            "or as its step: T12.3",
            stage="input",
            next_step=NextStep.of("delivery list"),
        )
    found: Sequence[Any] = ()
    if number is not None:
        found = connection.execute(_ONE, {"id": int(number[1])}).all()
    if not found and _DIGEST.fullmatch(name):
        found = connection.execute(_NAMED, {"digest": name}).all()
    if len(found) == 1:
        return int(found[0].id)
    why = "there is no delivery" if not found else "several deliveries begin with"
    shown = f"D{int(number[1])}" if number else name
    raise Rejected(f"{why} {shown}", stage="input", next_step=NextStep.of("delivery list"))


def _newest_of(connection: Connection, ref: Ref) -> int:
    place, step = require_step(connection, ref)
    found = connection.execute(_NEWEST, {"run_id": place.run_id, "step": step}).scalar()
    if found is None:
        raise Rejected(
            f"{place.step(step)} has delivered nothing yet",
            stage="input",
            next_step=NextStep.of("step show", place.step(step)),
        )
    return int(found)


def _waiting(connection: Connection, line: DeliveryLine) -> tuple[InterventionView, ...]:
    if line.stage is not Stage.ALLOWING:
        return ()
    asked = list_interventions(connection, task_id=line.ref.task)
    of_deliveries = (each for each in asked if each.kind is InterventionKind.DELIVERY)
    return tuple(each for each in of_deliveries if each.ref == line.ref)


def _judgements(connection: Connection, number: int) -> tuple[JudgementLine, ...]:
    rows = connection.execute(_JUDGEMENTS, {"id": number}).mappings()
    return tuple(JudgementLine(**row) for row in rows)


def _line(row: Any) -> DeliveryLine:
    return DeliveryLine(
        name=f"D{row.id}",
        ref=Ref(row.task_id, step=row.step, target=row.target),
        issue=row.issue_id,
        title=row.title or "",
        status=DeliveryStatus(row.status),
        stage=None if row.stage is None else Stage(row.stage),
        place=row.place or 0,
        rejection=None if row.rejection is None else Rejection(row.rejection),
        reason=row.reason,
        runner=row.runner,
        files=row.stats.get("files", 0),
        added=row.stats.get("added", 0),
        deleted=row.stats.get("deleted", 0),
        created_at=row.created_at,
        settled_by=row.settled_by,
        settled_at=row.settled_at,
        sha256=row.sha256,
    )
