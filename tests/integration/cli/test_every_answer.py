"""Every command answers with one JSON object that its published schema accepts."""

import json
from pathlib import Path

import jsonschema
import pytest

from orchestrator.cli.schemas import DETAILS
from tests.integration.cli.calling import Cli
from tests.services.schemas import validate

EXAMPLES = Path(__file__).parents[3] / "examples"

FAILING = """
summary: Something that fails
planner: human
steps:
  - id: first
    title: Go wrong
    subtasks:
      - {id: one, run: "echo '[out]'; echo '[/err] gone' >&2; exit 3", check: test -e MADE}
  - id: second
    title: Come after
    subtasks:
      - run: 'true'
"""


def written(folder: Path, text: str, name: str = "plan.yaml") -> Path:
    """A file with that text."""
    path = folder / name
    path.write_text(text)
    return path


def greeting(folder: Path) -> Path:
    """The first example, but what it makes lies in a scratch folder."""
    text = (EXAMPLES / "hello.yaml").read_text()
    return written(folder, text.replace("$HOME", str(folder)), "hello.yaml")


def failed(cli: Cli, folder: Path, *more: str) -> str:
    """A task that waits for a person because its only planner is one; its reference."""
    plan = written(folder, FAILING.replace("MADE", str(folder / "made")))
    answer = cli.json("task", "submit", "--plan", plan, "--local", "--wait", *more, code=3)
    return str(answer["details"]["ref"])


def test_a_task_that_is_done(working: Cli, tmp_path: Path) -> None:
    answer = working.json("task", "submit", "--plan", greeting(tmp_path), "--local", "--wait")
    assert answer["kind"] == "task.watch"
    ref = answer["details"]["ref"]
    assert answer["details"]["phase"] == "done"
    assert working.json("task", "watch", ref)["next_step_cmd"] == f"replan task report {ref}"
    assert working.json("task", "show", ref)["details"]["runs"][0]["phase"] == "done"
    (listed,) = working.json("task", "list", "--phase", "done")["details"]["tasks"]
    assert listed["ref"] == ref
    plan = working.json("plan", "show", ref)["details"]
    assert [len(step["subtasks"]) for step in plan["steps"]] == [2, 1]
    step = working.json("step", "show", f"{ref}.1")["details"]
    assert [subtask["status"] for subtask in step["subtasks"]] == ["ok", "ok"]
    shown = working.json("attempt", "show", f"{ref}.2.1")["details"]
    assert shown["stdout"].startswith("hello from ")
    tailed = working.json("attempt", "tail", f"{ref}.2.1@localhost")["details"]
    assert tailed["stdout"] == shown["stdout"]
    assert len(working.json("attempt", "list", ref)["details"]["attempts"]) == 3
    report = working.json("task", "report", ref)["details"]
    assert (report["attempts"], report["failed"]) == (3, 0)
    for verb in ("cancel", "resume"):
        assert "done" in working.refused("task", verb, ref)["reason"]
    assert "done" in working.refused("step", "revise", f"{ref}.1", "--now")["reason"]
    assert "does not wait" in working.refused("step", "abandon", f"{ref}.1")["reason"]
    assert "no evidence" in working.refused("bundle", "show", f"{ref}.1")["reason"]
    assert "no attempt" in working.refused("attempt", "show", f"{ref}.1.9")["reason"]
    for command in (("task", "show"), ("plan", "show"), ("task", "report"), ("task", "watch")):
        said = working(*command, ref)
        assert said.code == 0
        assert ref in said.out
    assert working("attempt", "tail", f"{ref}.2.1").out.startswith("hello from ")


def test_a_task_that_waits_for_a_person_is_revised_and_done(working: Cli, tmp_path: Path) -> None:
    ref = failed(working, tmp_path, "--set", "subtask_timeout=77")
    shown = working("task", "watch", ref)
    assert shown.code == 3
    assert f"next: replan step revise {ref}.1@localhost --file revision.yaml" in shown.out
    listed = working.json("intervention", "list")["details"]["interventions"]
    assert [entry["kind"] for entry in listed] == ["revision"]
    assert working.json("intervention", "list", ref)["details"]["interventions"] == listed
    attempt = working.json("attempt", "list", f"{ref}.1", "--failed")["details"]["attempts"][0]
    assert attempt["exit_code"] == 3
    assert attempt["said"] == "[/err] gone"
    told = working("attempt", "show", attempt["ref"])
    assert "[out]" in told.out
    assert "[/err] gone" in told.out
    bundle = working.json("bundle", "show", f"{ref}.1")["details"]["bundle"]
    assert bundle["attempts"][0]["stderr"] == "[/err] gone\n"
    assert "[/err] gone" in working("bundle", "show", f"{ref}.1").out
    assert "[/err] gone" in working("task", "report", ref).out
    broken = written(tmp_path, "subtasks: []\n", "broken.yaml")
    refused = working.refused("step", "revise", f"{ref}.1", "--file", broken)
    assert refused["stage"] == "revise"
    fix = written(tmp_path, f"subtasks:\n  - run: touch {tmp_path / 'made'}\n", "fix.yaml")
    answer = working.json("step", "revise", f"{ref}.1", "--file", fix)
    assert answer["details"]["ref"] == f"{ref}.1@localhost"
    working.json("task", "watch", ref)
    step = working.json("step", "show", f"{ref}.1")["details"]
    assert step["revisions"][1]["reason"] == "given by hand: fix.yaml"
    assert step["revisions"][1]["subtasks"][0]["timeout"] == 77
    report = working.json("task", "report", ref)["details"]
    assert (report["escalations"], report["revisions"]) == (1, 1)
    assert working.json("intervention", "list")["details"]["interventions"] == []


def test_a_step_is_given_up(working: Cli, tmp_path: Path) -> None:
    ref = failed(working, tmp_path)
    assert working.json("step", "abandon", f"{ref}.1@localhost")["details"]["phase"] == "error"
    answer = working.json("task", "watch", ref, code=1)
    assert answer["details"]["phase"] == "error"
    assert (
        "no evidence for a revision"
        in working.refused("step", "revise", f"{ref}.1", "--now")["reason"]
    )


def test_a_task_is_cancelled(working: Cli, tmp_path: Path) -> None:
    ref = failed(working, tmp_path)
    assert working.json("task", "cancel", ref)["details"]["ref"] == ref
    assert working.json("task", "watch", ref, code=1)["details"]["phase"] == "cancelled"


def test_a_task_goes_on_after_the_cause_was_removed(working: Cli, tmp_path: Path) -> None:
    cause = tmp_path / "cause"
    plan = written(tmp_path, f"steps:\n  - title: s\n    subtasks:\n      - run: test -e {cause}\n")
    answer = working.json(
        "task",
        "submit",
        "--plan",
        plan,
        "--local",
        "--wait",
        "--set",
        "max_retry_count=1",
        "--set",
        "retry_delay=0",
        code=3,
    )
    ref = answer["details"]["ref"]
    cause.touch()
    working.json("task", "resume", ref)
    assert working.json("task", "watch", ref)["details"]["phase"] == "done"


def test_a_plan_is_given_by_hand(working: Cli, tmp_path: Path) -> None:
    command = ("task", "submit", "greet", "--local", "--planner", "human", "--wait")
    answer = working.json(*command, code=3)
    plan = greeting(tmp_path)
    ref = answer["details"]["ref"]
    assert answer["next_step_cmd"] == f"replan plan provide {ref} --file plan.yaml"
    assert "no plan yet" in working.refused("plan", "show", ref)["reason"]
    given = working.json("plan", "provide", ref, "--file", plan)
    assert given["details"]["ref"] == ref
    assert working.json("task", "watch", ref)["details"]["phase"] == "done"
    again = working.refused("plan", "provide", ref, "--file", plan)
    assert "does not wait for a plan" in again["reason"]


def test_submissions_with_one_key_are_one_task(cli: Cli) -> None:
    once = cli.json("task", "submit", "p", "--local", "--key", "k")["details"]["ref"]
    twice = cli.json("task", "submit", "p", "--local", "--key", "k")["details"]["ref"]
    assert once == twice
    assert len(cli.rows("SELECT id FROM tasks")) == 1
    assert cli.json("task", "submit", "p", "--local")["details"]["ref"] != once


def test_nothing_runs_in_a_dry_run(working: Cli, tmp_path: Path) -> None:
    """S0.17, S0.88: what would become of each subtask, told by looks alone."""
    made = tmp_path / "made"
    subtasks = [
        {"run": f"touch {made}1", "check": f"test -d {tmp_path}"},
        {"run": f"touch {made}2", "check": f"test -e {made}2"},
        {"run": f"touch {made}3", "check": f"touch {made}4"},
        {"run": f"touch {made}5", "preconditions": [f"test -e {made}"]},
        {"run": f"touch {made}6", "critical": True},
        {"run": f"touch {made}7", "preconditions": [f"echo x > {made}8"]},
    ]
    plan = written(tmp_path, json.dumps({"steps": [{"title": "s", "subtasks": subtasks}]}))
    command = ("task", "submit", "--plan", plan, "--local", "--wait", "--dry-run")
    ref = working.json(*command)["details"]["ref"]
    assert not list(tmp_path.glob("made*"))
    tried = working.json("attempt", "list", ref)["details"]["attempts"]
    assert [each["prediction"] for each in tried] == [
        "already satisfied",
        "would run",
        "unknown",
        "precondition unmet",
        "needs approval",
        "unknown",
    ]
    told = working.json("task", "report", ref)["details"]
    assert told["predictions"]["unknown"] == 2
    for verb in (("list",), ("show", ref)):
        assert "done, dry run" in working("task", *verb).out
    (listed,) = working.json("task", "list")["details"]["tasks"]
    assert listed["dry_run"] is True


def test_json_lines_are_one_answer_each(working: Cli, tmp_path: Path) -> None:
    ref = failed(working, tmp_path)
    cli_lines = {
        "task list": 1,
        "attempt list " + ref: 1,
        "intervention list": 1,
        "config show": 20,
    }
    for command, least in cli_lines.items():
        said = working(*command.split(), "--format", "jsonl")
        assert said.code == 0
        lines = [json.loads(line) for line in said.out.splitlines()]
        assert len(lines) >= least
        for line in lines:
            assert line["kind"] == command.split()[0] + ".line"
            validate(line)
    said = working("task", "watch", ref, "--format", "jsonl")
    *told, last = [json.loads(line) for line in said.out.splitlines()]
    assert said.code == 3
    assert last["kind"] == "task.watch"
    assert {line["kind"] for line in told} == {"task.message"}
    for line in (*told, last):
        validate(line)


def test_settings_are_shown_with_where_they_came_from_and_without_secrets(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPLAN_MAX_RETRY_COUNT", "7")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-hidden")
    monkeypatch.setenv("REPLAN_BROKER_URL", "redis://:hunter2@127.0.0.1:6/0")
    given = ("--set", "forbidden_commands=reboot,halt")
    shown = cli.json("config", "show", *given)
    settings = {entry["key"]: entry for entry in shown["details"]["settings"]}
    assert settings["max_retry_count"]["value"] == 7
    assert settings["max_retry_count"]["source"] == "REPLAN_MAX_RETRY_COUNT"
    assert settings["forbidden_commands"]["value"] == ["reboot", "halt"]
    assert settings["forbidden_commands"]["source"] == "--set"
    assert settings["planner"]["source"] == "default"
    assert settings["anthropic_api_key"]["value"] == "set"
    for form in ("human", "min-json", "jsonl"):
        said = cli("config", "show", *given, "--format", form)
        assert "sk-hidden" not in said.out
        assert "hunter2" not in said.out
    (one,) = cli.json("config", "show", "planner")["details"]["settings"]
    assert (one["key"], one["value"]) == ("planner", "anthropic")


def test_a_setting_is_explained_with_its_unit_and_its_places(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPLAN_LEASE", "60")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-hidden")
    told = cli.json("config", "explain", "lease")["details"]
    assert (told["setting"]["value"], told["setting"]["unit"], told["default"]) == (60, "s", 45)
    assert (told["table"], told["per_task"]) == ("server", False)
    shown = cli("config", "explain", "lease").out
    assert "now: 60 s (REPLAN_LEASE)" in shown
    assert "lease under [server] in replan.toml" in shown
    assert "--set retry_delay=" in cli("config", "explain", "retry_delay").out
    hidden = cli("config", "explain", "anthropic_api_key").out
    assert "now: set (ANTHROPIC_API_KEY)" in hidden
    assert "sk-hidden" not in hidden
    assert "replan.toml" not in hidden
    assert "'nonsense'" in cli.refused("config", "explain", "nonsense")["reason"]


def test_the_guard_explains_and_lists_the_rules_of_a_host(cli: Cli, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("groups: {web: {hosts: ['web*'], profiles: [strict]}}")
    told = cli.json("guard", "check", "sudo cat x", "--policy", policy)["details"]
    assert [found["rule"] for found in told["programs"]] == ["sudo", "cat"]
    cli.json("guard", "check", "cat x", "--policy", policy, "--host", "web1", code=1)
    rules = cli.json("guard", "rules", "cat", "--policy", policy)["details"]
    assert {rule["source"] for rule in rules["rules"]} == {"profile read-only"}
    assert rules["version"] == told["version"]


def test_the_guard_says_what_may_run(cli: Cli, tmp_path: Path) -> None:
    assert cli.json("guard", "check", "ls -l")["details"]["verdict"] == "allow"
    denied = cli.json("guard", "check", "sudo rm -rf /", code=1)
    assert denied["details"]["verdict"] == "deny"
    assert denied["stage"] == "guard"
    lines = written(tmp_path, '{"id": "a", "cmd": "ls"}\n{"id": "b", "cmd": "rm -rf /"}\n')
    rows = cli.json("guard", "check", "--file", lines)["details"]["rows"]
    assert [(row["id"], row["verdict"]) for row in rows] == [("a", "allow"), ("b", "deny")]
    said = cli("guard", "check", "--file", lines, "--format", "jsonl")
    assert said.code == 0
    assert [json.loads(line)["id"] for line in said.out.splitlines()] == ["a", "b"]


def test_every_published_schema_can_be_had(cli: Cli) -> None:
    kinds = cli.json("schema", "show")["details"]["kinds"]
    assert set(DETAILS) <= set(kinds)
    for kind in kinds:
        schema = cli.json("schema", "show", kind)["details"]
        jsonschema.Draft202012Validator.check_schema(schema)


def test_the_version_of_the_database_is_told(cli: Cli) -> None:
    status = cli.json("db", "status")["details"]
    assert status["found"] == status["needed"]
    assert status["found"] in cli("db", "status").out
    assert cli.json("db", "migrate")["details"] == status
