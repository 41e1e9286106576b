"""The only place that chooses the parts of a worker and puts them together."""

import os
import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from uuid import uuid4

from celery import Celery
from celery.signals import heartbeat_sent

from shared.domain.errors import Rejected, ReplanError
from shared.domain.exits import ExitCode
from shared.domain.jobs import ASKING, ROLES, QueueName
from shared.domain.next_step import NextStep
from shared.domain.process_name import ALL, ProcessName
from shared.health import Pulse
from shared.queue.app import knock, make_app
from shared.secrets.installation import own_secrets
from shared.secrets.vaults.opening import open_vaults
from shared.settings import ServerSettings, Settings
from shared.store.database import Database
from workers.job_wiring import performers
from workers.process.capacity import AllPlaces, Capacity
from workers.process.consumer import BrokerState
from workers.process.handover import Handover
from workers.process.job_events import JobEvents
from workers.process.job_threads import Crew
from workers.process.journal import Journal
from workers.process.leases import LeaseKeeper
from workers.process.lifecycle import Lifecycle
from workers.process.liveness import Liveness
from workers.process.polling import Poller
from workers.process.revoke import Revoker
from workers.process.tasks import open_doors, open_panel
from workers.secrets import Secrecy
from workers.shells.remote.connections import HostConnections

PRESENT_WITHIN = 5.0
"""Seconds within which a worker shows its presence before it takes its first job, if it can."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker process that is ready to consume its queues.

    Call `start` before it consumes them and `close` after it has stopped.
    """

    app: Celery
    queues: tuple[QueueName, ...]
    name: str
    threads: int
    lifecycle: Lifecycle
    database: Database
    journal: Journal
    keeper: LeaseKeeper
    connections: HostConnections
    crews: tuple[Crew, ...]
    pollers: tuple[Poller, ...]
    revoker: Revoker
    broker: BrokerState
    liveness: Liveness
    handover: Handover
    secrecy: Secrecy
    events: JobEvents
    asked_to_stop: threading.Event

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of this process if it ended now."""
        return _exit_code(self.asked_to_stop)

    def stop(self) -> None:
        """Begin to stop because somebody asked for it; safe in a signal handler."""
        self.asked_to_stop.set()
        self.handover.begin()

    def start(self) -> None:
        """Start everything that runs beside the queues."""
        self.keeper.await_presence(PRESENT_WITHIN)
        self.handover.start()
        self.revoker.start()
        for poller in self.pollers:
            poller.start()
        self.liveness.start()

    def close(self) -> None:
        """Hand over the jobs in hand, write what is pending and release all resources."""
        self.liveness.close()
        self.handover.close()
        for poller in self.pollers:
            poller.close()
        for crew in self.crews:
            crew.close()
        self.revoker.close()
        self.journal.close()
        self.keeper.close()
        self.connections.close()
        self.database.close()


def queues_of(roles: Sequence[str]) -> tuple[QueueName, ...]:
    """The queues of the named roles ("all" for every role); raises Rejected for an unknown role."""
    if "all" in roles:
        return tuple(ROLES.values())
    unknown = [role for role in roles if role not in ROLES]
    if unknown or not roles:
        raise Rejected(
            f"{', '.join(unknown) or 'nothing'} is not a worker role; "
            f"the roles are all, {', '.join(ROLES)}",
            stage="input",
            next_step=NextStep.of("worker start", "all"),
        )
    return tuple(ROLES[role] for role in roles)


def make_worker(settings: Settings, roles: Sequence[str], *, threads: int | None = None) -> Worker:
    """Build a worker that runs at most `threads` jobs at once, of those that ask models and others.

    It asks the database nothing: whoever builds it has waited for the servers (`await_servers`).
    """
    queues = queues_of(roles)
    server = settings.server
    groups = _groups(queues, server, threads)
    most = sum(group.threads for group in groups)
    # a job that waits for a model holds no connection
    called = ProcessName(version("replan"), _roles(queues), os.getpid(), socket.gethostname())
    database = Database.of(
        server,
        pool_size=max(5, min(most, threads or server.threads)),
        application=called.session,
    )
    owner = f"{called.owner}/{uuid4().hex[:8]}"
    journal = Journal(database, owner)
    pulse = Pulse.from_environ(os.environ, "leases", "queues")
    keeper = LeaseKeeper(
        database,
        lease=server.lease,
        heartbeat=server.heartbeat,
        beat=pulse.beats("leases"),
        name=called,
    )
    secrecy = Secrecy(open_vaults(server, os.environ), own_secrets(server))
    connections = HostConnections(secrecy.reveal, records_cap=server.records_cap_bytes)
    events = JobEvents()
    lifecycle = Lifecycle(
        database,
        journal,
        keeper,
        owner=owner,
        lease=server.lease,
        queues=queues,
        performers=performers(settings, database, journal, connections, secrecy),
        mask=secrecy.text,
        events=events,
    )
    capacities = [Capacity(group.threads) for group in groups]
    broker = BrokerState(server.broker_url)
    revoker = Revoker(database)
    app = make_app(server.broker_url)
    crews = tuple(
        Crew(capacity, lifecycle, group.threads, waits=group.waits)
        for group, capacity in zip(groups, capacities, strict=True)
    )
    open_doors(
        app,
        {queue: crew for group, crew in zip(groups, crews, strict=True) for queue in group.queues},
    )
    open_panel(revoker.revoke)
    pollers = tuple(
        Poller(
            database,
            [queue.value for queue in group.queues],
            capacity,
            crew.hand_on,
            every=server.poll,
            sign=lambda: liveness.sign("poll"),
            deaf=lambda: bool(broker.reason),
            claims_fail=lambda: lifecycle.claims_fail,
        )
        for group, capacity, crew in zip(groups, capacities, crews, strict=True)
    )
    liveness = Liveness(
        {
            "queues": lambda: _why_deaf(broker, server.broker_url),
            "poll": lambda: "; ".join(poller.reason for poller in pollers),
        },
        limit=server.liveness,
        in_hand=keeper.keeps,
    )

    def on_heartbeat(**_: object) -> None:
        if broker.reason:  # it is sent at each try to connect, too
            return
        pulse.beat("queues")
        liveness.sign("queues")

    # While the broker answers, the loop that receives messages sends this every two seconds.
    heartbeat_sent.connect(on_heartbeat, weak=False)
    asked_to_stop = threading.Event()
    handover = Handover(
        AllPlaces(capacities),
        keeper,
        journal,
        grace=server.shutdown_grace,
        leave=lambda: _leave(journal, _exit_code(asked_to_stop)),
    )
    return Worker(
        app,
        queues,
        called.owner,
        most,
        lifecycle,
        database,
        journal,
        keeper,
        connections,
        crews,
        pollers,
        revoker,
        broker,
        liveness,
        handover,
        secrecy,
        events,
        asked_to_stop,
    )


@dataclass(frozen=True, slots=True)
class _Group:
    """Queues whose jobs share `threads` places, and wait for those of no other queue.

    `waits` says whether a message waits for a place. Its thread is then not free for the messages
    of other queues, so nothing waits behind calls to models.
    """

    queues: tuple[QueueName, ...]
    threads: int
    waits: bool


def _groups(
    queues: Sequence[QueueName], server: ServerSettings, threads: int | None
) -> tuple[_Group, ...]:
    asking = tuple(queue for queue in queues if queue in ASKING)
    others = tuple(queue for queue in queues if queue not in ASKING)
    groups = (
        _Group(asking, threads or server.planner_threads, waits=not others),
        _Group(others, threads or server.threads, waits=True),
    )
    return tuple(group for group in groups if group.queues)


def _why_deaf(broker: BrokerState, broker_url: str) -> str:
    """Why no message arrives, as far as this process can tell."""
    if broker.reason:
        return broker.reason
    try:
        knock(broker_url)
    except ReplanError as error:
        return error.reason
    return "the broker answers, but the loop that receives messages is stuck"


def _leave(journal: Journal, code: ExitCode) -> None:
    """End the process although some of its work cannot be interrupted."""
    journal.close()
    os._exit(code)


def _exit_code(asked_to_stop: threading.Event) -> ExitCode:
    return ExitCode.DONE if asked_to_stop.is_set() else ExitCode.CRASHED


def _roles(queues: tuple[QueueName, ...]) -> tuple[str, ...]:
    if len(queues) == len(ROLES):
        return (ALL,)
    return tuple(role for role, queue in ROLES.items() if queue in queues)
