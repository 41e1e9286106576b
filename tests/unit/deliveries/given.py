"""A delivery, and others like it."""

from dataclasses import replace
from datetime import UTC, datetime

from shared.deliveries.bundle import Bundle, Meta, Stats

META = Meta(
    project_id="app",
    session_id="T12@app",
    attempt_id="T12.2.1#1@app",
    issue_id="L-000123",
    base_sha="a" * 40,
    result_tree="b" * 40,
    created_at=datetime(2026, 11, 23, 1, 2, 3, tzinfo=UTC),
)
PATCH = b"diff --git a/x b/x\nnew file mode 100644\n"
DELIVERABLES = {"schema_version": 1, "issue_id": "L-000123", "summary": ["Добавил ‹x›"]}
BUNDLE = Bundle(META, PATCH, DELIVERABLES, Stats(1, 0, 0))


def numbered(number: int) -> Bundle:
    """Another delivery for each number."""
    return replace(BUNDLE, patch=PATCH + b"%d" % number)
