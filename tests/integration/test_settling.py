"""When a host hears that all results of a pass are recorded, and may go from there."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic

import pytest

from orchestrator.coordinator import Coordinator
from shared.domain.config import Policy
from shared.domain.errors import Transient
from shared.domain.jobs import Job, JobKind
from shared.secrets.vaults.environment import EnvironmentVault
from shared.secrets.vaults.vault import Vaults
from shared.store.database import Database
from tests.contract.store_under_test import SqlUnderTest
from tests.fakes.scripted_shell import ScriptedShell
from tests.journeys.plans import plan, step
from workers.process.journal import Journal
from workers.process.leases import Hold
from workers.roles.executor import Executor
from workers.roles.guards import Guards
from workers.roles.signatures import Signatures
from workers.secrets import Secrecy


@dataclass
class OneShell:
    """Connections to a host that has one shell."""

    scripted: ScriptedShell = field(default_factory=ScriptedShell)

    def shell(self, *_: object) -> ScriptedShell:
        """That shell."""
        return self.scripted

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def job(database: Database) -> Job:
    """A pass in hand."""
    store = SqlUnderTest(database)
    store.submit(("localhost",), Policy(), plan(step(["echo it"])))
    Coordinator(store.ledger).drain()
    claimed = store.claim(store.waiting()[0])
    assert claimed is not None
    return claimed


@pytest.fixture
def connections() -> OneShell:
    return OneShell()


@pytest.fixture
def executor(database: Database, connections: OneShell, tmp_path: Path) -> Iterator[Executor]:
    journal = Journal(database, "worker")
    secrecy = Secrecy(Vaults([EnvironmentVault({})]))
    signatures = Signatures((), tmp_path)
    yield Executor(database, journal, connections, Guards(), secrecy, signatures=signatures)
    journal.close()


def test_the_host_hears_of_it_once_the_end_of_the_pass_is_recorded(
    executor: Executor, connections: OneShell, job: Job
) -> None:
    """Not before: whoever takes the pass over still needs its output."""
    hold = Hold(job, monotonic() + 60)
    executor.perform(hold)
    assert not connections.scripted.settled
    for follow_up in hold.afterwards:
        follow_up()
    assert connections.scripted.settled


def test_a_pass_that_goes_on_later_is_not_settled(
    executor: Executor, connections: OneShell, job: Job
) -> None:
    """The next worker reads there what this one has not."""
    connections.scripted = ScriptedShell({"echo it": Transient("cut", stage="execute")})
    hold = Hold(job, monotonic() + 60)
    with pytest.raises(Transient):
        executor.perform(hold)
    assert hold.afterwards == []


def test_whoever_only_ends_a_command_settles_nothing(
    executor: Executor, connections: OneShell, job: Job
) -> None:
    hold = Hold(replace(job, kind=JobKind.CLEAN_UP), monotonic() + 60)
    executor._carry_out(hold, since=0.0)
    assert hold.afterwards == []
    assert connections.scripted.closed
