"""Kills at random moments: whatever is ended, every task still reaches its end.

The oracle is outside the system: every command appends its number to a file of its task. The seed
is printed; REPLAN_CHAOS_SEED repeats a run, REPLAN_CHAOS_SECONDS makes it longer.
"""

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from orchestrator.embedded.services import EmbeddedServices
from shared.domain.plan import Plan
from shared.store.migrate import upgrade
from tests.journeys.plans import appending, plan, step
from tests.services.ring import Ring, eventually

TASKS = 12
COMMANDS = 10
SECONDS = float(os.environ.get("REPLAN_CHAOS_SECONDS", "30"))
SEED = int(os.environ.get("REPLAN_CHAOS_SEED", random.SystemRandom().randrange(10**6)))


@pytest.fixture
def services(tmp_path: Path) -> Iterator[EmbeddedServices]:
    with EmbeddedServices(tmp_path / "data", durable=False) as started:
        upgrade(started.database_url)
        yield started


@pytest.fixture
def torn(services: EmbeddedServices, tmp_path: Path) -> Iterator[Ring]:
    ring = Ring(services.database_url, services.broker_url, tmp_path)
    ring.coordinator("coordinator-1")
    ring.coordinator("coordinator-2")
    ring.worker("executor", name="executor-1")
    ring.worker("executor", name="executor-2")
    yield ring
    ring.stop()


@pytest.mark.timeout(600)
def test_every_task_ends_whatever_is_killed(
    torn: Ring, services: EmbeddedServices, tmp_path: Path
) -> None:
    chance = random.Random(SEED)  # noqa: S311 - chance, no secret
    print(f"seed {SEED}: REPLAN_CHAOS_SEED={SEED} repeats this run")
    ledgers = [tmp_path / f"ledger-{number}" for number in range(TASKS)]
    tasks = [torn.submit(two_steps(ledger, chance), "localhost") for ledger in ledgers]
    faults = break_things(torn, services, chance)
    print("faults:", dict(faults))
    for task in tasks:
        torn.ends(task, patience=180)
    ran = [Counter(ledger.read_text().split()) for ledger in ledgers]
    missing = [n for counts in ran for n in range(1, COMMANDS + 1) if not counts[str(n)]]
    assert missing == []
    print("commands that ran twice:", sum(sum(c.values()) - len(c) for c in ran))


def two_steps(ledger: Path, chance: random.Random) -> Plan:
    """Commands that take their time, in two steps."""
    commands = appending(str(ledger), COMMANDS, pause=round(chance.uniform(0.05, 0.5), 2))
    half = COMMANDS // 2
    return plan(step(commands[:half]), step(commands[half:], ordinal=2, depends_on=(1,)))


def break_things(ring: Ring, services: EmbeddedServices, chance: random.Random) -> Counter[str]:
    """One fault after another until the time is up; what is killed is started again."""
    faults: Counter[str] = Counter()
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        fault = chance.choice(["executor", "executor", "coordinator", "broker", "connections"])
        faults[fault] += 1
        match fault:
            case "broker":
                services.supervisor.restart("valkey")
            case "connections":
                with suppress(Exception):  # our own connection is among them
                    ring.rows(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                    )
            case _:
                name = f"{fault}-{chance.choice((1, 2))}"
                ring.kill(name)
                if fault == "executor":
                    ring.worker("executor", name=name)
                else:
                    ring.coordinator(name)
        pause = time.monotonic() + chance.uniform(0.5, 2.0)
        eventually(partial(_past, pause), "the next fault")
    return faults


def _past(moment: float) -> bool:
    return time.monotonic() >= moment
