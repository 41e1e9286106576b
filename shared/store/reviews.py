"""Reviews of deliveries in rows, and what a reviewer has to know of a delivery."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select, text
from sqlalchemy.dialects.postgresql import insert as upsert

from shared.contracts.project import ReviewResult
from shared.domain.errors import Defect
from shared.store.delivery_tables import ReviewRow

_DELIVERY = text("""
    SELECT deliveries.id, deliveries.sha256, deliveries.base, deliveries.tree,
        array(
            SELECT DISTINCT body ->> 'runner' FROM attempts
            WHERE attempts.run_id = deliveries.run_id AND attempts.step = deliveries.step
              AND NOT look AND body ->> 'runner' <> ''
        ) AS authors,
        deliveries.deliverables, checked.onto, checked.tree AS merged,
        coalesce(before.report, checked.report) AS report
    FROM deliveries
    LEFT JOIN LATERAL (
        SELECT onto, tree, report, same_as FROM check_runs
        WHERE delivery_id = deliveries.id AND tree IS NOT NULL ORDER BY turn DESC LIMIT 1
    ) AS checked ON TRUE
    LEFT JOIN check_runs AS before ON before.id = checked.same_as
    WHERE deliveries.run_id = :run_id AND deliveries.step = :step
      AND deliveries.revision = :revision AND deliveries.pass_no = :pass_no
""")


_OF_RUN = text("""
    SELECT deliveries.step, reviews.delivery_id, reviews.reviewer, reviews.attempt_key,
        reviews.result
    FROM reviews JOIN deliveries ON deliveries.id = reviews.delivery_id
    WHERE deliveries.run_id = :run_id ORDER BY reviews.id
""")


@dataclass(frozen=True, slots=True)
class ReviewedDelivery:
    """A delivery as its reviewer gets it.

    `base` is the session's commit or tree before it, and `tree` is what would be published: both of
    its newest judgement, or its own if it was never judged. `authors` are the runners that have
    worked on its step: what was rejected goes on in the next delivery.
    """

    id: int
    sha256: str
    base: str
    tree: str
    authors: frozenset[str]
    deliverables: Mapping[str, Any]
    checks: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class StoredReview:
    """A review of a delivery, as its reviewer gave it."""

    delivery: int
    reviewer: str
    attempt_key: str | None
    result: ReviewResult


def delivery_of(
    connection: Connection, run_id: int, step: int, revision: int, pass_no: int
) -> ReviewedDelivery:
    """The delivery of a pass. Raises Defect where there is none."""
    place = {"run_id": run_id, "step": step, "revision": revision, "pass_no": pass_no}
    row = connection.execute(_DELIVERY, place).one_or_none()
    if row is None:
        raise Defect(f"pass {pass_no} of step {step} has no delivery", stage="review")
    return ReviewedDelivery(
        row.id,
        row.sha256,
        row.base if row.merged is None else row.onto,
        row.merged or row.tree,
        frozenset(row.authors),
        row.deliverables,
        tuple((row.report or {}).get("checks", ())),
    )


def save(connection: Connection, review: StoredReview) -> None:
    """Store a review; the first one of a delivery stays."""
    values = {
        "delivery_id": review.delivery,
        "reviewer": review.reviewer,
        "attempt_key": review.attempt_key,
        "result": review.result.model_dump(mode="json"),
    }
    connection.execute(upsert(ReviewRow).values(values).on_conflict_do_nothing())


def by_step(connection: Connection, run_id: int) -> dict[int, StoredReview]:
    """The newest review of each step of a run, by its number."""
    found = connection.execute(_OF_RUN, {"run_id": run_id})
    return {row.step: _review(row) for row in found}


def find(connection: Connection, delivery: int) -> StoredReview | None:
    """The review of the delivery of that number; None if there is none yet."""
    query = select(ReviewRow.__table__).where(ReviewRow.delivery_id == delivery)
    row = connection.execute(query).one_or_none()
    return None if row is None else _review(row)


def _review(row: Any) -> StoredReview:
    try:
        result = ReviewResult.model_validate(row.result)
    except ValueError as error:
        raise Defect(f"a stored review cannot be read: {error}", stage="wire") from error
    return StoredReview(row.delivery_id, row.reviewer, row.attempt_key, result)
