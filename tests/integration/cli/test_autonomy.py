"""What an approval holds up: all that follows, only what needs it, or the whole plan first."""

from pathlib import Path

import pytest
import yaml

from tests.integration.cli.asking import (
    critical,
    lines,
    on_insert,
    plain,
    plan_file,
    submit,
)
from tests.integration.cli.calling import Cli


def independent(ledger: Path) -> list[dict[str, object]]:
    """One step that asks, and two beside it of which one follows the other."""
    return [
        critical(f"echo one >> {ledger}"),
        {**plain(f"echo two >> {ledger}"), "id": "two", "depends_on": []},
        {**plain(f"echo three >> {ledger}"), "depends_on": ["two"]},
    ]


def test_asking_holds_up_all_that_has_not_begun(working: Cli, tmp_path: Path, ledger: Path) -> None:
    ref = submit(working, plan_file(tmp_path, *independent(ledger)))
    assert "three" not in lines(ledger)
    working.json("intervention", "approve", "I1")
    working.json("task", "watch", ref)
    assert sorted(lines(ledger)) == ["one", "three", "two"]


@pytest.mark.parametrize("how", ["flag", "file", "setting"])
def test_auto_goes_on_with_what_does_not_depend_on_it(
    working: Cli, tmp_path: Path, ledger: Path, how: str
) -> None:
    in_file = {"autonomy": "auto"} if how == "file" else {}
    more = {"flag": ["--autonomy", "auto"], "setting": ["--set", "autonomy=auto"], "file": []}[how]
    submit(working, plan_file(tmp_path, *independent(ledger), **in_file), *more)
    assert lines(ledger) == ["two", "three"]


def test_what_is_said_on_the_command_line_counts_more_than_the_file(
    cli: Cli, tmp_path: Path
) -> None:
    plan = plan_file(tmp_path, plain("true"), autonomy="auto")
    ref = cli.json("task", "submit", "--plan", plan, "--local", "--autonomy", "plan")["details"]
    assert cli.json("task", "show", ref["ref"])["details"]["policy"]["autonomy"] == "plan"
    refused = cli.refused("task", "submit", "--plan", plan, "--local", "--autonomy", "never")
    assert "ask, auto, plan" in refused["reason"]


def test_one_approval_lets_the_rest_of_a_plan_run(
    working: Cli, tmp_path: Path, ledger: Path
) -> None:
    """What else will ask is listed before; what has changed since asks by itself."""
    asking = [critical(f"echo {number} >> {ledger}") for number in ("one", "two", "three")]
    steps = [asking[0], plain(f"echo beside >> {ledger}"), *asking[1:]]
    ref = submit(working, plan_file(tmp_path, *steps))
    assert lines(ledger) == []
    shown = working("intervention", "show", "I1").out
    assert "what else of its plan will ask (2)" in shown
    assert f"echo two >> {ledger}" in "".join(shown.split("\n"))
    assert "echo beside" not in shown
    assert "next: replan intervention approve I1 --plan" in shown
    assert working.json("intervention", "approve", "I1", "--plan")["details"]["rest"] == 2
    working.json("task", "watch", ref)
    assert lines(ledger) == ["one", "beside", "two", "three"]
    given = working.rows("SELECT scope FROM approvals ORDER BY id")
    assert [row.scope for row in given] == ["once", "task", "task"]
    refused = working.refused("intervention", "approve", "I1", "--plan")
    assert "has already been answered" in refused["reason"]


def test_a_whole_plan_is_listed_approved_and_carried_out(
    working: Cli, tmp_path: Path, ledger: Path
) -> None:
    one, two = f"echo one >> {ledger}", f"echo two >> {ledger}"
    ref = submit(working, plan_file(tmp_path, plain(one), plain(two)), "--autonomy", "plan")
    assert lines(ledger) == []
    (waits,) = working.json("intervention", "list")["details"]["interventions"]
    assert waits["kind"] == "plan_approval"
    assert waits["commands"][0] == f"replan plan approve {ref} --list"
    assert "approve it as a whole" in working.refused("intervention", "approve", "I1")["reason"]
    listed = working.json("plan", "approve", ref, "--list")["details"]
    assert listed["approved"] is False
    assert [w["command"] for w in listed["wanted"]] == [one, two]
    assert {w["host"] for w in listed["wanted"]} == {"localhost"}
    assert lines(ledger) == []
    done = working.json("plan", "approve", ref)["details"]
    assert [w["digest"] for w in done["wanted"]] == [w["digest"] for w in listed["wanted"]]
    assert working.json("task", "watch", ref)["details"]["phase"] == "done"
    assert lines(ledger) == ["one", "two"]
    granted = {row.digest for row in working.rows("SELECT digest FROM approvals")}
    assert granted == {w["digest"] for w in listed["wanted"]}
    refused = working.refused("plan", "approve", ref)
    assert "does not wait for an approval" in refused["reason"]
    assert working.json("intervention", "show", "I1")["details"]["answer"] == "approved"


def test_a_revision_of_an_approved_plan_asks_again(
    working: Cli, tmp_path: Path, ledger: Path
) -> None:
    plan = plan_file(tmp_path, {**plain("exit 3"), "planner": "human"})
    ref = submit(working, plan, "--autonomy", "plan")
    working.json("plan", "approve", ref)
    working.json("task", "watch", ref, code=3)
    revision = tmp_path / "revision.yaml"
    revision.write_text(
        yaml.safe_dump({"subtasks": [{"run": f"echo {n} >> {ledger}"} for n in (1, 2)]})
    )
    working.json("step", "revise", f"{ref}.1", "--file", revision)
    working.json("task", "watch", ref, code=3)
    assert lines(ledger) == []
    (waits,) = working.json("intervention", "list")["details"]["interventions"]
    assert [w["command"] for w in waits["wanted"]] == [f"echo {n} >> {ledger}" for n in (1, 2)]
    working.json("intervention", "approve", f"I{waits['id']}")
    assert working.json("task", "watch", ref)["details"]["phase"] == "done"
    assert lines(ledger) == ["1", "2"]


@pytest.mark.changes_rows
def test_an_approved_plan_whose_row_was_changed_runs_nothing_of_it(
    working: Cli, tmp_path: Path, ledger: Path
) -> None:
    """Also where the guard would have let it: only what was listed is approved."""
    ref = submit(working, plan_file(tmp_path, plain("echo one")), "--autonomy", "plan")
    listed = working.json("plan", "approve", ref, "--list")["details"]["wanted"]
    assert [w["command"] for w in listed] == ["echo one"]
    changed = f"replace(plan::text, 'echo one', 'echo two >> {ledger}')::jsonb"
    change = f"UPDATE tasks SET plan = {changed} WHERE id = NEW.task_id;"  # noqa: S608
    on_insert(working, "jobs", change, "AFTER")
    working.json("plan", "approve", ref)
    working.json("task", "watch", ref, code=3)
    assert lines(ledger) == []
    (waits,) = working.json("intervention", "list")["details"]["interventions"]
    assert [w["rule"] for w in waits["wanted"]] == ["plan"]


@pytest.mark.changes_rows
def test_a_plan_with_something_forbidden_cannot_be_approved(
    working: Cli, tmp_path: Path, ledger: Path
) -> None:
    plan = plan_file(tmp_path, plain("true"), plain(f"touch {ledger}"))
    ref = submit(working, plan, "--autonomy", "plan")
    harsher = "jsonb_set(policy, '{forbidden_commands}', '[\"touch\"]')"
    assert working.rows(f"UPDATE tasks SET policy = {harsher} RETURNING id")  # noqa: S608
    for more in ([], ["--list"]):
        refused = working.refused("plan", "approve", ref, *more)
        assert refused["stage"] == "guard"
        assert f"{ref}.2.1@localhost is forbidden" in refused["reason"]
    other = plan_file(tmp_path, plain(f"echo other >> {ledger}"))
    working.json("plan", "provide", ref, "--file", other)
    working.json("plan", "approve", ref)
    assert working.json("task", "watch", ref)["details"]["phase"] == "done"
    assert lines(ledger) == ["other"]


def test_plans_that_ask_for_nothing_cannot_be_approved(
    working: Cli, tmp_path: Path, ledger: Path
) -> None:
    ref = submit(working, plan_file(tmp_path, plain("true")), code=0)
    assert "needs no approval" in working.refused("plan", "approve", ref)["reason"]
    assert "no task T99" in working.refused("plan", "approve", "T99")["reason"]
    dry = submit(
        working,
        plan_file(tmp_path, plain(f"echo x >> {ledger}"), autonomy="plan"),
        "--dry-run",
        code=0,
    )
    assert dry
    assert lines(ledger) == []


def test_a_plan_given_later_has_the_autonomy_of_its_task(cli: Cli, tmp_path: Path) -> None:
    ref = cli.json("task", "submit", "p", "--local", "--planner", "human")["details"]["ref"]
    plan = plan_file(tmp_path, plain("true"), autonomy="auto")
    refused = cli.refused("plan", "provide", ref, "--file", plan)
    assert "was submitted with ask" in refused["reason"]
