"""Where something stops, the first line is the cause, in the words of the program that failed."""

from pathlib import Path

from tests.integration.cli.asking import critical, plan_file, submit
from tests.integration.cli.calling import Cli

PROGRAM = "/nowhere/logrotate"
CAUSE = f"sh: 1: {PROGRAM}: not found"


def told(cli: Cli, *arguments: object) -> str:
    """What people read, however it is broken into lines."""
    return " ".join(cli(*arguments).out.split())


def test_what_failed_is_said_wherever_it_waits_and_before_it_runs_again(
    working: Cli, tmp_path: Path
) -> None:
    """An approval of the same bytes says how they ended; what has a person asked says why."""
    step = {"title": "Rotate", **critical(f"{PROGRAM} --state x", title="Rotate the logs")}
    plan = plan_file(tmp_path, step)
    ref = submit(working, plan, "--set", "auto_correction_enabled=false")
    (asked,) = working.json("intervention", "list", ref)["details"]["interventions"]
    assert asked["wanted"][0]["failed_before"] is None
    working.json("intervention", "approve", f"I{asked['id']}")
    working.json("task", "watch", ref, code=3)

    (again,) = working.json("intervention", "list", ref)["details"]["interventions"]
    (wanted,) = again["wanted"]
    before = wanted["failed_before"]
    assert (before["exit_code"], before["said"]) == (127, CAUSE)
    assert f"ran before: exit code 127: {CAUSE} ({ref}.1.1#2@localhost)" in told(
        working, "intervention", "show", f"I{again['id']}"
    )

    working("intervention", "deny", f"I{again['id']}", "--note", "install it first")
    working.json("task", "watch", ref, code=3)
    (waits,) = working.json("intervention", "list", ref)["details"]["interventions"]
    assert waits["failure"]["said"] == CAUSE
    why = f"{CAUSE} ({ref}.1.1@localhost Rotate the logs, exit code 127: {PROGRAM} --state x)"
    for place in (
        f"task show {ref}",
        f"task watch {ref}",
        f"task report {ref}",
        f"step show {ref}.1",
    ):
        assert why in told(working, *place.split()), place
    assert why in told(working, "intervention", "show", f"I{waits['id']}")
    for listed in ("task", "intervention"):
        assert CAUSE in told(working, listed, "list")
