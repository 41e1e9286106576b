"""Runs, by their names on hosts."""

from dataclasses import dataclass

from sqlalchemy import Connection, text

_TOKEN = text("SELECT token FROM runs WHERE id = :id")
_NAMED = text("""
    SELECT id, task_id, target, phase, head,
           (SELECT count(*) FROM runs others WHERE others.task_id = runs.task_id) AS beside
    FROM runs WHERE token = :token
""")


@dataclass(frozen=True, slots=True)
class NamedRun:
    """A run, found by its name on hosts; `beside` counts the runs of its task.

    `head` is that of a session which has accepted something.
    """

    id: int
    task_id: int
    target: str
    phase: str
    head: str | None
    beside: int


def token_of(connection: Connection, run_id: int) -> str:
    """The name of a run on hosts."""
    return str(connection.execute(_TOKEN, {"id": run_id}).scalar_one())


def named(connection: Connection, token: str) -> NamedRun | None:
    """The run of that name; None if there is none."""
    row = connection.execute(_NAMED, {"token": token}).mappings().one_or_none()
    return None if row is None else NamedRun(**row)
