"""Notes where the steps of a session work, for those who look at the database alone (S2.26)."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, text

from shared.domain.checkpoint import SyncedWorktree
from shared.store.recordset import as_rows

_PASS = text("""
    INSERT INTO worktrees (name, run_id, step, repository, host, path, state)
    VALUES (:name, :run_id, :step, :repository, :host, :path, jsonb_build_object(
        'base', CAST(:base AS text), 'revision', CAST(:revision AS bigint),
        'pass_no', CAST(:pass_no AS bigint)))
    ON CONFLICT (name) DO UPDATE SET
        host = excluded.host, path = excluded.path, state = excluded.state,
        last_seen_at = clock_timestamp()
""")
_SYNCED = text("""
    INSERT INTO worktrees (name, run_id, repository, host, path, state)
    SELECT name, :run_id, :repository, :host, path, jsonb_build_object(
        'synced', outcome, 'head', CAST(:head AS text))
    FROM jsonb_to_recordset(CAST(:synced AS jsonb)) AS s (name text, path text, outcome text)
    WHERE path <> ''
    ON CONFLICT (name) DO UPDATE SET
        path = excluded.path, state = worktrees.state || excluded.state,
        last_seen_at = clock_timestamp()
""")


@dataclass(frozen=True, slots=True)
class SeenWorktree:
    """The worktree in which a pass of a step works; it was made from the commit `base`."""

    name: str
    run_id: int
    step: int
    revision: int
    pass_no: int
    repository: str
    host: str
    path: str
    base: str


def note_pass(connection: Connection, seen: SeenWorktree) -> None:
    """Note that a pass works there now."""
    values = {
        "name": seen.name,
        "run_id": seen.run_id,
        "step": seen.step,
        "revision": seen.revision,
        "pass_no": seen.pass_no,
        "repository": seen.repository,
        "host": seen.host,
        "path": seen.path,
        "base": seen.base,
    }
    connection.execute(_PASS, values)


def note_synced(
    connection: Connection,
    run_id: int,
    synced: Iterable[SyncedWorktree],
    *,
    repository: str,
    host: str,
    head: str,
) -> None:
    """Note what a checkpoint did with the worktrees of a session when it published `head`."""
    rows = [{"name": s.name, "path": s.path, "outcome": s.outcome.value} for s in synced]
    values = {"run_id": run_id, "repository": repository, "host": host, "head": head}
    connection.execute(_SYNCED, values | {"synced": as_rows(rows)})
