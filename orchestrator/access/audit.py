"""The audit: every human action, written in the same commit as its change."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.access.actor import Actor
from orchestrator.access.chain import Anchor, AuditEntry, ChainFault, faults
from shared.domain.errors import Misconfigured
from shared.domain.next_step import NextStep
from shared.store import inbox
from shared.store.connection import PATIENT
from shared.store.database import Database
from shared.store.inbox import Report

# The head is one row: whoever appends holds it until the commit, so the chain has no forks. The
# coordinator never appends, so it never waits here. The time is taken before that wait.
CHAINED = """
    head AS (
        UPDATE audit_head SET
            seq = audit_head.seq + 1,
            previous = audit_head.hash,
            hash = sha256(audit_head.hash || convert_to(json_build_array(
                audit_head.seq + 1,
                to_char(act.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'),
                CAST(:actor AS text), CAST(:verb AS text), act.ref, CAST(:details AS text)
            )::text, 'UTF8'))
        FROM act RETURNING audit_head.*
    ),
    recorded AS (
        INSERT INTO audit (seq, at, actor, verb, ref, details, previous, hash)
        SELECT head.seq, act.at, :actor, :verb, act.ref, :details, head.previous, head.hash
        FROM head, act
        RETURNING seq
    )
"""
"""Part of a statement that appends its `act` (`at`, `ref`); `recorded` then has a row.

It serves statements that create the thing that the act is about. `values` has its parameters.
"""

_RECORDED = f"""
    act AS (SELECT clock_timestamp() AS at, CAST(:ref AS text) AS ref), {CHAINED}
"""
_RECORD = text(f"WITH {_RECORDED} SELECT count(*) FROM recorded")  # noqa: S608 - constants
_RECORD_AND_SEND = text(f"""
    WITH {inbox.SENT}, {_RECORDED} SELECT count(*), pg_notify(:channel, '') FROM recorded
""")  # noqa: S608 - constants

_HEAD = text("SELECT seq, hash FROM audit_head")
_COLUMNS = "seq, at, actor, verb, ref, details, previous, hash"
_LINKS = text(f"""
    SELECT {_COLUMNS} FROM audit WHERE seq > :after ORDER BY seq LIMIT :limit
""")  # noqa: S608 - constants
_NEWEST = text(f"""
    SELECT {_COLUMNS} FROM audit
    WHERE (CAST(:around AS bigint) IS NULL OR seq BETWEEN :around - :near AND :around + :near)
      AND (CAST(:actor AS text) IS NULL OR actor = :actor)
      AND (CAST(:ref AS text) IS NULL OR ref = :ref OR starts_with(ref, :ref || '.')
           OR starts_with(ref, :ref || '@'))
      AND (CAST(:after AS bigint) IS NULL OR seq < :after)
    ORDER BY seq DESC LIMIT :limit
""")  # noqa: S608 - constants

NEAR = 2
"""The number of entries shown before and after an entry."""

_PAGE = 5000


@dataclass(frozen=True, slots=True)
class Act:
    """What somebody does: a verb from the table of roles, its object, and other details.

    The details must not contain secrets: they are kept forever.
    """

    verb: str
    ref: str
    details: Mapping[str, Any] = field(default_factory=dict)


def record(connection: Connection, actor: Actor, act: Act) -> None:
    """Append an act to this transaction. Others who append wait until it commits.

    Raises Misconfigured when the chain has lost its head.
    """
    require_recorded(connection.execute(_RECORD, values(actor, act)).scalar_one())


def record_sent(connection: Connection, actor: Actor, act: Act, reports: Iterable[Report]) -> None:
    """Append an act and put its facts into the inbox, in one statement."""
    sending = inbox.sending((report, 0.0) for report in reports)
    given = values(actor, act) | sending
    require_recorded(connection.execute(_RECORD_AND_SEND, given).one()[0])


def newest(
    connection: Connection,
    *,
    limit: int,
    actor: str | None = None,
    ref: str | None = None,
    around: int | None = None,
    after: int | None = None,
) -> tuple[AuditEntry, ...]:
    """The last acts, newest first; with `after`, those that follow it in this order.

    Optionally only those of an actor, those on a thing and its parts, or those around an entry.
    """
    wanted = {"limit": limit, "actor": actor, "ref": ref, "around": around, "near": NEAR}
    wanted["after"] = after
    return tuple(_link(row) for row in connection.execute(_NEWEST, wanted))


def head(connection: Connection) -> Anchor:
    """Where the chain ends. Raises Misconfigured when it has lost its head."""
    row = connection.execute(_HEAD).one_or_none()
    if row is None:
        raise _headless()
    return Anchor(row.seq, bytes(row.hash))


def verify(database: Database, anchor: Anchor | None = None) -> tuple[Anchor, list[ChainFault]]:
    """The head, and the faults of the chain that leads to it: none when it is intact.

    Raises Misconfigured when the chain has lost its head.
    """
    # In one snapshot: else an entry appended meanwhile would look like a fault.
    with database.reading(PATIENT) as connection:
        end = head(connection)
        return end, list(faults(_links(connection), end, anchor))


def _links(connection: Connection) -> Iterator[AuditEntry]:
    after = -1
    while page := connection.execute(_LINKS, {"after": after, "limit": _PAGE}).all():
        yield from (_link(row) for row in page)
        after = page[-1].seq


def _link(row: Any) -> AuditEntry:
    return AuditEntry(
        seq=row.seq,
        at=row.at,
        actor=row.actor,
        verb=row.verb,
        ref=row.ref,
        details=row.details,
        previous=bytes(row.previous),
        hash=bytes(row.hash),
    )


def values(actor: Actor, act: Act) -> dict[str, Any]:
    """The parameters of an entry; its details say `from` where the actor acted, if known."""
    told = dict(act.details)
    if actor.origin is not None:
        told["from"] = actor.origin.kind.value
    details = json.dumps(told, ensure_ascii=False, sort_keys=True)
    return {"actor": actor.name, "verb": act.verb, "ref": act.ref, "details": details}


def require_recorded(rows: int) -> None:
    """Raise Misconfigured when nothing was appended: the chain has lost its head."""
    if not rows:
        raise _headless()


def _headless() -> Misconfigured:
    return Misconfigured(
        "the audit has lost its head: somebody has removed the row of audit_head; no act "
        "that must be recorded is possible until it is restored",
        stage="audit",
        next_step=NextStep.of("audit list"),
    )
