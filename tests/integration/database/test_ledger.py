"""Sessions and deliveries under the names of S2, in the schema `ledger`."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from shared.domain.checkpoint import Synced, SyncedWorktree
from shared.store.database import Database
from tests.services.sessions import make_session
from workers.deliveries.worktree_rows import SeenWorktree, note_pass, note_synced

DOCS = Path(__file__).parents[3] / "docs" / "deliveries.md"

COLUMNS = {
    "sessions": "id project_id status created_at closed_at meta_json",
    "plans": "id session_id created_at selector_json assigns_json",
    "attempts": "id session_id issue_id worktree status base_sha result_sha started_at finished_at"
    " pid heartbeat_at exit_code ok deliverables_json diagnostics_json",
    "deliveries": "id attempt_id status created_at patch_uri patch_sha256 patch_size"
    " deliverables_json summary_json",
    "check_runs": "id delivery_id status started_at finished_at ok report_json log_uri",
    "checkpoints": "id session_id status started_at finished_at session_head_sha_local"
    " session_head_sha_remote synced_worktrees_json report_json",
    "events": "id ts kind session_id attempt_id delivery_id checkpoint_id payload_json",
    "worktrees": "id project_id path state_json last_seen_at",
}
"""S2.19-S2.26, word for word."""


@pytest.mark.parametrize("view", COLUMNS)
def test_the_names_of_s2_are_met(database: Database, view: str) -> None:
    with database.begin() as connection:
        task = make_session(connection)
        found = connection.execute(text(f"SELECT * FROM ledger.{view}"))  # noqa: S608
        assert " ".join(found.keys()) == COLUMNS[view]
        rows = found.mappings().all()
    assert rows
    assert {row["session_id"] for row in rows if "session_id" in row} <= {f"T{task}@app", None}


def test_what_the_names_hold_fits_together(database: Database) -> None:
    """From an event to its delivery, its attempt and its session."""
    with database.begin() as connection:
        task = make_session(connection)
        rows = connection.execute(
            text("""
                SELECT e.kind, d.status, a.issue_id, a.worktree, a.pid, a.ok, s.project_id,
                       p.selector_json, p.assigns_json ->> a.issue_id AS assigned, k.ok AS checked
                FROM ledger.events e
                JOIN ledger.deliveries d ON d.id = e.delivery_id
                JOIN ledger.attempts a ON a.id = d.attempt_id AND a.id = e.attempt_id
                JOIN ledger.sessions s ON s.id = a.session_id
                JOIN ledger.plans p ON p.session_id = s.id
                JOIN ledger.check_runs k ON k.delivery_id = d.id
                JOIN ledger.worktrees w ON w.id = a.worktree AND w.project_id = s.project_id
                ORDER BY e.id
            """)
        ).all()
        published = connection.execute(
            text("SELECT checkpoint_id, kind FROM ledger.events WHERE checkpoint_id IS NOT NULL")
        ).all()
    assert [row.kind for row in rows] == ["PassFinished", "DeliveryJudged"]
    for row in rows:
        assert (row.status, row.issue_id, row.pid, row.ok) == ("accepted", "L-000001", 4711, True)
        assert (row.project_id, row.assigned, row.checked) == ("app", "claude-code", True)
        assert row.selector_json == ["L-000001", f"L-{task:03d}002", "L-000003"]
    assert [row.kind for row in published] == ["CheckpointFinished"]


def test_worktrees_are_those_that_were_seen_last(database: Database) -> None:
    """A pass that works there, and a checkpoint that brings them to what it has published."""
    with database.begin() as connection:
        make_session(connection, deliveries=1)
        run_id = connection.execute(text("SELECT id FROM runs")).scalar_one()
        seen = SeenWorktree("w-1", run_id, 1, 0, 1, "app", "localhost", "/work/w-1", "b" * 40)
        note_pass(connection, seen)
        note_pass(connection, replace(seen, pass_no=2, path="/other/w-1"))
        attempts = text("SELECT worktree FROM ledger.attempts")
        assert list(connection.execute(attempts).scalars()) == ["w-1"]
        synced = (
            SyncedWorktree("w-main", Synced.MADE, path="/work/main"),
            SyncedWorktree("w-1", Synced.CHANGED, path="/other/w-1"),
            SyncedWorktree("w-2", Synced.FAILED, "git: gone"),
        )
        place = {"repository": "app", "host": "localhost", "head": "e" * 40}
        note_synced(connection, run_id, synced, **place)
        found = connection.execute(text("SELECT * FROM ledger.worktrees WHERE id ~ 'w-'")).all()
    states = {row.id: (row.path, row.state_json) for row in found}
    assert states.keys() == {"w-1", "w-main"}
    path, state = states["w-1"]
    assert (path, state["pass_no"], state["synced"]) == ("/other/w-1", 2, "changed")
    path, state = states["w-main"]
    assert (path, state["step"], state["head"]) == ("/work/main", None, "e" * 40)


def test_a_task_that_does_not_deliver_is_not_a_session(database: Database) -> None:
    with database.begin() as connection:
        make_session(connection)
        connection.execute(text("UPDATE tasks SET policy = policy - 'deliver'"))
        for view in ("sessions", "plans", "attempts", "events"):
            found = connection.execute(text(f"SELECT count(*) FROM ledger.{view}"))  # noqa: S608
            assert found.scalar() == 0


def test_the_one_query_of_the_documentation(database: Database) -> None:
    """S2.29: exactly the text that people copy."""
    (query,) = re.findall(r"```sql\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    with database.begin() as connection:
        task = make_session(connection)
        closed = make_session(connection, target="old")
        connection.execute(
            text("UPDATE runs SET ended_at = now() WHERE task_id = :task"), {"task": closed}
        )
        rows = connection.execute(text(query)).mappings().all()
    assert [row["session"] for row in rows] == [f"T{task}@app"] * 3
    assert [row["issue"] for row in rows] == ["L-000001", "L-000002", "L-000003"]
    assert [row["delivery"] for row in rows] == ["accepted", "published", "published"]
    assert [row["checked"] for row in rows] == [True, None, None]
    assert {row["checkpoint"] for row in rows} == {"complete"}
    assert {row["published"] for row in rows} == {True}
