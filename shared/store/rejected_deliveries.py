"""Why deliveries were rejected, read from their rows, from their checks and from their reviews."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, text

from shared.domain.delivery import Rejection
from shared.domain.rejected_delivery import RejectedDelivery

_MOST_OUTPUT: Final = 4_000
"""Characters of the output of red checks, from its end."""

_REJECTED = text("""
    SELECT deliveries.run_id, deliveries.step, deliveries.pass_no, deliveries.rejection,
        deliveries.reason, deliveries.settled_by, checked.report, reviews.result AS review
    FROM deliveries
    LEFT JOIN LATERAL (
        SELECT report FROM check_runs WHERE delivery_id = deliveries.id ORDER BY turn DESC LIMIT 1
    ) AS checked ON TRUE
    LEFT JOIN reviews ON reviews.delivery_id = deliveries.id
    WHERE deliveries.run_id = ANY(CAST(:run_ids AS bigint[]))
      AND (CAST(:step AS bigint) IS NULL OR deliveries.step = :step)
      AND deliveries.status IN ('rejected', 'refused')
    ORDER BY deliveries.id
""")


def of_step(connection: Connection, run_id: int, step: int) -> tuple[RejectedDelivery, ...]:
    """Why the deliveries of that step were rejected, oldest first."""
    found = connection.execute(_REJECTED, {"run_ids": [run_id], "step": step})
    return tuple(map(_rejected, found))


def by_step(
    connection: Connection, run_ids: Sequence[int]
) -> dict[tuple[int, int], tuple[RejectedDelivery, ...]]:
    """The same for every step of these runs, by run and step."""
    grouped: dict[tuple[int, int], tuple[RejectedDelivery, ...]] = {}
    for row in connection.execute(_REJECTED, {"run_ids": list(run_ids), "step": None}):
        place = row.run_id, row.step
        grouped[place] = (*grouped.get(place, ()), _rejected(row))
    return grouped


def _rejected(row: Any) -> RejectedDelivery:
    rejection = Rejection(row.rejection or Rejection.CHECK)
    report = row.report or {}
    is_review = rejection is Rejection.REVIEWER and row.review is not None
    is_merge = rejection in {Rejection.CHECK, Rejection.CONFLICT}
    return RejectedDelivery(
        pass_no=row.pass_no,
        rejection=rejection,
        reason=row.reason,
        rejected_by=row.settled_by or "",
        comments=tuple(row.review.get("comments", ())) if is_review else (),
        output=_output(report) if is_merge else "",
        conflicts=tuple(report.get("conflicts", ())) if is_merge else (),
    )


def _output(report: Mapping[str, Any]) -> str:
    """The end of what each red check has printed, after its command."""
    red = [each for each in report.get("checks", ()) if not each.get("ok")]
    shown = "\n".join(f"$ {each.get('command', '')}\n{each.get('output', '')}" for each in red)
    return shown[-_MOST_OUTPUT:]
