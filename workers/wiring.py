"""The one place where a worker's parts are chosen and joined."""

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from celery import Celery
from celery.signals import heartbeat_sent

from shared.domain.config import Policy
from shared.domain.errors import Rejected
from shared.domain.host import Host
from shared.domain.jobs import ROLES, JobKind, QueueName
from shared.pulse import Pulse
from shared.queue.app import make_app
from shared.settings import ServerSettings, Settings
from shared.store.database import Database
from shared.store.migrate import require_current
from workers.backends import Backends
from workers.escalation import EscalationHandler
from workers.execution import Executor, Guards
from workers.executor.snapshot import take
from workers.journal import Journal
from workers.leases import LeaseKeeper
from workers.lifecycle import Lifecycle, Perform
from workers.planner import Planner
from workers.ports import PlannerBackend
from workers.remote.connections import HostConnections
from workers.subtask_planner import Reviser, SubtaskPlanner
from workers.taskmaster import Taskmaster
from workers.tasks import open_doors


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker process, ready to consume its queues; `close` after it has stopped."""

    app: Celery
    queues: tuple[QueueName, ...]
    name: str
    lifecycle: Lifecycle
    database: Database
    journal: Journal
    keeper: LeaseKeeper
    connections: HostConnections

    def close(self) -> None:
        """Write what is left and give everything back."""
        self.journal.close()
        self.keeper.close()
        self.connections.close()
        self.database.close()


def queues_of(roles: Sequence[str]) -> tuple[QueueName, ...]:
    """The queues of the named roles ("all": every one); raises Rejected for an unknown one."""
    if "all" in roles:
        return tuple(ROLES.values())
    unknown = [role for role in roles if role not in ROLES]
    if unknown or not roles:
        raise Rejected(
            f"{', '.join(unknown) or 'nothing'} is no worker role; "
            f"there are all, {', '.join(ROLES)}",
            stage="input",
            next_step_cmd="replan worker start all",
        )
    return tuple(ROLES[role] for role in roles)


def make_worker(settings: Settings, roles: Sequence[str]) -> Worker:
    """Join the parts of a worker. Raises Misconfigured when the database is not to be used."""
    queues = queues_of(roles)
    server = settings.server
    database = Database(settings.server.database_url, pool_size=max(5, server.threads))
    require_current(database)
    name = f"{_name(queues)}.{os.getpid()}@{socket.gethostname()}"
    owner = f"{name}/{uuid4().hex[:8]}"
    journal = Journal(database, owner)
    pulse = Pulse.from_environ(os.environ, "leases", "queues")
    keeper = LeaseKeeper(
        database, lease=server.lease, heartbeat=server.heartbeat, beat=pulse.beats("leases")
    )
    connections = HostConnections()
    lifecycle = Lifecycle(
        database,
        journal,
        keeper,
        owner=owner,
        lease=server.lease,
        queues=queues,
        performers=_performers(server, database, journal, connections),
    )
    app = make_app(settings.server.broker_url)
    open_doors(app, lifecycle, queues)
    # Sent every two seconds by the loop that takes messages, while the broker answers.
    heartbeat_sent.connect(pulse.beats("queues"), weak=False)
    return Worker(app, queues, name, lifecycle, database, journal, keeper, connections)


def _name(queues: tuple[QueueName, ...]) -> str:
    if len(queues) == len(ROLES):
        return "all"
    return "-".join(role for role, queue in ROLES.items() if queue in queues)


def _performers(
    server: ServerSettings, database: Database, journal: Journal, connections: HostConnections
) -> dict[JobKind, Perform]:
    backends = _backends(server)
    guards = Guards()

    def snapshot(host: Host, policy: Policy) -> Mapping[str, str]:
        shell = connections.shell(host)
        try:
            return take(shell, guards(policy.forbidden_commands))
        finally:
            shell.close()

    return {
        JobKind.REFINE: Taskmaster(database, backends).perform,
        JobKind.PLAN: Planner(database, backends).perform,
        JobKind.DETAIL: SubtaskPlanner(database, backends).perform,
        JobKind.REVISE: Reviser(database, backends).perform,
        JobKind.EXECUTE: Executor(database, journal, connections, guards).perform,
        JobKind.GATHER: EscalationHandler(database, snapshot).perform,
    }


def _backends(server: ServerSettings) -> Backends:
    def anthropic() -> PlannerBackend:
        from workers.llm.backend import anthropic_backend
        from workers.llm.settings import LlmSettings

        return anthropic_backend(
            LlmSettings(
                api_key=server.anthropic_api_key,
                auth_token=server.anthropic_auth_token,
                base_url=server.anthropic_base_url,
                model=server.model,
                taskmaster_model=server.taskmaster_model,
                planner_model=server.planner_model,
                subtask_planner_model=server.subtask_planner_model,
                effort=server.model_effort,
                timeout=server.model_timeout,
            )
        )

    def runbook() -> PlannerBackend:
        from workers.runbook.backend import RunbookBackend

        return RunbookBackend(server.runbook_dirs)

    return Backends({"anthropic": anthropic, "runbook": runbook})
