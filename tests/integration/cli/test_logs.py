"""The output of all commands of a task, in order, each line with the place it comes from."""

import json
import re
from pathlib import Path

from tests.integration.cli.asking import plain, plan_file
from tests.integration.cli.calling import Cli
from tests.services.schemas import validate

PAIR = "echo one; echo two >&2; printf three"


def test_output_is_read_in_order_of_all_or_of_what_failed(working: Cli, tmp_path: Path) -> None:
    """While it runs until it ends, and afterwards; for people, and for programs."""
    plan = plan_file(
        tmp_path,
        {"title": "Talk", "subtasks": [{"run": PAIR, "title": "Say three"}, {"run": "true"}]},
        plain("echo broken >&2; exit 3", planner="human"),
    )
    once = ("--set", "error_threshold_per_step=1", "--set", "auto_correction_enabled=false")
    ref = working.json("task", "submit", "--plan", plan, "--local", *once)["details"]["ref"]
    followed = working("task", "logs", ref, "--follow")
    began = rf"{ref}\.1\.1#1@localhost \d\d:\d\d:\d\d Talk – Say three\n"
    assert re.match(began, followed.out), followed.out
    prefix = f"{ref}.1.1@localhost | "
    of_first = [line for line in followed.out.splitlines() if line.startswith(prefix)]
    command, *written, ending = (line.removeprefix(prefix) for line in of_first)
    assert (command, ending.partition(",")[0]) == (f"$ {PAIR}", "ok")
    assert [line for line in written if line != "two"] == ["one", "three"]
    assert f"{ref} waiting broken ({ref}.2.1@localhost" in followed.out
    assert followed.code == 3

    failed = working("task", "logs", ref, "--failed")
    assert (failed.code, "one" in failed.out) == (0, False)
    last = f"{ref}.2.1@localhost | "
    assert f"{last}broken\n{last}exit code 3" in failed.out

    details = working.json("task", "logs", ref)["details"]
    told = [(each["title"], each["view"]["stdout"]) for each in details["attempts"]]
    assert told[0] == ("Say three", "one\nthree")
    assert len(told) == 3
    (of_step,) = working.json("task", "logs", f"{ref}.2")["details"]["attempts"]
    assert of_step["view"]["stderr"] == "broken\n"
    said = working("task", "logs", ref, "--format", "jsonl")
    answers = [json.loads(line) for line in said.out.splitlines()]
    for answer in answers:
        validate(answer)
    assert [answer["kind"] for answer in answers] == [*["log.line"] * 3, "task.logs"]
