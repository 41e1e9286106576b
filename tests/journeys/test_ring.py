"""The ring in processes of their own: planned, carried out, broken, and carried on."""

from pathlib import Path

import pytest

from orchestrator.embedded.services import EmbeddedServices
from shared.domain.config import Policy
from shared.domain.plan import Recovery
from tests.journeys.plans import RUNBOOK, appending, plan, step
from tests.services.ring import Ring, eventually

COUNT = 20


def numbers(ledger: Path) -> list[int]:
    """What the commands appended."""
    return [int(line) for line in ledger.read_text().split()] if ledger.exists() else []


def complete(ledger: Path) -> bool:
    """Whether every command ran, at least once and in order."""
    return list(dict.fromkeys(numbers(ledger))) == list(range(1, COUNT + 1))


def test_a_plan_is_carried_out_step_by_step(whole_ring: Ring, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    task = whole_ring.submit(
        plan(
            step([f"echo 1 >> {ledger}", "printf out; printf err >&2"]),
            step([f"echo 2 >> {ledger}"], ordinal=2, depends_on=(1,)),
        ),
        "localhost",
    )
    whole_ring.ends(task)
    assert numbers(ledger) == [1, 2]
    (row,) = whole_ring.rows(
        "SELECT stdout, stderr, exit_code, outcome FROM attempts WHERE subtask = 2"
    )
    assert (row.stdout, row.stderr, row.exit_code, row.outcome) == ("out", "err", 0, "ok")


def test_an_executor_killed_midway_is_replaced(whole_ring: Ring, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    task = whole_ring.submit(plan(step(appending(str(ledger), COUNT))), "localhost")
    eventually(lambda: len(numbers(ledger)) >= 5, "five commands")
    whole_ring.kill("executor")
    whole_ring.worker("executor", name="another")
    whole_ring.ends(task)
    assert complete(ledger)


def test_a_coordinator_killed_midway_is_replaced(whole_ring: Ring, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    commands = appending(str(ledger), COUNT)
    task = whole_ring.submit(
        plan(step(commands[:10]), step(commands[10:], ordinal=2, depends_on=(1,))), "localhost"
    )
    eventually(lambda: len(numbers(ledger)) >= 5, "five commands")
    whole_ring.kill("coordinator")
    eventually(lambda: len(numbers(ledger)) >= 10, "the first step")
    whole_ring.coordinator("another")
    whole_ring.ends(task)
    assert complete(ledger)


def test_a_broker_killed_and_restarted_empty_loses_nothing(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    commands = appending(str(ledger), COUNT)
    with EmbeddedServices(tmp_path / "data", durable=False) as services:
        from shared.store.migrate import upgrade

        upgrade(services.database_url)
        ring = Ring(services.database_url, services.broker_url, tmp_path)
        try:
            ring.coordinator()
            ring.worker("executor")
            task = ring.submit(
                plan(step(commands[:10]), step(commands[10:], ordinal=2, depends_on=(1,))),
                "localhost",
            )
            eventually(lambda: len(numbers(ledger)) >= 5, "five commands")
            services.supervisor.restart("valkey")
            ring.ends(task)
        finally:
            ring.stop()
    assert numbers(ledger) == list(range(1, COUNT + 1))


def test_two_coordinators_and_two_executors_share_the_work(ring: Ring) -> None:
    ring.coordinator("one")
    ring.coordinator("two")
    ring.worker("executor", name="first")
    ring.worker("executor", name="second")
    tasks = [ring.submit(plan(step(["sleep 0.2"] * 3)), "localhost") for _ in range(16)]
    for task in tasks:
        ring.ends(task)
    workers = ring.rows("SELECT DISTINCT worker FROM attempts")
    assert len(workers) == 2
    assert ring.scalar("SELECT count(*) FROM attempts") == 48


@pytest.mark.parametrize(
    ("forbidden", "command", "named"),
    [
        (("touch",), "sudo -n /usr/bin/touch {folder}/touched", "touch"),
        ((), "mkfs.ext4 {folder}/no-such-device; touch {folder}/touched", "mkfs"),
    ],
    ids=["by the operator", "by the rules that ship"],
)
def test_a_forbidden_command_stops_the_step_at_once(
    whole_ring: Ring, tmp_path: Path, forbidden: tuple[str, ...], command: str, named: str
) -> None:
    """S0.61, S0.86: refused before it runs, recorded, and the operator is told."""
    task = whole_ring.submit(
        plan(step(["true", command.format(folder=tmp_path), "true"])),
        "localhost",
        policy=Policy(forbidden_commands=forbidden),
    )
    whole_ring.ends(task, "waiting")
    assert not (tmp_path / "touched").exists()
    outcomes = whole_ring.rows("SELECT subtask, outcome FROM attempts ORDER BY id")
    assert [(row.subtask, row.outcome) for row in outcomes] == [(1, "ok"), (2, "denied")]
    (told,) = whole_ring.rows("SELECT kind, reason FROM interventions WHERE closed_at IS NULL")
    assert told.kind == "blocked"
    assert named in told.reason
    assert whole_ring.scalar("SELECT phase FROM run_steps") == "blocked"


def test_the_threshold_brings_the_evidence_back_to_the_author(whole_ring: Ring) -> None:
    """X4, S0.46-S0.47: four errors, a bundle, and - held back - a human who may look at it."""
    policy = Policy(send_to_planner_after_threshold=False, max_retries_per_command=0)
    failing = step(
        ["exit 3", "exit 4", "exit 5", "exit 6", "exit 7"],
        author=RUNBOOK,
        recovery=Recovery.REPLAN,
    )
    free = tuple(type(s)(s.ordinal, s.key, s.title, s.command, needs=()) for s in failing.subtasks)
    task = whole_ring.submit(
        plan(type(failing)(1, "s", "s", "", RUNBOOK, subtasks=free)), "localhost", policy=policy
    )
    whole_ring.ends(task, "waiting")
    assert whole_ring.scalar("SELECT count(*) FROM attempts WHERE counted") == 4
    (bundle,) = whole_ring.rows("SELECT body FROM bundles")
    assert [entry["exit_code"] for entry in bundle.body["attempts"]] == [3, 4, 5, 6]
    assert bundle.body["snapshot"]
    assert whole_ring.scalar("SELECT kind FROM interventions") == "held_bundle"


def test_cancelling_ends_the_command_that_runs(whole_ring: Ring, tmp_path: Path) -> None:
    running = tmp_path / "running"
    task = whole_ring.submit(
        plan(step([f"echo $$ > {running}; sleep 60; echo late >> {running}"])), "localhost"
    )
    eventually(lambda: running.exists() and running.read_text().strip(), "the command")
    whole_ring.replan("task", "cancel", f"T{task}")
    whole_ring.ends(task, "cancelled")
    pid = int(running.read_text().split()[0])
    eventually(lambda: not Path(f"/proc/{pid}").exists(), "the end of the command", 15)


def test_a_host_that_cannot_be_reached_waits_for_the_operator(whole_ring: Ring) -> None:
    policy = Policy(max_transient_failures=0)
    whole_ring.rows(
        "INSERT INTO hosts (name, connection, address, port, host_key, key_path, created_at)"
        " VALUES ('gone', 'ssh', '127.0.0.1', 1, 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ"
        "XkB5T0hZC2kQm3sXo7v0pC8Xh7e1f2g3h4i5j6k7l8', '/nonexistent', now()) RETURNING name"
    )
    task = whole_ring.submit(plan(step(["true"])), "gone", policy=policy)
    whole_ring.ends(task, "waiting")
    (told,) = whole_ring.rows("SELECT * FROM interventions")
    assert told.kind == "operator"
    assert told.next_step
