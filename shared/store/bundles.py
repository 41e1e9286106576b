"""Bundles in rows: immutable, one a pass."""

from sqlalchemy import Connection, select
from sqlalchemy.dialects.postgresql import insert as upsert

from shared.domain.bundle import Bundle
from shared.domain.errors import Defect
from shared.store.tables import BundleRow
from shared.wire import from_json, to_json


def save(
    connection: Connection, run_id: int, step: int, *, revision: int, pass_no: int, bundle: Bundle
) -> int:
    """Keep a bundle; one of the same pass that is there already stays. Returns its id."""
    place = {"run_id": run_id, "step": step, "revision": revision, "pass_no": pass_no}
    connection.execute(
        upsert(BundleRow).values(**place, body=to_json(bundle)).on_conflict_do_nothing()
    )
    found = connection.execute(select(BundleRow.id).filter_by(**place))
    return found.scalar_one()


def newest(connection: Connection, run_id: int, step: int) -> Bundle:
    """The latest bundle of a step; raises Defect when there is none."""
    body = connection.execute(
        select(BundleRow.body)
        .where(BundleRow.run_id == run_id, BundleRow.step == step)
        .order_by(BundleRow.id.desc())
        .limit(1)
    ).scalar_one_or_none()
    if body is None:
        raise Defect(f"step {step} of run {run_id} has no bundle", stage="escalate")
    return from_json(Bundle, body)
