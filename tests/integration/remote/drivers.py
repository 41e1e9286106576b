"""Drivers of one pass on a machine, and what its commands leave behind."""

import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from shared.domain.errors import Transient
from shared.domain.host import LOCALHOST
from tests.integration.remote.shells import Machine, MachinePool
from workers.shells.ports import Call, KnownClaims, PassRecord
from workers.shells.remote.shell import RunnerShell

PASS = "token/1-0-1"
LEASE = 600.0


@dataclass
class Driver:
    """A worker that drives the pass under a fence."""

    on: Machine
    fence: int
    valid: float = LEASE
    name: str = PASS
    since: float = 1.0
    claim: str = ""
    claims: KnownClaims = field(default_factory=KnownClaims)
    gone: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.pool = MachinePool(self.on)
        record = PassRecord(
            self.name,
            self.fence,
            self.fence > 1,
            self.since,
            lambda: self.valid,
            self.gone.is_set,
            self.claim,
            lambda: self.claims,
        )
        self.shell = RunnerShell(LOCALHOST, self.pool, record)

    def die(self) -> None:
        """As a process does that is killed: its connections close, and nothing else happens."""
        self.gone.set()
        self.pool.cut()


@dataclass
class Drivers:
    """The drivers of one pass."""

    on: Machine
    all: list[Driver] = field(default_factory=list)

    def next(self, *, since: float = 1.0) -> Driver:
        """The next one, with a greater fence; the pass was asked for that many seconds ago."""
        self.all.append(Driver(self.on, len(self.all) + 1, since=since))
        return self.all[-1]


def lines(ledger: Path) -> list[str]:
    """What has been written."""
    return ledger.read_text().split() if ledger.exists() else []


def in_background(driver: Driver, command: str, key: str) -> threading.Thread:
    """Have the driver run a command; what becomes of the driver is of no interest."""

    def run() -> None:
        with suppress(Transient):
            driver.shell.run(Call(command, 60, key=key))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread
