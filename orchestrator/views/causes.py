"""What a host says is wrong, from the newest evidence of a step."""

from collections.abc import Collection, Mapping

from sqlalchemy import Connection, text

from shared.domain.cause import Cause
from shared.wire import from_json

_NEWEST = text("""
    SELECT DISTINCT ON (b.run_id, b.step) b.run_id, b.step, b.body -> 'causes' AS causes
    FROM bundles b
    JOIN unnest(CAST(:runs AS bigint[]), CAST(:steps AS bigint[])) AS place (run_id, step)
      ON place.run_id = b.run_id AND place.step = b.step
    ORDER BY b.run_id, b.step, b.id DESC
""")


def newest_causes(
    connection: Connection, places: Collection[tuple[int, int]]
) -> Mapping[tuple[int, int], tuple[Cause, ...]]:
    """The causes of the newest bundle of each of these steps, by run and step."""
    if not places:
        return {}
    listed = sorted(places)
    given = {"runs": [run for run, _ in listed], "steps": [step for _, step in listed]}
    rows = connection.execute(_NEWEST, given)
    return {(row.run_id, row.step): causes_in(row.causes) for row in rows}


def causes_in(stored: object) -> tuple[Cause, ...]:
    """The causes of a stored bundle; one of an older version has none."""
    return from_json(tuple[Cause, ...], stored or [])
