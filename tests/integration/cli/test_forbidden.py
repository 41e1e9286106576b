"""What is forbidden never starts, wherever it stands, and no person's word lets it."""

from pathlib import Path

import pytest
import yaml

from tests.integration.cli.asking import critical, forbid_from_now_on, plain, plan_file, submit
from tests.integration.cli.calling import Cli


@pytest.mark.parametrize("where", ["run", "check", "preconditions", "rollback"])
def test_a_plan_by_hand_with_something_forbidden_is_refused(
    working: Cli, tmp_path: Path, where: str
) -> None:
    """Nothing of it runs: not what stands before it, either."""
    subtask: dict[str, object] = {"run": "true"}
    subtask[where] = ["reboot"] if where == "preconditions" else "reboot"
    plan = plan_file(tmp_path, {"subtasks": [{"run": "true"}, subtask]})
    refused = working.refused("task", "submit", "--plan", plan, "--local", code=2)
    assert refused["stage"] == "guard"
    part = {"run": "command", "preconditions": "precondition"}.get(where, where)
    assert f"step 1, subtask 2, {part} on localhost: `reboot` is forbidden" in refused["reason"]
    assert working.rows("SELECT id FROM tasks") == []


@pytest.mark.parametrize("where", ["run", "check"])
def test_a_plan_by_hand_with_what_no_shell_can_parse_is_refused(
    working: Cli, tmp_path: Path, where: str
) -> None:
    """Whoever approved it would see it fail."""
    plan = plan_file(tmp_path, {"subtasks": [{"run": "true", where: "ls | | wc"}]})
    refused = working.refused("task", "submit", "--plan", plan, "--local", code=2)
    part = {"run": "command"}.get(where, where)
    said = f"step 1, subtask 1, {part} on localhost: `ls | | wc` is not a valid shell command"
    assert said in refused["reason"]
    assert working.rows("SELECT id FROM tasks") == []


def test_what_will_ask_is_said_when_a_plan_is_submitted(working: Cli, tmp_path: Path) -> None:
    """At once, and not when its turn comes."""
    plan = plan_file(tmp_path, plain("true"), plain("systemctl mask nginx"))
    answer = working.json("task", "submit", "--plan", plan, "--local")
    (stop,) = answer["details"]["stops"]
    assert (stop["step"], stop["subtask"], stop["part"]) == (2, 1, "command")
    assert (stop["text"], stop["host"]) == ("systemctl mask nginx", "localhost")
    said = working("task", "submit", "--plan", plan, "--local").err
    assert "`systemctl mask nginx` waits for approval: no rule lists `systemctl mask`" in said


def test_a_dry_run_says_what_is_forbidden(working: Cli, tmp_path: Path) -> None:
    """No approval would let it run."""
    plan = plan_file(tmp_path, plain("rm -rf /"))
    said = working("task", "submit", "--plan", plan, "--local", "--dry-run").err
    assert "`rm -rf /` is forbidden: " in said
    assert "waits for approval" not in said


@pytest.mark.changes_rows
def test_a_plan_is_judged_where_its_commands_start(working: Cli, tmp_path: Path) -> None:
    """The folder of the host is known when a plan is submitted, and when it is only checked."""
    app = tmp_path / "app"
    app.mkdir()
    write, use = f"printf 'import os' > {app}/argparse.py", "python3 -m json.tool package.json"
    plan = plan_file(tmp_path, plain(write), plain(use))
    assert working("host", "add", "box", "--local", "--workdir", app).code == 0
    checked = working("guard", "check", "--plan", plan, "--host", "box")
    submitted = working("task", "submit", "--plan", plan, "--host", "box")
    assert working("host", "add", "elsewhere", "--local", "--workdir", tmp_path).code == 0
    elsewhere = working("guard", "check", "--plan", plan, "--host", "elsewhere")
    unknown = working("guard", "check", "--plan", plan, "--host", "unknown")
    answers = (checked, submitted, unknown)
    told = ["it looks in ~ for what it runs" in f"{each.out}{each.err}" for each in answers]
    assert told == [True, True, True], answers
    assert elsewhere.code == 0


@pytest.mark.changes_rows
def test_what_is_forbidden_cannot_be_approved(working: Cli, tmp_path: Path, ledger: Path) -> None:
    plan = plan_file(tmp_path, plain(f"touch {ledger}"))
    forbid_from_now_on(working, "touch")
    ref = submit(working, plan)
    refused = working.refused("intervention", "approve", "I1")
    assert refused["stage"] == "guard"
    assert "which cannot be approved" in refused["reason"]
    assert working.json("task", "show", ref)["details"]["runs"][0]["steps"][0]["phase"] == "blocked"
    assert not ledger.exists()


@pytest.mark.changes_rows
def test_what_was_forbidden_since_cannot_be_approved_either(
    working: Cli, tmp_path: Path, ledger: Path
) -> None:
    """It was asked about under a milder policy."""
    ref = submit(working, plan_file(tmp_path, critical(f"touch {ledger}")))
    harsher = "jsonb_set(policy, '{forbidden_commands}', '[\"touch\"]')"
    assert working.rows(f"UPDATE tasks SET policy = {harsher} RETURNING id")  # noqa: S608
    refused = working.refused("intervention", "approve", "I1")
    assert refused["stage"] == "guard"
    assert f"{ref}.1.1@localhost is forbidden and cannot be approved" in refused["reason"]
    assert refused["next_step_cmd"] == "replan guard rules"
    assert not ledger.exists()


@pytest.mark.changes_rows
@pytest.mark.parametrize("where", ["run", "check", "preconditions", "rollback"])
def test_what_is_forbidden_never_starts_wherever_a_plan_has_it(
    working: Cli, tmp_path: Path, ledger: Path, where: str
) -> None:
    """The step is blocked, and the operator is told why; a rollback is never run at all."""
    forbidden = f"touch {ledger}"
    subtask: dict[str, object] = {"run": "true", "critical": False}
    subtask[where] = [forbidden] if where == "preconditions" else forbidden
    ok = where == "rollback"
    plan = plan_file(tmp_path, {"subtasks": [subtask]})
    forbid_from_now_on(working, "touch")
    ref = submit(working, plan, code=0 if ok else 3)
    if not ok:
        (waits,) = working.json("intervention", "list")["details"]["interventions"]
        assert waits["kind"] == "blocked"
        assert "touch" in waits["reason"]
        assert working.rows("SELECT phase FROM run_steps")[0].phase == "blocked"
        assert "blocked" in working("task", "show", ref).out
    assert not ledger.exists()


def test_what_is_forbidden_never_starts_from_a_revision(
    working: Cli, tmp_path: Path, ledger: Path
) -> None:
    ref = submit(
        working,
        plan_file(tmp_path, {**plain("exit 3"), "planner": "human"}),
        "--set",
        "forbidden_commands=touch",
    )
    revision = tmp_path / "revision.yaml"
    revision.write_text(yaml.safe_dump({"subtasks": [{"run": f"touch {ledger}"}]}))
    working.json("step", "revise", f"{ref}.1", "--file", revision)
    working.json("task", "watch", ref, code=3)
    (waits,) = working.json("intervention", "list")["details"]["interventions"]
    assert waits["kind"] == "blocked"
    assert not ledger.exists()


def test_what_is_forbidden_never_starts_as_a_correction(
    working: Cli, tmp_path: Path, ledger: Path
) -> None:
    """The rule would make the folder first: the step is blocked, and the operator is told why."""
    missing = tmp_path / "missing" / "copy"
    ledger.write_text("")
    plan = plan_file(tmp_path, plain(f"cp {ledger} {missing}"))
    submit(working, plan, "--set", "forbidden_commands=mkdir", "--set", "max_retry_count=1")
    (waits,) = working.json("intervention", "list")["details"]["interventions"]
    assert waits["kind"] == "blocked"
    assert "mkdir" in waits["reason"]
    told = working.rows("SELECT outcome, correction FROM attempts ORDER BY id")
    assert ("denied", True) in {(row.outcome, row.correction is not None) for row in told}
    assert not missing.parent.exists()


def test_a_step_does_not_run_unseen_what_another_one_writes(working: Cli, tmp_path: Path) -> None:
    """Each command alone may run; a person sees the program before it does."""
    runs, writes = "make -n all", "echo all: > Makefile"
    submit(working, plan_file(tmp_path, plain(runs), plain(writes)))
    (waits,) = working.json("intervention", "list")["details"]["interventions"]
    assert (waits["kind"], waits["ref"]) == ("approval", "T1.1@localhost")
    assert "another command of the same plan writes there" in waits["reason"]
    assert working.rows("SELECT outcome FROM attempts") == [("needs_approval",)]
