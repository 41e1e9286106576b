"""The migrations lead to the tables that the program knows, from any version."""

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from shared.domain.attempt import Answer, explain
from shared.domain.errors import Defect
from shared.domain.fix import FailurePattern
from shared.domain.prediction import Prediction
from shared.store import attempts, fixes
from shared.store.database import Database
from shared.store.migrate import MIGRATIONS, known_versions, upgrade
from shared.store.tables import Row

NEW_COLUMNS = ("told_by_person", "ended_by", "unknown", "prediction", "left_over")
LEFT = "could not be ended; left over: 7(sleep) 8(sh)"
KILLED = "the shell that ran it on the host was killed"
LOST = f"nobody can say how it ended: {KILLED}"
OLD_ATTEMPTS: dict[tuple[str, bool, str], dict[str, object]] = {
    ("ok", True, "it ran, says a person"): {"told_by_person": "ran"},
    ("unknown", True, f"{LOST}; it did not run, says a person"): {
        "told_by_person": "not_run",
        "unknown": "shell_killed",
    },
    ("unknown", True, "it is to be run again, says a person"): {"told_by_person": "again"},
    ("failed", True, "it ran, says a person (exit code 1)"): {},
    ("failed", True, "exit code 1; it ran, says a person"): {},
    ("unknown", True, LOST): {"unknown": "shell_killed"},
    ("ok", True, f"nobody can say how it ended ({KILLED}), but its check is green"): {
        "unknown": "shell_killed"
    },
    ("unknown", False, "cancelled while no worker was at it: it may still run"): {},
    ("simulated", False, "dry run: would run"): {"prediction": "would run"},
    ("denied", False, "dry run: denied: command: no"): {"prediction": "denied"},
    ("denied", False, "command: dry run: denied"): {},
    ("failed", True, "dry run: denied"): {},
    ("cancelled", True, f"cancelled: {LEFT}"): {
        "ended_by": "cancel",
        "left_over": ["7(sleep)", "8(sh)"],
    },
    ("failed", True, f"ended by an operator: {LEFT}"): {
        "ended_by": "operator",
        "left_over": ["7(sleep)", "8(sh)"],
    },
    ("timed_out", True, "ended after 5 s, its timeout: ended by TERM"): {"ended_by": "timeout"},
    ("ok", True, "ended after 5 s, its timeout, but its check is green"): {"ended_by": "timeout"},
    ("cancelled", False, "cancelled"): {},
    ("failed", True, "exit code 1"): {},
}
"""Attempts as they were written before 0011 (outcome, whether it ran, reason), and their values."""
OLD_NOTES = {
    "Asked: Which port?\nAnswered: 80\nAnswered: no": "80\nAnswered: no",
    "Asked: Which port?": None,
    "mind\nAnswered: 80": None,
    "": None,
}
"""Notes of jobs as they were, and the answers in them."""
_OLD_ATTEMPT = text("""
    INSERT INTO attempts (key, run_id, step, revision, subtask, pass_no, try_no, number, command,
        outcome, counted, never_red, reason, stdout, stderr, stdout_size, stderr_size,
        check_output, started_at, ran_at, worker)
    VALUES (:key, 1, 1, 0, 1, 1, 0, 1, 'true', :outcome, false, false, :reason, '', '', 0, 0, '',
        now(), CASE WHEN :ran THEN now() END, 'w')
""")
_OLD_JOB = text("""
    INSERT INTO jobs (kind, queue, task_id, revision, pass_no, note, state, due_at)
    VALUES ('execute', 'execution', 1, 0, 1, :note, 'done', now())
""")


def test_the_versions_are_those_that_the_migrations_name() -> None:
    """The last one is the needed one; one follows the other."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    scripts = list(ScriptDirectory.from_config(config).walk_revisions())
    assert tuple(script.revision for script in reversed(scripts)) == known_versions()


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


def test_what_stood_in_sentences_becomes_columns(empty_database_url: str) -> None:
    """0011: an installation of before goes on as it would have, and shows the same words."""
    database = Database(empty_database_url, pooled=False)
    with database.begin() as connection:
        _upgrade_to(connection, "0010")
        connection.execute(text("SET session_replication_role = replica"))
        for key, (outcome, ran, reason) in enumerate(OLD_ATTEMPTS):
            values = {"key": str(key), "outcome": outcome, "ran": ran, "reason": reason}
            connection.execute(_OLD_ATTEMPT, values)
        for note in OLD_NOTES:
            connection.execute(_OLD_JOB, {"note": note})
        _upgrade_to(connection, "0011")
        rows = connection.execute(text("SELECT * FROM attempts ORDER BY id")).all()
        answers = connection.execute(text("SELECT note, answer FROM jobs ORDER BY id")).all()
    assert [
        {name: value for name in NEW_COLUMNS if (value := getattr(row, name))} for row in rows
    ] == list(OLD_ATTEMPTS.values())
    for row, (_, _, reason) in zip(rows, OLD_ATTEMPTS, strict=True):
        prediction = row.prediction and Prediction(row.prediction)
        told = row.told_by_person and Answer(row.told_by_person)
        assert explain(row.reason, prediction, told) == reason
    assert {row.note: row.answer for row in answers} == OLD_NOTES


def test_a_clean_up_that_was_open_is_found_again(empty_database_url: str) -> None:
    """0016: what a cancelled step left running is ended after an upgrade, too."""
    database = Database(empty_database_url, pooled=False)
    with database.begin() as connection:
        _upgrade_to(connection, "0015")
        connection.execute(text(_LEFT_BEHIND))
    upgrade(empty_database_url)
    with database.begin() as connection:
        states = connection.execute(text("SELECT state FROM jobs ORDER BY id")).scalars()
        assert list(states) == ["done"]
        (left,) = attempts.left_running(connection)
    assert left == attempts.LeftRunning(task_id=1, run_id=1, step=1, revision=0, pass_no=2)


_LEFT_BEHIND = """
    INSERT INTO tasks (id, prompt, phase, policy) VALUES (1, 'a', 'cancelled', '{}');
    INSERT INTO runs (id, task_id, target, phase) VALUES (1, 1, 'web1', 'cancelled');
    INSERT INTO run_steps (run_id, step, title, author_role, author_backend, depends_on, recovery,
        on_failure, phase, revision, pass_no, errors, failures, postponed, forced, note, reason)
    VALUES (1, 1, '', 'human', 'human', '{}', 'replan', 'stop', 'cancelled', 0, 2, 0, 0, 0, false,
        '', '');
    INSERT INTO jobs (kind, queue, task_id, run_id, step, revision, pass_no, due_at, ending,
        owner, lease_until)
    VALUES ('execute', 'execution', 1, 1, 1, 0, 2, now(), true, 'w', now() + interval '1 hour');
    INSERT INTO attempts (key, run_id, step, revision, subtask, pass_no, try_no, number, command,
        outcome, counted, never_red, reason, stdout, stderr, stdout_size, stderr_size,
        check_output, started_at, worker)
    VALUES ('k', 1, 1, 0, 1, 2, 0, 1, 'true', 'running', false, false, '', '', '', 0, 0, '',
        now(), 'w');
"""


def test_fixes_of_an_older_version_are_found_and_have_worked_once(empty_database_url: str) -> None:
    """0024: they are hints, found by their program and by the line that they were for."""
    database = Database(empty_database_url, pooled=False)
    with database.begin() as connection:
        _upgrade_to(connection, "0023")
        connection.execute(text(_OLD_FIXES))
    upgrade(empty_database_url)
    with database.begin() as connection:
        first, edited = fixes.page(connection, limit=9)
        failed = FailurePattern("new", "debian", ("t",), (1,), cues=first.cues[1:])
        assert [each.id for each in fixes.similar(connection, failed, limit=5)] == [first.id]
    assert first.cues == ("program cp", "line cp: cannot create '<path>': No such file")
    assert [(p.target, p.author) for p in first.proofs] == [("web1", "subtask_planner/anthropic")]
    assert (edited.cues, edited.proofs) == (("program make",), ())


_OLD_FIXES = """
    INSERT INTO fixes (signature, family, told, replaced, replacement, hosts, reason, author,
        learnt_from, digest)
    VALUES ('a', 'debian', $$["cp a /srv/<path>/<path>: exit code 1: cp: cannot create '/srv/<path>/<path>': No such file"]$$,
        '[{"ordinal": 1, "key": "1", "title": "", "command": "/bin/cp a /srv/x/y"}]', '[]', '[]', '',
        'subtask_planner/anthropic', 'T1.1@web1', 'a'),
    ('b', 'debian', '["make: timed_out"]',
        '[{"ordinal": 1, "key": "1", "title": "", "command": "make"}]', '[]', '[]', '', 'human/ann',
        'T2.1@web1', 'b')
"""  # noqa: E501
