"""What a stranger types, in processes of their own, over SSH."""

import json
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

from tests.journeys.answers import EXAMPLES, REPLAN, accepted
from tests.services.ring import Ring, eventually
from tests.services.sshd import SshServer


def asked(ring: Ring, *arguments: str, code: int = 0) -> dict[str, Any]:
    """The one object that a command answers in `min-json`."""
    done = ring.replan(*arguments, "--format", "min-json", check=code)
    (line,) = done.stdout.splitlines()
    return accepted(line)


def written(folder: Path, *commands: str, planner: str | None = None) -> str:
    """A plan file of one step with those commands."""
    path = folder / "plan.yaml"
    subtasks = [{"run": command} for command in commands]
    plan: dict[str, Any] = {"steps": [{"title": "s", "subtasks": subtasks}]}
    path.write_text(json.dumps(plan | ({"planner": planner} if planner else {})))
    return str(path)


def test_a_stranger_s_first_hour_over_ssh(whole_ring: Ring, sshd: SshServer) -> None:
    """Must show 3: enrolled, failed, revised by hand, done; test_readme.py has the rest."""
    reached = ("--address", sshd.host, "--port", str(sshd.port))
    login = ("--user", sshd.user, "--key", str(sshd.key_path))
    enrolled = whole_ring.replan("host", "add", "web1", *reached, *login)
    assert "enrolled web1 SHA256:" in enrolled.stdout

    failing = str(EXAMPLES / "failing-human.yaml")
    waits = whole_ring.replan(
        "task", "submit", "--plan", failing, "--host", "web1", "--wait", check=3
    )
    assert "T1 waiting" in waits.stdout
    typed = re.findall(r"^next: (replan .*)$", waits.stdout, re.MULTILINE)
    assert typed[0] == "replan step revise T1.1@web1 --file revision.yaml"

    fix = typed[0].replace("revision.yaml", str(EXAMPLES / "failing-human-fix.yaml"))
    whole_ring.replan(*fix.split()[1:])
    watched = whole_ring.replan("task", "watch", "T1")
    assert "T1 done" in watched.stdout
    report = whole_ring.replan("task", "report", "T1").stdout
    assert report.startswith("# T1: done")
    assert "### Revision 1 by human: given by hand: failing-human-fix.yaml" in report

    assert asked(whole_ring, "bundle", "show", "T1.1")["details"]["ref"] == "T1.1@web1"
    lines = whole_ring.replan("task", "watch", "T1", "--format", "jsonl").stdout.splitlines()
    *messages, last = [accepted(line) for line in lines]
    assert {line["kind"] for line in messages} == {"task.message"}
    kinds = [line["details"]["kind"] for line in messages]
    for kind in ("step_started", "error", "intervention", "revision", "step_ended", "report"):
        assert kind in kinds
    assert (last["kind"], last["details"]["phase"]) == ("task.watch", "done")


def test_output_is_followed_while_the_command_runs(whole_ring: Ring, tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    command = f"echo early; while ! test -e {go_on}; do sleep 0.1; done; echo late"
    ref = asked(whole_ring, "task", "submit", "--plan", written(tmp_path, command), "--local")[
        "details"
    ]["ref"]
    eventually(lambda: whole_ring.rows("SELECT id FROM attempts"), "the attempt")
    with subprocess.Popen(
        [*REPLAN, "attempt", "tail", f"{ref}.1.1"],
        env=whole_ring.environ,
        stdout=subprocess.PIPE,
        text=True,
    ) as tail:
        assert tail.stdout is not None
        assert tail.stdout.readline() == "early\n"
        assert not go_on.exists()
        go_on.touch()
        assert tail.stdout.readline() == "late\n"
        assert "ok" in tail.stdout.readline()
        assert tail.wait(20) == 0


def test_what_is_cancelled_ends_and_what_is_resumed_goes_on(
    whole_ring: Ring, tmp_path: Path
) -> None:
    cause = tmp_path / "cause"
    long = written(tmp_path, f"touch {tmp_path}/running; sleep 60")
    first = asked(whole_ring, "task", "submit", "--plan", long, "--local")["details"]["ref"]
    eventually((tmp_path / "running").exists, "the command")
    asked(whole_ring, "task", "cancel", first)
    assert asked(whole_ring, "task", "watch", first, code=1)["details"]["phase"] == "cancelled"

    broken = written(tmp_path, f"test -e {cause}")
    once = ("--set", "max_retry_count=1", "--set", "retry_delay=0")
    submitted = asked(
        whole_ring, "task", "submit", "--plan", broken, "--local", *once, "--wait", code=3
    )
    second = submitted["details"]["ref"]
    cause.touch()
    asked(whole_ring, "task", "resume", second)
    assert asked(whole_ring, "task", "watch", second)["details"]["phase"] == "done"


def test_people_plan_try_dry_and_ask_twice(whole_ring: Ring, tmp_path: Path) -> None:
    """A task that a person plans, one that only simulates, one that was submitted twice."""
    made = tmp_path / "made"
    plan = written(tmp_path, f"touch {made}")
    dry = asked(whole_ring, "task", "submit", "--plan", plan, "--local", "--dry-run", "--wait")
    assert dry["details"]["phase"] == "done"
    assert not made.exists()

    command = ("task", "submit", "make it", "--local", "--planner", "human", "--key", "once")
    waits = asked(whole_ring, *command, "--wait", code=3)
    ref = waits["details"]["ref"]
    assert asked(whole_ring, *command)["details"]["ref"] == ref
    provide = waits["next_step_cmd"].replace("plan.yaml", plan).split()[1:]
    asked(whole_ring, *provide)
    assert asked(whole_ring, "task", "watch", ref)["details"]["phase"] == "done"
    assert made.exists()


def test_a_held_step_is_sent_to_its_planner_when_a_person_says_so(
    whole_ring: Ring, tmp_path: Path
) -> None:
    """S0.84, S0.96: held back by configuration, sent with a note."""
    plan = written(tmp_path, "exit 3", planner="runbook")
    held = asked(
        whole_ring,
        *("task", "submit", "--plan", plan, "--local", "--wait"),
        *("--set", "send_to_planner_after_threshold=false"),
        code=3,
    )
    (waits,) = held["details"]["interventions"]
    assert waits["kind"] == "held_bundle"
    ref = held["details"]["ref"]
    assert held["next_step_cmd"] == f"replan bundle send {ref}.1@localhost"
    sent = asked(whole_ring, *held["next_step_cmd"].split()[1:], "--note", "look at the port")
    assert sent["kind"] == "bundle.send"
    after = asked(whole_ring, "task", "watch", ref, code=3)
    assert after["details"]["interventions"][0]["kind"] != "held_bundle"
    told = whole_ring.replan("task", "watch", ref, check=3).stdout
    assert "sent the evidence of step 1 to its planner: look at the port" in told


def test_interrupting_a_live_watch_ends_it_quietly(whole_ring: Ring, tmp_path: Path) -> None:
    """Ctrl-C ends the look at a task, and not the task."""
    go_on = tmp_path / "go-on"
    plan = written(tmp_path, f"while ! test -e {go_on}; do sleep 0.1; done")
    ref = asked(whole_ring, "task", "submit", "--plan", plan, "--local")["details"]["ref"]
    with subprocess.Popen(
        [*REPLAN, "task", "watch", ref],
        env={**whole_ring.environ, "FORCE_COLOR": "1"},  # as on a terminal
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as watch:
        assert watch.stdout is not None
        assert watch.stdout.readline()
        watch.send_signal(signal.SIGINT)
        told, complaints = watch.communicate(timeout=20)
        assert watch.returncode == 130, complaints
        assert f"{ref} goes on" in told
        assert "Traceback" not in complaints
    go_on.touch()
    assert asked(whole_ring, "task", "watch", ref)["details"]["phase"] == "done"
