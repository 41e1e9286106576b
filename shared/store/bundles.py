"""Bundles in rows: immutable, one per pass."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select
from sqlalchemy.dialects.postgresql import insert as upsert

from shared.domain.bundle import Bundle
from shared.domain.fix import FailurePattern
from shared.store.tables import BundleRow
from shared.wire import from_json, to_json


@dataclass(frozen=True, slots=True)
class StoredBundle:
    """A bundle with the pass that it describes, and its text as a model receives it.

    The fix memory recognises it by its `failure`.
    """

    revision: int
    pass_no: int
    created_at: datetime
    bundle: Bundle
    evidence: str = ""
    failure: FailurePattern | None = None


def save(
    connection: Connection,
    run_id: int,
    step: int,
    *,
    revision: int,
    pass_no: int,
    bundle: Bundle,
    evidence: str = "",
    failure: FailurePattern | None = None,
) -> int:
    """Store a bundle unless the pass already has one. Returns the bundle's id."""
    place = {"run_id": run_id, "step": step, "revision": revision, "pass_no": pass_no}
    connection.execute(
        upsert(BundleRow)
        .values(
            **place,
            body=to_json(bundle),
            evidence=evidence,
            failure=None if failure is None else to_json(failure),
        )
        .on_conflict_do_nothing()
    )
    found = connection.execute(select(BundleRow.id).filter_by(**place))
    return found.scalar_one()


def newest(
    connection: Connection, run_id: int, step: int, *, revision: int | None = None
) -> StoredBundle | None:
    """The latest bundle of a step, or of one of its revisions; None if there is none."""
    query = select(BundleRow.__table__).where(BundleRow.run_id == run_id, BundleRow.step == step)
    if revision is not None:
        query = query.where(BundleRow.revision == revision)
    row = connection.execute(query.order_by(BundleRow.id.desc()).limit(1)).one_or_none()
    if row is None:
        return None
    failure = None if row.failure is None else from_json(FailurePattern, row.failure)
    bundle = from_json(Bundle, row.body)
    return StoredBundle(row.revision, row.pass_no, row.created_at, bundle, row.evidence, failure)
