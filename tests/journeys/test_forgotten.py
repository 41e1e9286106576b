"""A failover of Postgres that loses 8 s of commits: no command runs twice, and a person is asked.

The hosts and the executors survive it; what the hosts have recorded, the database has forgotten.
"""

import os
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.stage import enrol
from shared.domain.errors import ReplanError
from shared.domain.plan import Plan
from tests.journeys.plans import plan, step
from tests.services.failover import FailingOver
from tests.services.ring import Ring, eventually
from tests.services.sshd import SshServer

LOST = 8.0
"""Seconds of commits that are lost."""

STEPS, COMMANDS, PAUSE = 5, 10, 0.25

_STEM = re.compile(
    r"(?P<run>\w+)-(?P<step>\d+)-(?P<revision>\d+)-(?P<pass>\d+)\.\d+\.\d+_(?P<claim>\w+)"
)
_STARTED = re.compile(rb"^@@[0-9a-f]+ s R", re.MULTILINE)

Pass = tuple[str, int, int, int]
"""The token of the run, the step, the revision and the number of the pass."""


@pytest.fixture
def ring(failover: FailingOver, broker_url: str, tmp_path: Path) -> Iterator[Ring]:
    """A ring on the database that will forget."""
    made = Ring(failover.url, broker_url, tmp_path)
    yield made
    made.stop()


@pytest.fixture
def ledger(sshd: SshServer, tmp_path: Path) -> Path:
    """A file on the host that the commands can append to."""
    return sshd.home / f"ledger-{os.getpid()}-{tmp_path.name}"


def appending(ledger: Path, name: str) -> Plan:
    """Steps, one after another, whose commands each append a line of their own."""
    steps = [
        step(
            [
                f"sleep {PAUSE}; echo {name}.{number}.{each} >>'{ledger}'"
                for each in range(1, COMMANDS + 1)
            ],
            ordinal=number,
            depends_on=(number - 1,) if number > 1 else (),
        )
        for number in range(1, STEPS + 1)
    ]
    return plan(*steps)


def expected(*names: str) -> Counter[str]:
    """Every line of those tasks, once."""
    numbers = [(s, c) for s in range(1, STEPS + 1) for c in range(1, COMMANDS + 1)]
    return Counter(f"{name}.{s}.{c}" for name in names for s, c in numbers)


def lines(ledger: Path) -> Counter[str]:
    """How often each line stands in the ledger."""
    return Counter(ledger.read_text().split()) if ledger.exists() else Counter()


def passes_on(host: SshServer) -> set[tuple[Pass, str]]:
    """The passes under which the host has started commands, each with the claim."""
    found = set()
    for log in (host.home / ".replan" / "jobs").glob("*/*.log"):
        stem = _STEM.fullmatch(log.stem)
        if stem and _STARTED.search(log.read_bytes()):
            place = (stem["run"], int(stem["step"]), int(stem["revision"]), int(stem["pass"]))
            found.add((place, stem["claim"]))
    return found


def known_claims(ring: Ring) -> set[str]:
    """The claims that the database knows."""
    return {row.token for row in ring.rows("SELECT unnest(tokens) AS token FROM jobs")}


def answers(ring: Ring) -> bool:
    """Whether the database takes writes again."""
    with suppress(ReplanError):
        return ring.scalar("SELECT pg_is_in_recovery()") is False
    return False


def asked_about(ring: Ring) -> set[Pass]:
    """The passes that interventions name."""
    query = """
        SELECT runs.token, asked.step, record ->> 'revision' AS revision,
               record ->> 'pass_no' AS pass_no
        FROM interventions asked JOIN runs ON runs.id = asked.run_id,
             jsonb_array_elements(asked.records) AS record
        WHERE asked.kind = 'forgotten'
    """
    return {(r.token, r.step, int(r.revision), int(r.pass_no)) for r in ring.rows(query)}


def forgotten_on(host: SshServer, ring: Ring) -> set[Pass]:
    """The passes on the host, of runs that the database knows, whose claims it does not know."""
    there = passes_on(host)
    known = known_claims(ring)  # read later: a claim is known before its pass is on the host
    runs = {row.token for row in ring.rows("SELECT token FROM runs")}
    return {place for place, claim in there if claim not in known and place[0] in runs}


def answer_until_done(ring: Ring, tasks: list[int], answer: str, host: SshServer) -> set[Pass]:
    """Answer every intervention that comes up until the tasks are done.

    Returns what the host had of forgotten passes before each answer: a command that was about to
    start when the database failed over may be there a moment later.
    """
    forgotten: set[Pass] = set()

    def done() -> bool:
        opened = ring.rows("SELECT id, kind FROM interventions WHERE closed_at IS NULL")
        forgotten.update(forgotten_on(host, ring))
        for row in opened:
            assert row.kind == "forgotten", [ring.story(task) for task in tasks]
            ring.replan("intervention", "answer", f"I{row.id}", answer)
        return all(ring.phase(task) == "done" for task in tasks)

    eventually(done, "the end of every task", 120.0)
    return forgotten


def lose_commits(failover: FailingOver, ring: Ring, ledger: Path) -> list[int]:
    """Tasks that the database still knows after it, and one that came later."""
    ring.coordinator()
    for number in (1, 2):
        ring.worker("executor", name=f"executor-{number}")
    tasks = [ring.submit(appending(ledger, name), "web1") for name in ("a", "b", "c")]
    eventually(lambda: len(lines(ledger)) > 10, "some commands")
    failover.copy()
    begun = time.monotonic()
    ring.submit(appending(ledger, "vanished"), "web1")
    eventually(lambda: time.monotonic() - begun > LOST, "the commits to be lost")
    failover.fail_over()
    eventually(lambda: answers(ring), "the new server")
    return [*tasks, ring.submit(appending(ledger, "new"), "web1")]


def test_nothing_runs_twice_and_every_forgotten_pass_is_asked_about(
    failover: FailingOver, ring: Ring, sshd: SshServer, ledger: Path
) -> None:
    enrol(ring.database, "web1", sshd)
    tasks = lose_commits(failover, ring, ledger)
    forgotten = answer_until_done(ring, tasks, "--adopt", sshd)

    found = lines(ledger)
    assert {name: count for name, count in found.items() if count > 1} == {}
    assert expected("a", "b", "c", "new") <= found
    assert forgotten == asked_about(ring) != set()
