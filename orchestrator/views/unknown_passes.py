"""What hosts have recorded that the database does not know: it is older than they are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select, text

from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.views.values import RefValue
from shared.domain.ids import Ref
from shared.domain.records import RecordedPass
from shared.store.tables import InterventionRow, UnknownPassRow

_RUNS = text("SELECT id, task_id, target, token FROM runs WHERE token = ANY(:tokens)")
_CLAIMS = text("""
    SELECT unnest(tokens) FROM jobs WHERE run_id = ANY(:ids)
    UNION SELECT token FROM settled_claims WHERE run_id = ANY(:ids)
""")


@dataclass(frozen=True, slots=True)
class UnknownPass:
    """A pass of a known step under which a host ran something that the database does not know."""

    ref: RefValue
    revision: int
    pass_no: int
    claim: str


@dataclass(frozen=True, slots=True)
class UnknownRecords:
    """What a host has recorded and the database does not know.

    `runs` counts the runs that it does not know at all: it has lost them, or another installation
    works on that host, too.
    """

    passes: tuple[UnknownPass, ...] = ()
    runs: int = 0


def unknown_records(connection: Connection, found: Sequence[RecordedPass]) -> UnknownRecords:
    """Which of the passes on a host the database does not know."""
    tokens = {each.run for each in found}
    runs = {row.token: row for row in connection.execute(_RUNS, {"tokens": list(tokens)})}
    ids = [row.id for row in runs.values()]
    known = set(connection.execute(_CLAIMS, {"ids": ids}).scalars())
    passes = tuple(
        UnknownPass(
            Ref(runs[each.run].task_id, each.step, target=runs[each.run].target),
            each.revision,
            each.pass_no,
            each.claim,
        )
        for each in found
        if each.run in runs and each.claim not in known
    )
    return UnknownRecords(passes, len(tokens - set(runs)))


def keep(connection: Connection, host: str, found: Iterable[UnknownPass]) -> None:
    """Keep what the last check of a host has found."""
    connection.execute(delete(UnknownPassRow).where(UnknownPassRow.host == host))
    rows = [
        {
            "host": host,
            "task_id": each.ref.task,
            "step": each.ref.step,
            "target": each.ref.target,
            "revision": each.revision,
            "pass_no": each.pass_no,
            "claim": each.claim,
        }
        for each in found
    ]
    if rows:
        connection.execute(insert(UnknownPassRow), rows)


@dataclass(frozen=True, slots=True)
class OlderThanHosts:
    """What shows that the database is older than its hosts.

    `asked` are the interventions that wait for a person's word about it, by number; `found` is
    what checks of hosts have found and nobody has been asked about, host by host.
    """

    asked: tuple[int, ...]
    found: tuple[tuple[str, UnknownPass], ...]


def older_than_hosts(connection: Connection) -> OlderThanHosts:
    """What drivers and checks of hosts have found that the database does not know."""
    asked = connection.execute(
        select(InterventionRow.id)
        .where(
            InterventionRow.kind == InterventionKind.FORGOTTEN.value,
            InterventionRow.closed_at.is_(None),
        )
        .order_by(InterventionRow.id)
    ).scalars()
    found = connection.execute(_FOUND)
    return OlderThanHosts(
        tuple(asked),
        tuple(
            (
                row.host,
                UnknownPass(
                    Ref(row.task_id, row.step, target=row.target),
                    row.revision,
                    row.pass_no,
                    row.claim,
                ),
            )
            for row in found
        ),
    )


_FOUND = text("""
    SELECT found.* FROM unknown_passes AS found
    WHERE NOT EXISTS (SELECT FROM settled_claims WHERE token = found.claim)
    ORDER BY found.host, found.task_id, found.step, found.pass_no
""")
