"""`replan token …`, `replan audit …`, `replan doctor`; and that no act goes unrecorded."""

import json
import os
import re
from pathlib import Path

import pytest

from orchestrator.access.actor import account
from orchestrator.access.authentication import authenticate
from orchestrator.access.roles import VERBS, AccessRole
from tests.integration.cli.calling import Cli
from tests.services.ring import eventually

BEARER = re.compile(r"^replan_[0-9a-f]{12}_[A-Za-z0-9_-]{43}$", re.MULTILINE)

APPROVALS = {"intervention.approve", "intervention.deny", "plan.approve"}
FIXES = {"fix.retire", "fix.restore", "fix.edit"}
REPAIRS = {"repair.attempt", "repair.worktree"}
REPOSITORIES = {"repo.add", "repo.check", "repo.remove", "plan.build"}
STORE = {"store.put", "store.gc"}
SESSIONS = {"session.open", "session.close", "accept.run", "checkpoint.run"}
SESSIONS |= {"project.start", "project.pause", "project.resume"}
WAITING = """
planner: human
steps:
  - title: Go wrong
    subtasks:
      - {run: "exit 3", check: test -e MADE}
"""


def test_a_token_is_shown_once_and_opens(cli: Cli) -> None:
    said = cli("token", "create", "ci", "--role", "approver", "--days", "3")
    assert said.code == 0
    (shown,) = BEARER.findall(said.out)
    with cli.database.begin() as connection:
        assert authenticate(connection, shown).role is AccessRole.APPROVER
    (listed,) = cli.json("token", "list")["details"]["tokens"]
    assert (listed["name"], listed["role"], listed["state"]) == ("ci", "approver", "good")
    assert listed["created_by"] == account().name
    for said in (cli("token", "list"), cli("token", "list", "--all"), cli("audit", "list")):
        assert "ci" in said.out
        assert shown.split("_", 2)[2] not in said.out
    assert [json.loads(line)["kind"] for line in lines(cli, "token", "list")] == ["token.line"]


def test_a_token_is_replaced_and_ended(cli: Cli) -> None:
    first = cli.json("token", "create", "ci", "--role", "viewer")["details"]["token"]
    second = cli.json("token", "rotate", "ci", "--days", "7")["details"]["token"]
    assert first != second
    assert cli.json("token", "revoke", "ci")["details"] == {"name": "ci"}
    assert cli.json("token", "list")["details"]["tokens"] == []
    assert "no tokens yet" in cli("token", "list").out
    states = [t["state"] for t in cli.json("token", "list", "--all")["details"]["tokens"]]
    assert states == ["revoked", "revoked"]
    verbs = [e["verb"] for e in cli.json("audit", "list", "--ref", "ci")["details"]["entries"]]
    assert verbs == ["token.revoke", "token.rotate", "token.create"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("create", "ci", "--role", "root"), "is not a valid role; use one of viewer"),
        (("create", "c i", "--role", "viewer"), "is not a valid token name"),
        (("create", "ci", "--role", "viewer", "--days", "0"), "1 to 730 days"),
        (("create", "taken", "--role", "viewer"), "already"),
        (("rotate", "nobody"), "there is no token called 'nobody'; there are: taken"),
        (("revoke", "nobody"), "there is no token called 'nobody'"),
    ],
)
def test_what_cannot_be_is_refused(cli: Cli, words: tuple[str, ...], said: str) -> None:
    cli.json("token", "create", "taken", "--role", "viewer")
    assert said in cli.refused("token", *words)["reason"]


def test_the_audit_is_verified_and_what_was_done_to_it_is_named(cli: Cli) -> None:
    for name in ("a", "b", "c"):
        cli.json("token", "create", name, "--role", "viewer")
    whole = cli.json("audit", "verify")["details"]
    assert (whole["entries"], whole["faults"]) == (3, [])
    assert whole["anchor"] in cli("audit", "verify").out
    assert cli.json("audit", "verify", "--anchor", whole["anchor"])["ok"]
    assert "is not a valid anchor" in cli.refused("audit", "verify", "--anchor", "3:x")["reason"]
    cli.rows("UPDATE audit SET details = 'x' WHERE seq = 2 RETURNING seq")
    broken = cli.json("audit", "verify", code=1)
    assert broken["reason"] == "entry 2: what it says was changed after it was written"
    assert broken["next_step_cmd"] == "replan audit list --around 2"
    told = cli("audit", "verify")
    assert told.code == 1
    assert "entry 2" in told.out
    near = cli.json("audit", "list", "--around", "2")["details"]["entries"]
    assert near[1]["details"] == {"unreadable": "x"}
    assert cli("audit", "list", "--around", "2").code == 0


def test_the_newest_entries_of_the_audit_cannot_be_cut_off_unseen(cli: Cli) -> None:
    """Together with the head, so that the rest is a whole chain: the last check knows of them."""
    for name in ("a", "b", "c"):
        cli.json("token", "create", name, "--role", "viewer")
    assert cli.json("audit", "verify")["ok"]
    cli.json("token", "create", "d", "--role", "viewer")
    assert cli.json("audit", "verify")["ok"]
    cut = "DELETE FROM audit WHERE seq > 2 RETURNING seq"
    assert cli.rows(cut)
    end = "(SELECT hash FROM audit WHERE seq = 2)"
    cli.rows(f"UPDATE audit_head SET seq = 2, hash = {end} RETURNING seq")  # noqa: S608
    broken = cli.json("audit", "verify", code=1)
    assert broken["reason"] == "entry 4: the entry that the anchor names is gone"
    said = cli("audit", "verify").out
    (kept,) = Path(os.environ["HOME"]).rglob("audit-anchors/*")
    assert str(kept) in said
    kept.unlink()
    assert cli.json("audit", "verify")["ok"]


def test_the_audit_can_be_searched(cli: Cli) -> None:
    assert "nobody has done anything yet" in cli("audit", "list").out
    cli.json("token", "create", "a", "--role", "viewer")
    cli.json("host", "add", "here", "--local")
    (entry,) = cli.json("audit", "list", "--ref", "here")["details"]["entries"]
    assert (entry["actor"], entry["verb"]) == (account().name, "host.add")
    assert cli.json("audit", "list", "--actor", "nobody")["details"]["entries"] == []
    assert len(cli.json("audit", "list", "--limit", "1")["details"]["entries"]) == 1
    assert [json.loads(line)["kind"] for line in lines(cli, "audit", "list")] == ["audit.line"] * 2


def test_a_job_of_replan_is_told_from_a_person_and_may_change_nothing(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T50, T51: a command of a task approves another one's question, and makes a token."""
    monkeypatch.setenv("REPLAN_ATTEMPT", "/root/.replan/jobs/ab/7-1-0-1.1.1_c/1.1")
    for words in (
        ("intervention", "approve", "I4"),
        ("token", "create", "evil", "--role", "admin"),
        ("secret", "set", "X"),
        ("config", "show"),
        ("config", "explain", "lease"),
        ("intervention", "key"),
    ):
        refused = cli.json(*words, code=2)
        assert "only people may do that" in refused["reason"]
        assert refused["next_step_cmd"] == "replan intervention list"
    assert cli.json("task", "list")["ok"]
    monkeypatch.delenv("REPLAN_ATTEMPT")
    newest, *_ = cli.json("audit", "list", "--ref", "1.1")["details"]["entries"]
    assert newest["details"] == {"from": "job", "refused": True}
    assert cli.rows("SELECT 1 FROM tokens") == []
    cli.json("token", "create", "a", "--role", "viewer")
    (entry,) = cli.json("audit", "list", "--ref", "a")["details"]["entries"]
    assert entry["details"]["from"] in {"terminal", "process"}


@pytest.mark.usefixtures("served")
def test_the_doctor_finds_nothing_where_nothing_is_wrong(
    cli: Cli, broker_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPLAN_BROKER_URL", broker_url)
    findings = cli.json("doctor")["details"]["findings"]
    assert {f["check"]: f["ok"] for f in findings} == {
        "database": True,
        "broker": True,
        "models": True,
        "approval key": True,
        "processes": True,
        "clock": True,
        "disk": True,
        "work": True,
        "stuck": True,
        "audit": True,
        "hosts": True,
        "age": True,
        "history": True,
    }
    assert cli("doctor").code == 0


@pytest.mark.usefixtures("served")
def test_the_doctor_says_that_nobody_works(
    coordinated: Cli, broker_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And nothing of the kind before somebody could have."""
    monkeypatch.setenv("REPLAN_BROKER_URL", broker_url)
    plan = tmp_path / "plan.yaml"
    plan.write_text("steps:\n  - {title: s, subtasks: [{run: 'true'}]}\n")
    coordinated.json("task", "submit", "--plan", plan, "--local")
    jobs = "SELECT id FROM jobs WHERE queue = 'execution' AND state = 'open'"
    eventually(lambda: coordinated.rows(jobs), "the job")
    coordinated.rows("UPDATE jobs SET due_at = clock_timestamp() - interval '60 s' RETURNING id")
    findings = coordinated.json("doctor", code=1)["details"]["findings"]
    (wrong,) = [finding for finding in findings if not finding["ok"]]
    assert wrong["check"] == "work"
    assert wrong["reason"].startswith("1 job on queue execution not taken by any executor")
    assert wrong["next_step_cmd"] == "replan worker start executor"
    coordinated.rows(
        "UPDATE jobs SET lease_until = clock_timestamp() + interval '60 s' RETURNING id"
    )
    assert coordinated("doctor").code == 0


@pytest.mark.usefixtures("served")
def test_the_doctor_says_that_nobody_decides(
    cli: Cli, broker_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A report lies there although a minute has passed."""
    monkeypatch.setenv("REPLAN_BROKER_URL", broker_url)
    plan = tmp_path / "plan.yaml"
    plan.write_text("steps:\n  - {title: s, subtasks: [{run: 'true'}]}\n")
    cli.json("task", "submit", "--plan", plan, "--local")
    cli.rows("UPDATE inbox SET created_at = created_at - interval '60 s' RETURNING id")
    findings = cli.json("doctor", code=1)["details"]["findings"]
    (wrong,) = [finding for finding in findings if not finding["ok"]]
    assert wrong["check"] == "work"
    assert "1 report not read by any coordinator" in wrong["reason"]
    assert wrong["next_step_cmd"] == "replan coordinator start"


def test_the_doctor_says_that_the_database_may_only_be_read(
    cli: Cli, broker_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a failover to a copy."""
    monkeypatch.setenv("REPLAN_BROKER_URL", broker_url)
    with monkeypatch.context() as patched:
        patched.setenv("PGOPTIONS", "-c default_transaction_read_only=on")
        findings = cli.json("doctor", code=1)["details"]["findings"]
    wrong = {finding["check"]: finding for finding in findings if not finding["ok"]}
    assert "is read-only" in wrong["database"]["reason"]


@pytest.mark.usefixtures("served")
def test_the_doctor_names_the_task_whose_rows_are_not_what_its_events_lead_to(
    coordinated: Cli, broker_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("REPLAN_BROKER_URL", broker_url)
    plan = tmp_path / "plan.yaml"
    plan.write_text("steps:\n  - {title: s, subtasks: [{run: 'true'}]}\n")
    coordinated.json("task", "submit", "--plan", plan, "--local")
    eventually(lambda: coordinated.rows("SELECT step FROM run_steps"), "the run beginning")
    coordinated.rows("UPDATE jobs SET due_at = due_at + interval '1 hour' RETURNING id")
    changed = "UPDATE run_steps SET errors = {} RETURNING step"
    coordinated.rows(changed.format(7))
    findings = coordinated.json("doctor", code=1)["details"]["findings"]
    (wrong,) = [finding for finding in findings if not finding["ok"]]
    assert wrong["check"] == "history"
    assert wrong["reason"] == "T1.1@localhost: errors is 7, and its events lead to 0"
    assert wrong["next_step_cmd"] == "replan task report T1"
    coordinated.rows("UPDATE events SET rules = rules - 1 RETURNING id")
    assert coordinated("doctor").code == 0  # other rules: nothing can be said
    coordinated.rows("UPDATE events SET rules = rules + 1 RETURNING id")
    coordinated.rows(changed.format(0))


@pytest.mark.usefixtures("served")
def test_the_doctor_names_what_is_wrong_and_what_to_type(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPLAN_BROKER_URL", "redis://127.0.0.1:1/0")
    cli.json("host", "add", "here", "--local")
    cli.rows("UPDATE hosts SET distrusted = 'another key' RETURNING name")
    cli.rows("DELETE FROM audit RETURNING seq")
    answer = cli.json("doctor", code=1)
    wrong = {f["check"]: f for f in answer["details"]["findings"] if not f["ok"]}
    assert set(wrong) == {"broker", "audit", "hosts"}
    assert "entry 1 is missing" in wrong["audit"]["reason"]
    assert wrong["hosts"]["next_step_cmd"] == "replan host add here --replace-host-key"
    assert all(f["next_step_cmd"] for f in wrong.values())
    told = cli("doctor")
    assert told.code == 1
    assert "next: replan audit list --around 1" in told.out


def test_the_doctor_says_that_the_database_is_away(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPLAN_BROKER_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("REPLAN_DATABASE_URL", "postgresql://me@127.0.0.1:1/none")
    findings = cli.json("doctor", code=1)["details"]["findings"]
    assert [(f["check"], f["ok"]) for f in findings] == [
        ("database", False),
        ("broker", False),
        ("models", True),
        ("approval key", True),
    ]


def test_a_word_for_or_against_what_would_run_is_recorded(working: Cli, tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("steps:\n  - {title: s, subtasks: [{run: 'true', critical: true}]}\n")
    submit = ("task", "submit", "--plan", plan, "--local", "--wait")
    working.json(*submit, code=3)
    working.json("intervention", "approve", "I1")
    working.json(*submit, code=3)
    working.json("intervention", "deny", "I2", "--note", "no")
    ref = working.json(*submit, "--autonomy", "plan", code=3)["details"]["ref"]
    working.json("plan", "approve", ref)
    entries = working.json("audit", "list")["details"]["entries"]
    assert {e["verb"] for e in entries} >= APPROVALS
    assert {e["actor"] for e in entries} == {account().name}
    assert working.json("audit", "verify")["details"]["faults"] == []


def test_every_verb_that_changes_something_is_recorded(working: Cli, tmp_path: Path) -> None:
    """Each of them once, with who did it, to what; and the chain is whole afterwards."""
    plan = tmp_path / "plan.yaml"
    plan.write_text(WAITING.replace("MADE", str(tmp_path / "made")))
    fix = tmp_path / "fix.yaml"
    fix.write_text("subtasks:\n  - run: sleep 60\n")

    def waiting() -> str:
        answer = working.json("task", "submit", "--plan", plan, "--local", "--wait", code=3)
        return str(answer["details"]["ref"])

    ref = waiting()
    working.json("task", "resume", ref)
    working.json("task", "watch", ref, code=3)
    working.json("attempt", "run", f"{ref}.1")
    working.json("task", "watch", ref, code=3)
    working.json("step", "abandon", f"{ref}.1")
    ref = waiting()
    working.json("task", "limit", ref, "max_retry_count=5")
    working.json("plan", "resume", ref)
    working.json("task", "cancel", ref)
    ref = waiting()
    working.json("plan", "revise", f"{ref}@localhost", "--file", plan)
    working.json("task", "cancel", ref)
    ref = waiting()
    working.json("step", "revise", f"{ref}.1", "--file", fix)
    working.json("attempt", "cancel", running(working, ref), "--wait")
    asked = ("task", "submit", "greet", "--local", "--planner", "human", "--wait")
    ref = working.json(*asked, code=3)["details"]["ref"]
    working.json("plan", "provide", ref, "--file", plan)
    working.json("host", "add", "here", "--local")
    working.json("host", "check", "here")
    working.json("guard", "preview", "touch new", "--host", "here")
    working.json("host", "label", "here", "test")
    working.json("host", "remove", "here")
    working.json("token", "create", "ci", "--role", "viewer")
    working.json("token", "rotate", "ci")
    working.json("token", "revoke", "ci")
    working.json("secret", "give", "DB", ref)
    working.json("secret", "scope", "DB", "--host", "db*")

    entries = working.json("audit", "list")["details"]["entries"]
    changing = {verb for verb, its in VERBS.items() if its.changes}
    # What only a lost command asks for has its own test; approvals, fixes, repositories, bundles,
    # the store, budgets of agents (`test_unpaid.py`) and what asks a model have theirs
    # (`test_a_bundle_waits_until_a_person_has_sent_it`).
    elsewhere = {"intervention.answer", "bundle.send", "plan.replay", "step.raise"}
    elsewhere |= APPROVALS | FIXES | REPOSITORIES | STORE | REPAIRS | SESSIONS
    assert {e["verb"] for e in entries} == changing - elsewhere
    assert {e["actor"] for e in entries} == {account().name}
    assert all(e["ref"] for e in entries)
    assert working.json("audit", "verify")["details"]["faults"] == []


def running(cli: Cli, ref: str) -> str:
    """The attempt of a task that runs, as soon as there is one."""

    def found() -> list[str]:
        attempts = cli.json("attempt", "list", ref)["details"]["attempts"]
        return [each["ref"] for each in attempts if each["outcome"] == "running"]

    return str(eventually(found, "a running attempt")[0])


def lines(cli: Cli, *words: str) -> list[str]:
    """What it prints as one object a line."""
    said = cli(*words, "--format", "jsonl")
    assert said.code == 0
    return said.out.splitlines()
