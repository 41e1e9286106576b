"""What hosts, models and people have written steers no terminal, whichever verb shows it."""

import json
import re
import unicodedata
from pathlib import Path

import pytest
from sqlalchemy import text

from orchestrator.access.roles import ON_THE_MACHINE, VERBS
from tests.integration.cli.calling import Cli
from tests.integration.cli.test_every_answer import written
from tests.services.sessions import make_session

MARK = "EVIL"
HOSTILE = (
    "\x1b]0;owned\x07\x1b]52;c;b3duZWQ=\x07\x1b[2J\x9b31m\u202edesrever\u2066\x7f\r\x08"
    "\u200bevil [link=https://evil.example]here[/link] [/nothing] [bold](https://evil.example)"
)
PLAN = """
summary: EVIL
planner: human
steps:
  - title: Go wrong EVIL
    subtasks:
      - {run: "echo EVIL; echo EVIL >&2; exit 3", check: test -e EVIL}
"""
PLAN_OF_HOST = r"""
planner: human
steps:
  - title: What a host says
    subtasks:
      - run: printf '\033]52;c;b3duZWQ=\007\033[2K\342\200\256desrever\n' >&2; exit 3
"""
LIVE = ("task", "submit", "--local", "--plan")
OURS = re.compile(r"\r?\x1b\[(\?25[lh]|1A|2K|[0-9;]*m)")
"""Our own colours, and what `task watch` moves its last lines with."""
NEVER_ALONE = {
    "worker.start",
    "gateway.start",
    "coordinator.start",
    "up",
    "down",
    "demo",
    "db.migrate",
    "secret.set",
}
"""Verbs of the machine that start something or change it."""

REPOSITORY = text("""
    INSERT INTO repositories (name, host, path, branch, setup, setup_timeout)
    VALUES ('app', 'localhost', :mark, :mark, :mark, 60)
""")
SESSION = "T3"
IN_SESSION = (
    """UPDATE tasks SET prompt = :mark, policy = policy || '{"project": true}'
       WHERE id = CAST(:task AS bigint)""",
    """UPDATE deliveries SET reason = :mark, runner = :mark, uri = :mark,
       deliverables = jsonb_build_object('summary', jsonb_build_array(CAST(:mark AS text)),
           'risks', jsonb_build_array(CAST(:mark AS text)))""",
    """UPDATE check_runs SET report = jsonb_build_object('checks', jsonb_build_array(
       jsonb_build_object('command', CAST(:mark AS text), 'told', CAST(:mark AS text))))""",
    "UPDATE checkpoints SET remote = :mark, ref = :mark",
    "UPDATE worktrees SET path = :mark, host = :mark",
    """INSERT INTO reviews (delivery_id, reviewer, result) SELECT id, :mark, jsonb_build_object(
       'approved', false, 'summary', CAST(:mark AS text),
       'comments', jsonb_build_array(CAST(:mark AS text))) FROM deliveries""",
)
"""What puts the mark into the rows of a session, where texts of others come to."""

ONCE = {"watch": ("--once",)}
"""Options of those that would show what comes for ever."""

_TEXTS = text("""
    SELECT table_name, column_name, data_type FROM information_schema.columns
    WHERE table_schema = 'public' AND data_type IN ('text', 'character varying', 'jsonb')
      AND table_name IN (SELECT table_name FROM information_schema.tables
                         WHERE table_type = 'BASE TABLE')
""")


def poison(cli: Cli) -> None:
    """Put the hostile text wherever the mark has come to in any row."""
    with cli.database.begin() as connection:
        for table, column, kind in connection.execute(_TEXTS).all():
            into = json.dumps(HOSTILE)[1:-1] if kind == "jsonb" else HOSTILE
            put = f'replace(CAST("{column}" AS text), :mark, :into)'
            put = f"CAST({put} AS jsonb)" if kind == "jsonb" else put
            where = f"""CAST("{column}" AS text) LIKE '%' || :mark || '%'"""
            statement = f'UPDATE {table} SET "{column}" = {put} WHERE {where}'  # noqa: S608
            connection.execute(text(statement), {"mark": MARK, "into": into})


def showing(ref: str, done: str, signed: str) -> dict[str, tuple[str, ...]]:
    """Each verb that only shows something, with what it takes."""
    return {
        **dict.fromkeys(("task.list", "host.list", "config.show", "guard.rules"), ()),
        **dict.fromkeys(("fix.list", "token.list", "audit.list", "audit.verify"), ()),
        **dict.fromkeys(("doctor", "db.status", "secret.list", "intervention.list"), ()),
        **dict.fromkeys(("schema.show", "intervention.key", "repo.list", "metrics"), ()),
        **dict.fromkeys(("attestation.key", "logs", "runbook.list"), ()),
        **{f"task.{verb}": (ref,) for verb in ("show", "watch", "logs", "report")},
        "task.export": (done,),
        "attestation.create": (done,),
        "attestation.verify": (signed,),
        "plan.show": (ref,),
        "plan.calls": (ref,),
        "step.show": (f"{ref}.1",),
        "attempt.list": (ref,),
        "attempt.show": (f"{ref}.1.1#1",),
        "attempt.tail": (f"{ref}.1.1",),
        "bundle.show": (f"{ref}.1",),
        "intervention.show": ("I1",),
        "config.explain": ("lease",),
        "fix.show": ("F1",),
        "runbook.show": ("swap",),
        "repo.show": ("app",),
        "host.show": ("web1",),
        **dict.fromkeys(("session.list", "delivery.list"), ()),
        **{f"{each}.list": (SESSION,) for each in ("checkpoint", "worktree")},
        "session.status": (SESSION,),
        "checkpoint.show": (SESSION,),
        "delivery.show": ("D1",),
        **dict.fromkeys(("watch", "help", "project.list", "status", "worker.list"), ()),
        **{f"project.{verb}": (SESSION,) for verb in ("status", "report")},
        **{f"store.{verb}": (HOSTILE,) for verb in ("get", "verify")},
        "guard.check": (f"echo {HOSTILE}",),
        "guard.test": (f"{HOSTILE}.yaml",),
        "guard.learn": (),
        "secret.check": (HOSTILE,),
    }


def steering(printed: str) -> set[str]:
    """The characters in it that steer a terminal."""
    return {
        c
        for c in printed
        if c not in "\n\t\u200c\u200d" and unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp"}
    }


@pytest.fixture
def poisoned(working: Cli, tmp_path: Path) -> tuple[Cli, tuple[str, str, str]]:
    """A command line on rows full of hostile text.

    With it a task that waits, one that is done, and what is attested of that.
    """
    fine = written(tmp_path, PLAN.replace("exit 3", "true").replace(", check: test -e EVIL", ""))
    done = working.json("task", "submit", "--plan", fine, "--local", "--wait")["details"]["ref"]
    plan = written(tmp_path, PLAN)
    waits = ("task", "submit", "--plan", plan, "--local", "--wait")
    ref = working.json(*waits, code=3)["details"]["ref"]
    working.json("host", "add", "here", "--local", "--workdir", f"/tmp/{MARK}", "--no-check")
    working.json("token", "create", MARK, "--role", "viewer")
    with working.database.begin() as connection:
        connection.execute(REPOSITORY, {"mark": MARK})
        assert f"T{make_session(connection)}" == SESSION
        for statement in IN_SESSION:
            connection.execute(text(statement), {"mark": MARK, "task": SESSION[1:]})
    poison(working)
    signed = str(tmp_path / "signed.json")
    working.json("attestation", "create", done, "--output", signed)
    return working, (ref, done, signed)


def test_every_verb_that_shows_something_is_tried() -> None:
    looks = {verb for verb, its in VERBS.items() if not its.changes}
    assert showing("T1", "T2", "").keys() == looks | (ON_THE_MACHINE - NEVER_ALONE)


@pytest.mark.changes_rows
def test_no_verb_lets_hostile_text_steer_the_terminal(
    poisoned: tuple[Cli, tuple[str, str, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cli, places = poisoned
    shown = ""
    for verb, taken in showing(*places).items():
        for form in ("human", "min-json", "jsonl"):
            once = ONCE.get(verb, ())
            said = cli(*verb.split("."), *once, "--format", form, "--", *taken)
            assert steering(said.out + said.err) == set(), (verb, form)
            shown += said.out
    assert shown.count("desrever") > 20, "nothing hostile was shown"
    live = cli(*LIVE, written(tmp_path, PLAN_OF_HOST), "--wait")
    assert steering(live.out + live.err) == set()
    assert "desrever" in live.out
    monkeypatch.setenv("FORCE_COLOR", "1")
    for verb, taken in showing(*places).items():
        said = cli(*verb.split("."), *ONCE.get(verb, ()), "--", *taken)
        assert steering(OURS.sub("", said.out + said.err)) == set(), verb
