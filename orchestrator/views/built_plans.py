"""What people chose from backlogs for their sessions, in rows (S2.20)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, text

_INSERT = text("""
    INSERT INTO built_plans (run_id, source, selector, assigns)
    VALUES (:run_id, :source, CAST(:selector AS jsonb), CAST(:assigns AS jsonb)) RETURNING id
""")
_DELETE = text("DELETE FROM built_plans WHERE id = :id")


@dataclass(frozen=True, slots=True)
class Choice:
    """The issues that a person allowed, by id, and the runners of some of them.

    `source` is the name of the file.
    """

    source: str
    selector: tuple[str, ...]
    assigns: Mapping[str, str]


def values(choice: Choice | None) -> dict[str, Any]:
    """The parameters of a row; None for each where there is no choice."""
    if choice is None:
        return {"source": None, "selector": None, "assigns": None}
    return {
        "source": choice.source,
        "selector": json.dumps(choice.selector),
        "assigns": json.dumps(dict(choice.assigns)),
    }


def save(connection: Connection, run_id: int, choice: Choice) -> int:
    """Keep a choice for a session that there is; returns its number."""
    given = {"run_id": run_id, **values(choice)}
    return int(connection.execute(_INSERT, given).scalar_one())


def remove(connection: Connection, number: int) -> None:
    """Forget a choice of which nothing came."""
    connection.execute(_DELETE, {"id": number})
