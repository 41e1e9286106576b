"""Approvals on the command line, on a real executor: asked, given, denied, and every refusal."""

import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from shared.domain.approval import Approval, ApprovalScope
from shared.store import approvals
from tests.integration.cli.asking import (
    critical,
    lines,
    on_insert,
    plain,
    plan_file,
    sourcing,
    submit,
)
from tests.integration.cli.calling import Cli
from tests.services.ring import eventually

ROOT = Path(__file__).parents[3]


def test_a_command_waits_is_shown_is_approved_and_is_done(
    working: Cli, tmp_path: Path, ledger: Path
) -> None:
    command = sourcing(tmp_path, "one", f"echo ran >> {ledger}")
    ref = submit(working, plan_file(tmp_path, plain(command)))
    assert lines(ledger) == []
    waits = working.json("intervention", "show", "I1")["details"]
    (wanted,) = waits["wanted"]
    assert (waits["kind"], wanted["command"], wanted["host"]) == ("approval", command, "localhost")
    assert (wanted["ref"], wanted["part"]) == (f"{ref}.1.1@localhost", "command")
    assert wanted["interpreter"] == "/bin/sh"
    assert wanted["rule"]
    assert wanted["reason"]
    assert wanted["policy"]
    assert len(wanted["digest"]) == 64
    (would_write,) = wanted["preview"]["changes"]
    assert (would_write["kind"], would_write["path"]) == ("created", str(ledger))
    looks = (("intervention", "show", "I1"), ("task", "show", ref), ("intervention", "list"))
    for shown in (*looks, ("task", "report", ref)):
        said = working(*shown).out
        for told in (command, wanted["digest"][:16], wanted["reason"], "approve I1", "deny I1"):
            assert told in said, shown
        assert f"created {ledger}" in said.replace("\n", ""), shown

    answer = working.json("intervention", "approve", "I1")
    assert answer["details"]["answer"] == "approved"
    assert working.json("task", "watch", ref)["details"]["phase"] == "done"
    assert lines(ledger) == ["ran"]
    (row,) = working.rows("SELECT * FROM approvals")
    assert (row.scope, row.digest) == ("once", wanted["digest"])
    assert row.used_by
    assert "@" in row.given_by
    assert row.expires_at - row.given_at
    after = working.json("intervention", "show", "I1")["details"]
    assert (after["answer"], after["answered_by"]) == ("approved", row.given_by)
    assert "approved what step 1 would run, once" in working("task", "watch", ref).out


def test_a_second_word_is_refused(working: Cli, tmp_path: Path, ledger: Path) -> None:
    submit(working, plan_file(tmp_path, critical(f"echo ran >> {ledger}")))
    working.json("intervention", "approve", "I1")
    working.json("task", "watch", "T1")
    for again in (("approve", "I1"), ("approve", "I1", "--for-task"), ("deny", "I1")):
        refused = working.refused("intervention", *again)
        assert "I1 has already been answered: approved by " in refused["reason"]
        assert refused["next_step_cmd"] == "replan intervention show I1"
    assert lines(ledger) == ["ran"]


def test_names_that_are_none_are_refused(cli: Cli) -> None:
    for verb in ("approve", "deny"):
        for name in ("I9", "x", "", "I-1"):
            refused = cli.refused("intervention", verb, name)
            assert refused["next_step_cmd"] == "replan intervention list"


def test_what_waits_for_something_else_cannot_be_approved(working: Cli, tmp_path: Path) -> None:
    submit(working, plan_file(tmp_path, {**plain("exit 3"), "planner": "human"}))
    for verb in ("approve", "deny"):
        refused = working.refused("intervention", verb, "I1")
        assert "I1 does not say what it would run" in refused["reason"]
        assert "revision" in refused["reason"]


def test_once_is_once_and_for_the_task_is_as_often_as_it_has_these_bytes(
    working: Cli, tmp_path: Path, ledger: Path
) -> None:
    steps = [critical(f"echo ran >> {ledger}") for _ in range(3)]
    ref = submit(working, plan_file(tmp_path, *steps))
    working.json("intervention", "approve", "I1")
    working.json("task", "watch", ref, code=3)
    assert lines(ledger) == ["ran"]
    working.json("intervention", "approve", "I2", "--for-task")
    assert working.json("task", "watch", ref)["details"]["phase"] == "done"
    assert lines(ledger) == ["ran"] * 3


def test_a_byte_more_is_another_command(working: Cli, tmp_path: Path, ledger: Path) -> None:
    steps = [critical(f"echo ran >> {ledger}"), critical(f"echo ran >> {ledger} ")]
    ref = submit(working, plan_file(tmp_path, *steps))
    working.json("intervention", "approve", "I1", "--for-task")
    working.json("task", "watch", ref, code=3)
    assert lines(ledger) == ["ran"]


def test_a_failed_try_has_used_the_approval_up(working: Cli, tmp_path: Path, ledger: Path) -> None:
    """The next pass of the step asks anew, and is one more question."""
    ref = submit(working, plan_file(tmp_path, critical(f"echo ran >> {ledger}; exit 3")))
    working.json("intervention", "approve", "I1")
    answer = working.json("task", "watch", ref, code=3)
    assert answer["next_step_cmd"] == "replan intervention show I2"
    assert lines(ledger) == ["ran"]


@pytest.mark.changes_rows
def test_who_writes_to_the_database_makes_no_used_approval_unused(
    working: Cli, tmp_path: Path, ledger: Path
) -> None:
    """T67: the host knows which attempt has used it, and the next one asks a person again."""
    ref = submit(working, plan_file(tmp_path, critical(f"echo ran >> {ledger}; exit 3")))
    working.json("intervention", "approve", "I1")
    assert working.json("task", "watch", ref, code=3)["next_step_cmd"].endswith("show I2")
    assert lines(ledger) == ["ran"]
    assert working.rows("UPDATE approvals SET used_at = NULL, used_by = NULL RETURNING id")
    assert working("task", "resume", ref).code == 0
    waits = "SELECT 1 FROM interventions WHERE kind = 'approval' AND id > 2 AND closed_at IS NULL"
    eventually(lambda: working.rows(waits) or lines(ledger) != ["ran"], "the next question")
    assert lines(ledger) == ["ran"]
    working.json("intervention", "approve", "I3")
    working.json("task", "watch", ref, code=3)
    assert lines(ledger) == ["ran"] * 2


def test_an_approval_that_expired_unused_asks_again(
    working: Cli, tmp_path: Path, ledger: Path
) -> None:
    """Nobody was there to use it in time: the question is open again, the run is not stuck."""
    plan = plan_file(tmp_path, critical(f"echo ran >> {ledger}"))
    ref = submit(working, plan, "--set", "approval_ttl=3600")
    # Whatever is granted from here on has expired by the time that it is looked for.
    expire = "NEW.expires_at = now() - interval '1 second';"
    on_insert(working, "approvals", expire, "BEFORE")
    working.json("intervention", "approve", "I1")
    answer = working.json("task", "watch", ref, code=3)
    assert answer["next_step_cmd"] == "replan intervention show I2"
    assert lines(ledger) == []


def test_what_an_answer_lets_go_on_may_be_watched_to_its_end(
    working: Cli, tmp_path: Path, ledger: Path
) -> None:
    """After the answer itself; the exit code is that of the task."""
    wanted = tmp_path / "wanted"
    plan = plan_file(
        tmp_path, critical(f"echo ran >> {ledger}"), plain(f"test -e {wanted}", planner="human")
    )
    ref = submit(working, plan, "--set", "error_threshold_per_step=1")
    said = working("intervention", "approve", "I1", "--wait")
    assert said.code == 3
    assert said.out.startswith(f"{ref}.1@localhost is ")
    assert f"{ref} waiting" in said.out
    wanted.touch()
    said = working("task", "resume", ref, "--wait")
    assert said.code == 0
    assert f"{ref} done" in said.out
    assert lines(ledger) == ["ran"]


def test_a_denial_goes_to_the_planner_with_its_note(
    working: Cli, tmp_path: Path, ledger: Path
) -> None:
    plan = plan_file(tmp_path, critical(f"echo ran >> {ledger}"), planner="human")
    ref = submit(working, plan)
    answer = working.json("intervention", "deny", "I1", "--note", "keep the old logs")
    assert answer["details"]["answer"] == "denied"
    answer = working.json("task", "watch", ref, code=3)
    assert answer["next_step_cmd"].startswith(f"replan step revise {ref}.1")
    assert re.match(r"\S+ denied it: keep the old logs \(", answer["reason"])
    (step,) = working.rows("SELECT note, forced FROM run_steps")
    assert step.forced
    assert "A person did not approve this" in step.note
    assert "keep the old logs" in step.note
    assert working.rows("SELECT 1 FROM approvals") == []
    assert "did not approve what step 1 would run: keep the old logs" in (
        working("task", "watch", ref).out
    )
    refused = working.refused("intervention", "approve", "I1")
    assert "already been answered: denied by" in refused["reason"]
    assert lines(ledger) == []


@pytest.mark.changes_rows
def test_a_row_of_the_plan_that_was_changed_is_judged_anew(
    working: Cli, tmp_path: Path, ledger: Path
) -> None:
    """Behind everybody's back, after the approval: neither what was approved nor what it became."""
    command = f"echo ran >> {ledger}"
    ref = submit(working, plan_file(tmp_path, critical(command)))
    change = (
        "UPDATE tasks SET plan = replace(plan::text, 'echo ran', 'echo run')::jsonb RETURNING id"
    )
    assert working.rows(change)
    working.json("intervention", "approve", "I1")
    answer = working.json("task", "watch", ref, code=3)
    assert answer["next_step_cmd"] == "replan intervention show I2"
    (wanted,) = working.json("intervention", "show", "I2")["details"]["wanted"]
    assert wanted["command"] == command.replace("ran", "run")
    assert lines(ledger) == []
    assert working.rows("SELECT used_by FROM approvals")[0].used_by is None


@pytest.mark.changes_rows
def test_a_row_that_was_changed_to_something_forbidden_never_runs(
    working: Cli, tmp_path: Path, ledger: Path
) -> None:
    ref = submit(working, plan_file(tmp_path, critical("echo fine")))
    command = f"rm -rf / --no-preserve-root; touch {ledger}"
    change = "UPDATE tasks SET plan = replace(plan::text, 'echo fine', :new)::jsonb RETURNING id"
    assert working.rows(change, new=command)
    working.json("intervention", "approve", "I1")
    working.json("task", "watch", ref, code=3)
    (waits,) = working.json("intervention", "list")["details"]["interventions"]
    assert waits["kind"] == "blocked"
    assert not ledger.exists()


@pytest.mark.changes_rows
def test_an_approval_under_one_policy_is_none_under_another(
    working: Cli, tmp_path: Path, ledger: Path
) -> None:
    """Also where the new rules would let it pass just as well."""
    ref = submit(working, plan_file(tmp_path, critical(f"echo ran >> {ledger}")))
    harsher = "jsonb_set(policy, '{forbidden_commands}', '[\"reboot\"]')"
    assert working.rows(f"UPDATE tasks SET policy = {harsher} RETURNING id")  # noqa: S608
    working.json("intervention", "approve", "I1", "--for-task")
    answer = working.json("task", "watch", ref, code=3)
    assert answer["next_step_cmd"] == "replan intervention show I2"
    assert lines(ledger) == []


def forged(cli: Cli, given_by: str = "ann", signature: str = "") -> None:
    """Somebody who may write to the database approves what I1 asks for."""
    digest = cli.json("intervention", "show", "I1")["details"]["wanted"][0]["digest"]
    with cli.database.begin() as connection:
        word = Approval(
            digest, ApprovalScope.TASK, given_by, datetime(2100, 1, 1, tzinfo=UTC), signature
        )
        approvals.grant(connection, 1, [word])


def disbelieved(cli: Cli) -> dict[str, Any]:
    """What the operator is told of it, once the executor has said in its log what it thinks."""
    asks = "SELECT 1 FROM interventions WHERE kind = 'operator' AND closed_at IS NULL"
    eventually(lambda: cli.rows(asks), "the operator's turn")
    waits: dict[str, Any]
    (waits,) = cli.json("intervention", "list")["details"]["interventions"]
    return waits


def test_a_word_that_nobody_has_signed_is_not_believed(
    working: Cli, tmp_path: Path, ledger: Path
) -> None:
    """A row that is written behind everybody's back: nothing runs, and the operator is told."""
    ref = submit(working, plan_file(tmp_path, critical(f"echo ran >> {ledger}")))
    assert len(working.json("intervention", "key")["details"]["public_key"]) == 44
    forged(working)
    assert working("task", "resume", ref).code == 0
    waits = disbelieved(working)
    assert "the approval names ann, but no key" in waits["reason"]
    assert waits["commands"][0] == "replan intervention key"
    assert lines(ledger) == []


def test_a_signed_word_that_was_changed_is_not_believed(
    working: Cli, tmp_path: Path, ledger: Path
) -> None:
    submit(working, plan_file(tmp_path, critical(f"echo ran >> {ledger}")))
    on_insert(working, "approvals", "NEW.scope = 'task';", "BEFORE")
    assert working("intervention", "approve", "I1").code == 0
    disbelieved(working)
    assert lines(ledger) == []


def test_a_key_that_others_can_read_signs_nothing(working: Cli, tmp_path: Path) -> None:
    submit(working, plan_file(tmp_path, critical("true")))
    working.json("intervention", "key")
    (path,) = tmp_path.rglob("approval-key")
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    refused = working.refused("intervention", "approve", "I1")
    assert "readable by nobody else" in refused["reason"]
    assert refused["next_step_cmd"] == f"ls -l {path}"
    path.chmod(0o600)
    path.write_text("nonsense")
    assert "not a valid key" in working.refused("intervention", "approve", "I1")["reason"]


def test_a_command_that_a_person_let_run_approves_nothing_itself(
    working: Cli, tmp_path: Path, ledger: Path, database_url: str
) -> None:
    """T49 to T51, with everything that the person has, and a cleared environment."""
    tries = (
        "intervention approve I2",
        "intervention deny I2",
        "token create evil --role admin",
        "secret set X",
        "config show",
    )
    program = f"{sys.executable} -m orchestrator.cli.main"
    given = f"PATH=/usr/bin:/bin HOME={tmp_path} REPLAN_DATABASE_URL={database_url}"
    script = f"cd {ROOT}\n" + "".join(
        f"env -i {given} setsid -w {program} {words} </dev/null; echo $? >> {ledger}\n"
        for words in tries
    )
    steps = [plain(sourcing(tmp_path, "one", script)), critical(f"echo second >> {ledger}")]
    ref = submit(working, plan_file(tmp_path, *steps))
    working.json("intervention", "approve", "I1")
    working.json("task", "watch", ref, code=3)
    assert lines(ledger) == ["2"] * len(tries)
    assert working.rows("SELECT 1 FROM tokens") == []
    entries = working.json("audit", "list")["details"]["entries"]
    assert sum(entry["details"].get("from") == "job" for entry in entries) == len(tries)


def test_what_hides_from_the_eye_is_shown(working: Cli, tmp_path: Path) -> None:
    """Signs that move text about, or clear the screen, are written as what they are."""
    submit(working, plan_file(tmp_path, critical("echo \u202eevil\u00a0x")))
    said = working("intervention", "show", "I1").out
    assert "echo \\u202eevil\\xa0x" in said
    assert "\u202e" not in said


def test_what_an_earlier_task_has_left_does_not_run_unseen(working: Cli, tmp_path: Path) -> None:
    """The memory of a host does not end with a plan; reading what was left asks nobody."""
    module, ran = tmp_path / "json.py", tmp_path / "ran"
    assert working("host", "add", "box", "--local", "--workdir", tmp_path).code == 0

    def carry_out(command: str, *, code: int = 0) -> None:
        plan = plan_file(tmp_path, plain(command))
        working.json("task", "submit", "--plan", plan, "--host", "box", "--wait", code=code)

    carry_out(f"""echo "open({str(ran)!r}, 'w')" > json.py""")
    carry_out("cat json.py")
    runner = "echo 1 | python3 -m json.tool"
    carry_out(runner, code=3)
    assert module.exists()
    assert not ran.exists()
    (wanted,) = working.json("intervention", "show", "I1")["details"]["wanted"]
    assert (wanted["command"], wanted["rule"]) == (runner, "written-script")
    assert "T1" in wanted["reason"]


def test_a_preview_is_given_at_any_time_but_not_of_what_is_forbidden(
    working: Cli, ledger: Path
) -> None:
    seen = working.json("guard", "preview", f"echo x > {ledger}", "--host", "localhost")
    preview = seen["details"]["preview"]
    assert preview["none"] or [change["path"] for change in preview["changes"]] == [str(ledger)]
    assert lines(ledger) == []
    refused = working.refused("guard", "preview", "rm -rf /", "--host", "localhost")
    assert refused["stage"] == "guard"
