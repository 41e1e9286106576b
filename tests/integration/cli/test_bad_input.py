"""Bad input: a stage, a reason and the next command; nothing written, never a traceback."""

import os
import re
import socket
from contextlib import closing
from pathlib import Path

import pytest

from shared.store.database import Database
from shared.store.migrate import known_versions
from tests.integration.cli.calling import Cli

PLAN = "steps:\n  - title: s\n    subtasks:\n      - run: 'true'\n"


def written(folder: Path, text: str) -> Path:
    """A file with that text."""
    path = folder / "plan.yaml"
    path.write_text(text)
    return path


@pytest.fixture
def closed_port() -> int:
    """A port of this machine where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_an_unknown_host(cli: Cli, tmp_path: Path) -> None:
    plan = written(tmp_path, PLAN)
    answer = cli.refused("task", "submit", "--plan", plan, "--host", "nowhere")
    assert "'nowhere' is not enrolled" in answer["reason"]
    assert "localhost" in answer["reason"]
    assert answer["next_step_cmd"].startswith("replan host add nowhere ")
    for verb in ("check", "remove"):
        answer = cli.refused("host", verb, "nowhere")
        assert answer["next_step_cmd"].startswith("replan host add nowhere ")


def test_a_host_that_was_disabled(cli: Cli, tmp_path: Path) -> None:
    cli.json("host", "add", "here", "--local")
    cli.rows("UPDATE hosts SET distrusted = 'another key' RETURNING name")
    answer = cli.refused("task", "submit", "--plan", written(tmp_path, PLAN), "--host", "here")
    assert answer["reason"] == "here is disabled: another key"
    assert answer["next_step_cmd"] == "replan host add here --replace-host-key"


@pytest.mark.parametrize("where", ["run", "check", "preconditions", "rollback"])
def test_a_secret_where_no_command_could_be_given_it(cli: Cli, tmp_path: Path, where: str) -> None:
    """Told before anything is written, with the place."""
    asked = "[\"echo '${secret:DB}'\"]" if where == "preconditions" else "echo '${secret:DB}'"
    run = "" if where == "run" else "        run: 'true'\n"
    subtask = f"      - title: t\n{run}        {where}: {asked}\n"
    plan = written(tmp_path, f"steps:\n  - title: s\n    subtasks:\n{subtask}")
    answer = cli.refused("task", "submit", "--plan", plan, "--local")
    assert answer["stage"] == "secrets"
    assert answer["reason"].startswith("step 1, subtask 1: ")


def test_an_empty_prompt_or_none(cli: Cli) -> None:
    for prompt in ([""], ["  \n "], []):
        assert "empty" in cli.refused("task", "submit", *prompt, "--local")["reason"]


def test_no_target_or_one_twice(cli: Cli) -> None:
    assert "no target" in cli.refused("task", "submit", "p")["reason"]
    twice = cli.refused("task", "submit", "p", "--local", "--host", "localhost")
    assert "twice" in twice["reason"]


FAULTY_PLANS = [
    (
        "steps:\n"
        "  - {id: a, title: a, depends_on: [b], subtasks: [{run: 'true'}]}\n"
        "  - {id: b, title: b, depends_on: [a], subtasks: [{run: 'true'}]}\n",
        "circle",
    ),
    (
        "steps:\n  - title: s\n    subtasks:\n"
        "      - {id: one, run: 'true'}\n      - {run: 'true', needs: [two]}\n",
        "'two'",
    ),
    ("steps: []\n", "steps"),
    ("steps: [\n", "line"),
    ("", "plan"),
    ("steps:\n  - title: s\n    subtasks: [{run: ''}]\n", "run"),
    ("steps:\n  - title: s\n    subtaks: [{run: 'true'}]\n", "subtaks"),
    ("planner: nobody\n" + PLAN, "nobody"),
]


def test_a_plan_that_cannot_be_carried_out(cli: Cli, tmp_path: Path) -> None:
    for text, told in FAULTY_PLANS:
        plan = written(tmp_path, text)
        answer = cli.refused("task", "submit", "--plan", plan, "--local")
        assert answer["stage"] == "plan"
        assert told in answer["reason"]
        assert str(plan) in answer["reason"]


def test_a_plan_file_that_cannot_be_read(cli: Cli, tmp_path: Path) -> None:
    missing = tmp_path / "missing.yaml"
    assert str(missing) in cli.refused("task", "submit", "--plan", missing, "--local")["reason"]
    folder = tmp_path / "folder"
    folder.mkdir()
    assert str(folder) in cli.refused("task", "submit", "--plan", folder, "--local")["reason"]
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    assert str(binary) in cli.refused("task", "submit", "--plan", binary, "--local")["reason"]
    if os.geteuid() != 0:
        secret = written(tmp_path, PLAN)
        secret.chmod(0)
        told = cli.refused("task", "submit", "--plan", secret, "--local")["reason"]
        assert f"'{secret}' is not readable" in told


FAULTY_SETTINGS = [
    ("error_threshold_per_step=0", "from 1 to 1000"),
    ("max_retries_per_command=21", "from 0 to 20"),
    ("dry_run_mode=perhaps", "true or false"),
    ("planner=nobody", "one of anthropic, openai, bedrock"),
    ("error_treshold_per_step=3", "did you mean error_threshold_per_step?"),
    ("lease=10", "cannot be set for a task"),
    ("planner", "key=value"),
]


def test_a_setting_out_of_range_for_a_task(cli: Cli) -> None:
    for given, told in FAULTY_SETTINGS:
        for command in (("task", "submit", "p", "--local"), ("config", "show")):
            answer = cli.refused(*command, "--set", given)
            assert answer["stage"] == "config"
            assert told in answer["reason"]


def test_a_planner_that_there_is_not(cli: Cli) -> None:
    answer = cli.refused("task", "submit", "p", "--local", "--planner", "nobody")
    assert "'nobody'" in answer["reason"]
    assert "foundry, runbook, human, auto" in answer["reason"]
    near = cli.refused("task", "submit", "p", "--local", "--planner", "antropic")["reason"]
    assert near.startswith("--planner: 'antropic' is not a planner; did you mean anthropic?")


def test_a_setting_out_of_range_in_the_environment(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPLAN_ERROR_THRESHOLD_PER_STEP", "5000")
    for command in (("task", "submit", "p", "--local"), ("task", "list"), ("config", "show")):
        answer = cli.refused(*command)
        assert answer["stage"] == "config"
        assert "'5000'" in answer["reason"] or "5000" in answer["reason"]


def test_a_settings_file_that_is_not_there(cli: Cli, tmp_path: Path) -> None:
    answer = cli.refused("task", "list", "--config", tmp_path / "missing.toml")
    assert "there is no such file" in answer["reason"]


WITH_REF = [
    ("task", "show"),
    ("task", "watch"),
    ("task", "logs"),
    ("task", "cancel"),
    ("task", "resume"),
    ("task", "report"),
    ("plan", "show"),
    ("step", "show"),
    ("step", "revise", "--now"),
    ("step", "abandon"),
    ("attempt", "list"),
    ("attempt", "show"),
    ("attempt", "tail"),
    ("attempt", "cancel"),
    ("bundle", "show"),
    ("intervention", "list"),
]


def test_a_reference_to_what_is_not_there(cli: Cli) -> None:
    for command in WITH_REF:
        answer = cli.refused(*command, "T99.1.1" if command[0] == "attempt" else "T99.1")
        assert answer["kind"] == ".".join(command[:2])
        assert "there is no task T99" in answer["reason"]
        assert answer["next_step_cmd"] == "replan task list"


def test_what_is_no_reference(cli: Cli) -> None:
    for command in WITH_REF:
        assert "'web1' is not a reference" in cli.refused(*command, "web1")["reason"]
    for text in ("", "T0", "T1.", "T1.2#1", "T1@", "T1x", "T" + "9" * 19):
        assert "is not a reference" in cli.refused("task", "show", text)["reason"]


def test_references_that_name_too_little_or_something_else(cli: Cli, tmp_path: Path) -> None:
    plan = written(tmp_path, PLAN)
    ref = cli.json("task", "submit", "--plan", plan, "--local")["details"]["ref"]
    assert "is not a step" in cli.refused("step", "show", ref)["reason"]
    assert "is not a step" in cli.refused("bundle", "show", ref)["reason"]
    assert "is not an attempt" in cli.refused("attempt", "show", f"{ref}.1")["reason"]
    assert "has not begun" in cli.refused("step", "show", f"{ref}.7")["reason"]
    assert "no target 'web9'" in cli.refused("step", "show", f"{ref}.1@web9")["reason"]
    assert "no plan yet" in cli.refused("plan", "show", ref)["reason"]


def test_a_phase_that_there_is_not(cli: Cli) -> None:
    assert "'nonsense'" in cli.refused("task", "list", "--phase", "nonsense")["reason"]


def test_a_limit_out_of_range(cli: Cli) -> None:
    assert "'--limit'" in cli.refused("task", "list", "--limit", "0")["reason"]
    assert "'--limit'" in cli.refused("attempt", "list", "T1", "--limit", "x")["reason"]


def test_revising_with_nothing_or_both(cli: Cli) -> None:
    for more in ((), ("--now", "--file", "x")):
        assert "either" in cli.refused("step", "revise", "T1.1", *more)["reason"]


def test_a_key_or_a_kind_that_there_is_not(cli: Cli) -> None:
    assert "'nonsense'" in cli.refused("config", "show", "nonsense")["reason"]
    assert "'nonsense'" in cli.refused("schema", "show", "nonsense")["reason"]


def test_a_demonstration_that_nobody_plans(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    assert "'human'" in cli.refused("demo", "--planner", "human")["reason"]
    refused = cli.refused("demo", "--planner", "anthropic")
    assert "no key for the model" in refused["reason"], "before anything is started"
    refused = cli.refused("demo", "--agents", "--planner", "runbook")
    assert "leave --planner out" in refused["reason"]
    assert refused["next_step_cmd"] == "replan demo --agents"


def test_a_policy_that_cannot_be_used(cli: Cli, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("profiles: [nosuch]")
    for verb in (("check", "ls"), ("rules",)):
        refused = cli.refused("guard", *verb, "--policy", policy)
        assert f"{policy}: line 1" in refused["reason"]
        assert refused["stage"] == "guard"
        assert refused["next_step_cmd"]


def test_guarding_nothing_or_an_unreadable_file(cli: Cli, tmp_path: Path) -> None:
    assert "name a command" in cli.refused("guard", "check")["reason"]
    assert "cannot be read" in cli.refused("guard", "check", "--file", tmp_path)["reason"]
    lines = tmp_path / "lines"
    lines.write_text('{"id": 1, "cmd": "ls"}\nnonsense\n')
    assert f"{lines}:2" in cli.refused("guard", "check", "--file", lines)["reason"]
    lines.write_text('{"id": 1, "cmd": 3}\n')
    assert f"{lines}:1" in cli.refused("guard", "check", "--file", lines)["reason"]


@pytest.mark.parametrize("version", ["zzzz", None])
def test_a_database_of_another_version(cli: Cli, version: str | None) -> None:
    own = cli.rows("SELECT version_num FROM alembic_version")[0][0]
    with cli.database.begin() as connection:
        connection.exec_driver_sql("DELETE FROM alembic_version")
        if version is not None:
            connection.exec_driver_sql("INSERT INTO alembic_version VALUES (%s)", (version,))
    answer = cli.refused("task", "submit", "p", "--local")
    assert answer["stage"] == "database"
    assert f"version {version or 'none'}" in answer["reason"]
    expected = "replan db migrate" if version is None else "replan --version"
    assert answer["next_step_cmd"] == expected
    status = cli.json("db", "status", code=1)
    pending = list(known_versions()) if version is None else []
    assert status["details"] == {"found": version, "needed": own, "pending": pending}
    assert status["next_step_cmd"] == expected
    if version is not None:
        assert "does not know" in cli.refused("db", "migrate")["reason"]


def test_a_database_without_tables(
    cli: Cli, empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S2.79: they are made, and their version is shown, and stands in `schema_migrations`."""
    monkeypatch.setenv("REPLAN_DATABASE_URL", empty_database_url)
    assert cli.refused("task", "list")["next_step_cmd"] == "replan db migrate"
    assert cli.json("db", "status", code=1)["details"]["found"] is None
    migrated = cli.json("db", "migrate")["details"]
    assert migrated["found"] == migrated["needed"]
    assert cli.json("db", "status")["details"] == migrated
    with closing(Database(empty_database_url)) as made, made.begin() as connection:
        rows = connection.exec_driver_sql("SELECT * FROM ledger.schema_migrations").all()
    assert migrated["found"] in str(rows)
    assert cli.json("task", "list")["details"]["tasks"] == []
    assert cli.json("db", "migrate")["details"] == migrated


def test_a_database_that_cannot_be_reached(
    cli: Cli, closed_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"postgresql://me:hunter2@127.0.0.1:{closed_port}/replan"
    monkeypatch.setenv("REPLAN_DATABASE_URL", url)
    for command in (("task", "list"), ("task", "submit", "p", "--local"), ("db", "status")):
        answer = cli.refused(*command, code=4)
        assert answer["stage"] == "database"
        assert "hunter2" not in answer["reason"]
    assert cli.refused("db", "migrate", code=4)["stage"] == "database"


def test_a_database_that_lets_nobody_in(
    cli: Cli, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = re.sub(r":[^:@/]+@", ":wrong@", database_url)
    monkeypatch.setenv("REPLAN_DATABASE_URL", wrong)
    answer = cli.refused("task", "list")
    assert answer["stage"] == "database"
    assert "password authentication failed" in answer["reason"]


def test_no_database_at_all(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REPLAN_DATABASE_URL")
    for command in (
        ("task", "list"),
        ("db", "status"),
        ("db", "migrate"),
        ("coordinator", "start"),
        ("worker", "start", "executor"),
    ):
        answer = cli.refused(*command)
        assert answer["stage"] == "config"
        assert answer["next_step_cmd"] == "replan up"


def test_no_coordinator_takes_it_up(cli: Cli, tmp_path: Path) -> None:
    plan = written(tmp_path, PLAN)
    ref = cli.json("task", "submit", "--plan", plan, "--local")["details"]["ref"]
    answer = cli.json("task", "cancel", ref, code=4)
    assert answer["stage"] == "coordinator"
    assert answer["next_step_cmd"] == "replan coordinator start"
    assert answer["details"]["ref"] == ref
    assert len(cli.rows("SELECT id FROM inbox")) == 2


def test_what_cannot_be_stored_is_refused(cli: Cli) -> None:
    for text in ("install \0 nginx", "install \udcff nginx"):
        answer = cli.refused("task", "submit", text, "--local")
        assert answer["stage"] == "input"
