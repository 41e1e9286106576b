"""The contents of a bundle, field by field (S0.48–S0.53, S0.62–S0.70)."""

from dataclasses import fields, replace

from shared.contracts.bundle import bundle_from_json, bundle_to_json
from shared.domain.attempt import Attempt
from shared.domain.author import Author, PlanningRole
from shared.domain.bundle import REQUEST, Bundle
from shared.domain.config import Policy
from shared.domain.host import Host
from shared.domain.outcome import Outcome
from shared.domain.plan import Plan, Revision, Step, Subtask
from tests.unit.passes.given import NOON, attempt, ended
from workers.roles.escalation import compose
from workers.store import StepBrief, TaskBrief

AUTHOR = Author(PlanningRole.SUBTASK_PLANNER, "anthropic")
UPDATE = Subtask(1, "update", "Refresh", "apt update", rollback="true", idempotent=True)
INSTALL = Subtask(
    2,
    "install",
    "Install",
    "apt install -y nginx",
    check="dpkg -s nginx",
    timeout=90.0,
    preconditions=("test -w /",),
    needs=("update",),
    critical=True,
)
LATER = Subtask(3, "later", "Later", "true")
STEP = Step(2, "web", "Serve", "Have nginx serve.", AUTHOR, subtasks=(UPDATE, INSTALL))
OTHER = Step(1, "disk", "Make room", "", AUTHOR)
POLICY = Policy(forbidden_commands=("reboot",), subtask_timeout=42.0)
TASK = TaskBrief(7, "serve", "serve on port 80", POLICY, Plan((OTHER, STEP)), ("web1",))
ABSENT = ended("apt install -y nginx", 100, stderr="E: Unable to locate package nginx")


def brief(*tried: Attempt, revisions: tuple[Revision, ...] = ()) -> StepBrief:
    """The step on a host, after these attempts."""
    first = Revision(2, 0, AUTHOR, (UPDATE, INSTALL, LATER))
    return StepBrief(
        task=TASK,
        run_id=7,
        target="web1",
        host=Host("web1", address="192.0.2.1", user="deploy", sudo=True, workdir="/srv"),
        step=STEP,
        author=AUTHOR,
        revisions=(first, *revisions),
        attempts=tried,
        reason="errors: 2",
        plan=Plan((OTHER, STEP)),
        phases={1: "done", 2: "replanning"},
    )


def test_every_field_of_the_requirements_is_there() -> None:
    update = attempt(1, Outcome.OK, command="apt update", result=ended(stdout="Hit:1\n"))
    first = attempt(2, command="apt install -y nginx", result=ABSENT, reason="exit code 100")
    again = replace(first, try_no=1, number=2, correction="apt_update_first")
    bundle = compose(brief(update, first, again), {"disk": "full", "network_errors": "eth0: 0"})
    # S0.48, S0.62–S0.65: task, step and subtasks, in order, with everything planned for them
    assert (bundle.task_ref, bundle.step_ref, bundle.target) == ("T7", "T7.2@web1", "web1")
    assert (bundle.prompt, bundle.improved_prompt) == ("serve", "serve on port 80")
    assert (bundle.step_title, bundle.step_instruction) == ("Serve", "Have nginx serve.")
    assert [s.key for s in bundle.subtasks] == ["update", "install", "later"]
    planned = bundle.subtasks[1]
    assert {f.name: getattr(planned, f.name) for f in fields(planned)} == {
        "ordinal": 2,
        "key": "install",
        "title": "Install",
        "command": "apt install -y nginx",
        "check": "dpkg -s nginx",
        "timeout": 90.0,
        "preconditions": ("test -w /",),
        "needs": ("update",),
        "status": "failed",
        "critical": True,
        "rollback": None,
        "idempotent": False,
        "kind": "command",
        "agent": None,
        "ran": True,
    }
    assert [(s.status, s.ran) for s in bundle.subtasks] == [
        ("done", True),
        ("failed", True),
        ("not reached", False),
    ]
    # S0.49, S0.66: each command with its output, exit code, retries and times
    logged = bundle.attempts[2]
    assert (logged.ref, logged.command) == ("T7.2.2#2@web1", "apt install -y nginx")
    assert (logged.exit_code, logged.retry_count) == (100, 1)
    assert (logged.stdout, logged.stderr) == ("", "E: Unable to locate package nginx")
    assert logged.started_at == logged.ended_at == NOON.isoformat()
    assert bundle.attempts[0].stdout == "Hit:1\n"
    # S0.50, S0.67, S0.51, S0.69
    assert bundle.snapshot == {"disk": "full", "network_errors": "eth0: 0"}
    (assumption,) = bundle.failed_assumptions
    assert "nginx is absent" in assumption
    assert len(bundle.hypotheses) == 2
    # S0.52, S0.68: the machine, the limits and what is forbidden
    assert bundle.host == {
        "connection": "ssh",
        "address": "192.0.2.1:22",
        "account": "root, through sudo",
        "folder": "/srv",
    }
    assert bundle.config["forbidden_commands"] == "('reboot',)"
    assert bundle.config["subtask_timeout"] == "42.0"
    assert set(bundle.config) == {
        *("forbidden_commands", "subtask_timeout", "check_timeout", "error_threshold_per_step"),
        *("max_retries_per_command", "human_escalation_threshold"),
    }
    other = replace(brief(), task=replace(TASK, policy=replace(POLICY, autonomy="auto")))
    assert compose(other, {}).config["autonomy"] == "auto"
    assert bundle.plan == ("1. Make room [done]", "2. Serve [replanning]")
    assert (bundle.reason, bundle.request) == ("errors: 2", REQUEST)  # S0.70
    assert bundle_from_json(bundle_to_json(bundle)) == bundle


def test_earlier_revisions_tell_what_came_of_them() -> None:
    failed = attempt(2, command="apt install -y nginx", result=ABSENT, reason="exit code 100")
    undone = replace(
        attempt(1, Outcome.OK, pass_no=2, number=2, command="true", result=ended()), rollback=True
    )
    second = attempt(1, revision=1, pass_no=2, command="snap install", result=ended("", 1))
    other = Subtask(1, "snap", "", "snap install")
    revised = Revision(2, 1, AUTHOR, (other,), "another way", ("update",))
    bundle = compose(brief(failed, undone, second, revisions=(revised,)), {})
    (told,) = bundle.earlier_revisions
    assert told.splitlines()[0] == "revision 0 by subtask_planner"
    assert "what came of it: subtask 2: ran the command as planned: exit code 100" in told
    assert told.endswith("\n  apt update\n  apt install -y nginx\n  true")
    assert [(a.command, a.rollback) for a in bundle.attempts] == [
        ("true", True),
        ("snap install", False),
    ]
    assert bundle.hypotheses[0] == "undid subtask 1 of revision 0 (true): that worked"
    assert [s.status for s in bundle.subtasks] == ["failed"]


def test_a_bundle_that_an_older_version_stored_can_still_be_read() -> None:
    data = bundle_to_json(compose(brief(), {}))
    for name in ("host", "plan", "causes"):
        del data[name]
    for name in ("critical", "rollback", "idempotent", "kind", "ran"):
        del data["subtasks"][0][name]
    read = bundle_from_json(data)
    assert isinstance(read, Bundle)
    assert (read.host, read.plan, read.subtasks[0].ran) == ({}, (), False)
