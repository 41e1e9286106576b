"""The migrations lead to the tables that the program knows, from any version."""

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from shared.domain.errors import Defect
from shared.store.database import Database
from shared.store.migrate import MIGRATIONS, known, upgrade
from shared.store.tables import Row


def test_the_versions_are_those_that_the_migrations_name() -> None:
    """The last one is the needed one; one follows the other."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    scripts = list(ScriptDirectory.from_config(config).walk_revisions())
    assert tuple(script.revision for script in reversed(scripts)) == known()


def test_a_migrated_database_has_the_tables_of_the_program(database_url: str) -> None:
    database = Database(database_url, pooled=False)
    with database.begin() as connection:
        context = MigrationContext.configure(connection)
        differences = compare_metadata(context, Row.metadata)
    assert differences == []


def test_flags_of_waiting_steps_become_what_they_wait_for(empty_database_url: str) -> None:
    """A database of 0.1 with work in it: nothing that a person is to say gets lost."""
    database = Database(empty_database_url, pooled=False)
    with database.begin() as connection:
        _upgrade_to(connection, "0010")
        connection.execute(text(_OLD_TASK))
        for number, (phase, flag) in enumerate(_FLAGS, start=1):
            connection.execute(text(_OLD_STEP), {"step": number, "phase": phase})
            if flag is not None:
                raised = f"UPDATE run_steps SET {flag} = true WHERE step = {number}"  # noqa: S608
                connection.execute(text(raised))
    upgrade(empty_database_url)
    with database.begin() as connection:
        found = connection.execute(text("SELECT waits_for FROM run_steps ORDER BY step")).scalars()
        assert list(found) == ["outcome", "approval", "answer", "sending", "decision", None, None]
        (body,) = connection.execute(text("SELECT body FROM events")).scalars()
        assert body == {"kind": "plan", "postponed": 3}
        planned = connection.execute(text("SELECT run_id, step, added FROM planned_steps"))
        assert [tuple(row) for row in planned] == [(1, 1, False), (1, 2, True)]
    with pytest.raises(Defect, match="waits_for"), database.begin() as connection:
        connection.execute(text("UPDATE run_steps SET waits_for = NULL WHERE step = 1"))


_FLAGS = (
    ("waiting", "unknown"),
    ("waiting", "unapproved"),
    ("waiting", "asking"),
    ("waiting", "gathered"),
    ("waiting", None),
    ("replanning", "gathered"),
    ("blocked", None),
)
_OLD_TASK = """
    INSERT INTO tasks (id, prompt, phase, policy, plan)
    VALUES (1, 'a', 'waiting', '{}', '{"steps": [{"ordinal": 1}]}');
    INSERT INTO runs (id, task_id, target, phase, added)
    VALUES (1, 1, 'web1', 'waiting', '[{"ordinal": 2}]');
    INSERT INTO events (task_id, kind, body, rules)
    VALUES (1, 'JobFailed', '{"kind": "plan", "attempt": 3}', 4)
"""
_OLD_STEP = """
    INSERT INTO run_steps (run_id, step, title, author_role, author_backend, depends_on, recovery,
        on_failure, phase, revision, pass_no, errors, failures, putting_off, forced, note, reason)
    VALUES (1, :step, '', 'human', 'human', '{}', 'replan', 'stop', :phase, 0, 1, 0, 0, 0, false,
        '', '')
"""


def _upgrade_to(connection: Connection, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
