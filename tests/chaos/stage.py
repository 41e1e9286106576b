"""Everything the campaign plays on: real servers, real hosts, and the product's processes."""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from sqlalchemy import make_url

from orchestrator.embedded.services import EmbeddedServices
from shared.store.migrate import upgrade
from tests.chaos.clocks import Clock, make_clock
from tests.chaos.crew import Crew, Kind
from tests.chaos.ledger import Ledger
from tests.chaos.orders import Book
from tests.chaos.resumption import Resumptions
from tests.chaos.rows import Rows
from tests.chaos.stage_host import StageHost
from tests.chaos.standstill import StandStills
from tests.services.accounts import Account
from tests.services.disks import SmallDisk, small_disk
from tests.services.proxy import Proxy
from tests.services.sshd import SshServers, servers

CREW: Final[dict[str, Kind]] = {
    "executor-1": "executor",
    "executor-2": "executor",
    "coordinator-1": "coordinator",
    "coordinator-2": "coordinator",
    "planner-1": "planner",
}

PACE: Final = {
    "REPLAN_LEASE": "3",
    "REPLAN_HEARTBEAT": "0.5",
    "REPLAN_RING_AGAIN": "1",
    "REPLAN_THREADS": "4",
    "REPLAN_MAX_CLAIMS": "1000",
    "REPLAN_CONFIG": "",
}
"""Short leases, so that work is taken over soon. That many workers die of no job but of us."""


@dataclass
class Stage:
    """The parts; `book` holds what was submitted.

    `resumptions` says how soon work was taken over, `stand_stills` how long nothing began. The
    product reaches the database and the broker over the links; the harness goes past them.
    `afflicted` names the parts that a lasting fault is at work on. The disks are those of the
    database and of what the hosts record, where they are small ones of their own; the clocks are
    set by a library, where it could be made.
    """

    services: EmbeddedServices
    database_link: Proxy
    broker_link: Proxy
    hosts: tuple[StageHost, ...]
    crew: Crew
    rows: Rows
    ledger: Ledger
    book: Book = field(default_factory=Book)
    began: float = field(default_factory=time.monotonic)
    afflicted: set[str] = field(default_factory=set)
    database_disk: SmallDisk | None = None
    hosts_disk: SmallDisk | None = None
    crew_clock: Clock | None = None
    hosts_clock: Clock | None = None

    def __post_init__(self) -> None:
        self.resumptions = Resumptions(self.rows)
        self.stand_stills = StandStills(self.rows, self.ledger.count_begun)

    @property
    def broker_url(self) -> str:
        """Where the broker is, past its link."""
        return self.services.broker_url

    def pid_of(self, service: str) -> int | None:
        """The process of a server that is ready, None while it is not."""
        for child in self.services.supervisor.status():
            if child.name == service and child.condition == "ready":
                return child.pid
        return None

    def kill(self, name: str) -> None:
        """Kill a process of the product, and watch for whoever takes its work over."""
        self.resumptions.expect(self.crew.members[name].pid)
        self.crew.kill(name)


@dataclass(frozen=True, slots=True)
class Props:
    """What a programme needs besides: small disks, clocks that can be set, settings.

    `account` is the user of the hosts. What this machine does not let us make is left out.
    """

    account: Account
    disks: bool
    clocks: bool
    settings: Mapping[str, str] = field(default_factory=dict)


@contextlib.contextmanager
def staged(
    folder: Path,
    another: SshServers,
    library: str,
    ledger: Ledger,
    props: Props | None = None,
) -> Iterator[Stage]:
    """A stage on which everything runs; nothing of it is left afterwards, whatever happens."""
    with contextlib.ExitStack() as stack:
        disks = _disks(stack, folder, props)
        crew_clock, hosts_clock = _clocks(props)
        if props and hosts_clock:
            environment = props.account.environment | hosts_clock.environ
            account = replace(props.account, environment=environment)
            another = stack.enter_context(servers(account))
        services = stack.enter_context(EmbeddedServices(folder / "data", durable=False))
        upgrade(services.database_url)
        address = make_url(services.database_url)
        assert address.port is not None
        link = stack.enter_context(Proxy(address.port))
        broker = urlsplit(services.broker_url)
        assert broker.port is not None
        broker_link = stack.enter_context(Proxy(broker.port))
        ledger.prepare()
        (folder / "policy.yaml").write_text("unlisted: allow  # this is not about the guard\n")
        (folder / "runbooks").mkdir()
        (folder / "runbooks" / "rehearsal.yaml").write_text(library)
        rows = Rows(services.database_url)
        stack.callback(rows.close)
        hosts = tuple(_host(stack, name, another, rows) for name in ("web1", "web2"))
        environ = PACE | {
            "REPLAN_DATABASE_URL": address.set(port=link.port).render_as_string(False),
            "REPLAN_BROKER_URL": services.broker_url.replace(
                f":{broker.port}/", f":{broker_link.port}/"
            ),
            "REPLAN_RUNBOOK_DIRS": str(folder / "runbooks"),
            "REPLAN_GUARD_POLICY": str(folder / "policy.yaml"),
        }
        environ |= crew_clock.environ if crew_clock else {}
        environ |= props.settings if props else {}
        crew = stack.enter_context(Crew(folder, environ))
        for name, kind in CREW.items():
            crew.start(name, kind)
        stage = Stage(services, link, broker_link, hosts, crew, rows, ledger)
        stage.database_disk, stage.hosts_disk = disks
        stage.crew_clock, stage.hosts_clock = crew_clock, hosts_clock
        yield stage


def _disks(
    stack: contextlib.ExitStack, folder: Path, props: Props | None
) -> tuple[SmallDisk | None, SmallDisk | None]:
    if props is None or not props.disks:
        return None, None
    database = small_disk(folder / "data" / "postgres", os.geteuid())
    hosts = small_disk(props.account.home / ".replan", props.account.uid)
    return stack.enter_context(database), stack.enter_context(hosts)


def _clocks(props: Props | None) -> tuple[Clock | None, Clock | None]:
    if props is None or not props.clocks:
        return None, None
    return make_clock(props.account.home, "crew"), make_clock(props.account.home, "hosts")


def _host(stack: contextlib.ExitStack, name: str, another: SshServers, rows: Rows) -> StageHost:
    server = another()
    host = StageHost(name, server, stack.enter_context(Proxy(server.port)))
    rows.enrol(host)
    return host
