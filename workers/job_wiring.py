"""What a worker does for each kind of job, with its parts chosen and joined."""

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from functools import cache, partial

from shared.deliveries.attestation import AttestationKeys
from shared.deliveries.store import PatchStore
from shared.domain.config import MODEL_PROVIDERS, Policy
from shared.domain.errors import ReplanError
from shared.domain.facts import Fact
from shared.domain.host import Host
from shared.domain.jobs import JobKind
from shared.domain.plan import Subtask
from shared.secrets.sent import as_sent
from shared.settings import ServerSettings, Settings, find_up
from shared.store.database import Database
from workers.agents.runners.port import GatewayAccess
from workers.agents.spending import LedgerSpending
from workers.attempt_token import attempt_token
from workers.deliveries.merge_requests import MergeRequests
from workers.deliveries.publisher import Publisher
from workers.evidence.causes import Failure
from workers.evidence.observation import Observation
from workers.installation_key import installation_key
from workers.llm.prices import Prices
from workers.planning import PlannerBackend
from workers.process.journal import Journal
from workers.process.leases import Hold
from workers.process.lifecycle import Perform
from workers.roles.acceptor import Acceptor
from workers.roles.adviser import Adviser
from workers.roles.attempt_records import AttemptRecords
from workers.roles.backends import Backends
from workers.roles.briefings import FACTS, Briefings
from workers.roles.checkpointer import Checkpointer, CheckpointParts
from workers.roles.escalation import EscalationHandler
from workers.roles.executor import Executor
from workers.roles.guards import Guards
from workers.roles.host_keys import reports_changed_keys
from workers.roles.looker import Looker
from workers.roles.looks import may_look
from workers.roles.model_calls import ModelCalls
from workers.roles.pass_means import Agents, stand_in_workspace
from workers.roles.planner import Planner
from workers.roles.replanner import Replanner
from workers.roles.reviewer import Reviewer
from workers.roles.secret_use import uses_given_secrets
from workers.roles.signatures import Signatures
from workers.roles.subtask_planner import Reviser, SubtaskPlanner
from workers.roles.taskmaster import Taskmaster
from workers.secrets import Secrecy, texts_of
from workers.shells.investigation import investigate
from workers.shells.remote.connections import HostConnections
from workers.shells.snapshot import take


def performers(
    settings: Settings,
    database: Database,
    journal: Journal,
    connections: HostConnections,
    secrecy: Secrecy,
) -> dict[JobKind, Perform]:
    """What carries out each kind of job; it may be called from many threads."""
    server = settings.server
    calls = ModelCalls(
        database,
        Prices(server.model_prices),
        server.daily_cost_cap,
        find_up=partial(find_up, server),
    )
    folders = (server.data_dir, *filter(None, (server.vault_dir, server.approval_key_dir)))
    guards = Guards(server.guard_policy, settings.agent.forbidden_commands, own=folders)
    backends = _backends(server, secrecy, calls, guards)
    signatures = Signatures(server.approval_keys, server.approval_folder)
    records = AttemptRecords(database)
    agents = Agents(
        access_of=partial(_gateway_access, server),
        notes_of=records.notes,
        calls_of=records.calls,
        workspaces=server.workspaces,
        limits=server.workspace_limits,
        spending=LedgerSpending(database),
        confinement_of=guards.confinement,
    )
    store = cache(partial(PatchStore.open, server.delivery_place))
    executor = Executor(
        database,
        journal,
        connections,
        guards,
        secrecy,
        signatures=signatures,
        publisher=Publisher(database, store),
        agents=agents,
        previews=server.command_previews,
    )
    keys = AttestationKeys(server.data_dir, server.attestation_keys)
    acceptor = Acceptor(
        database,
        journal,
        connections,
        guards,
        secrecy,
        agents=agents,
        store=store,
        keys=keys,
    )
    checkpointer = Checkpointer(
        database,
        connections,
        CheckpointParts(
            lambda envelope: keys.verify(envelope).tree,
            request=MergeRequests(database, secrecy.reveal, secrecy.text).have_open,
            workspaces=server.workspaces,
            limits=server.workspace_limits,
            mask=secrecy.text,
        ),
    )
    looker = Looker(database, journal, connections, guards, secrecy)

    def on_hosts(perform: Perform) -> Perform:
        def run(hold: Hold) -> Fact:
            with reports_changed_keys(database, hold.job.task_id):
                return perform(hold)

        return run

    def clean_up(hold: Hold) -> Fact:
        acceptor.end_left(hold)
        return executor.clean_up(hold)

    def look(host: Host) -> Mapping[str, str]:
        with closing(connections.shell(host)) as shell:
            found = take(shell, guards((), host.name), probes=dict(FACTS))
        return {name: secrecy.text(text) for name, text in found.items()}

    briefings = Briefings(database, look, lambda name: guards((), name).policy)

    def observe(
        host: Host, policy: Policy, subtasks: Sequence[Subtask], failures: Sequence[Failure]
    ) -> Observation:
        masker = secrecy.secrets_for(texts_of(map(as_sent, subtasks))).masker
        with closing(connections.shell(host, masker=masker)) as shell:
            return investigate(shell, guards(policy.forbidden_commands, host.name), failures)

    escalation = EscalationHandler(
        database, observe, secrecy.text, partial(stand_in_workspace, connections, agents)
    )

    def gather(hold: Hold) -> Fact:
        with suppress(ReplanError):  # the evidence does not wait for it
            acceptor.end_left(hold)
        return escalation.perform(hold)

    def planning(perform: Perform) -> Perform:
        return calls.account_for(uses_given_secrets(database, may_look(perform)))

    return {
        JobKind.REFINE: calls.account_for(Taskmaster(database, backends, briefings).perform),
        JobKind.PLAN: planning(Planner(database, backends, briefings).perform),
        JobKind.DETAIL: planning(SubtaskPlanner(database, backends, briefings).perform),
        JobKind.REVISE: planning(Reviser(database, backends, briefings).perform),
        JobKind.ADVISE: calls.account_for(Adviser(database, backends, briefings).perform),
        JobKind.REPLAN: planning(Replanner(database, backends, briefings).perform),
        JobKind.EXECUTE: on_hosts(executor.perform),
        JobKind.LOOK: looker.perform,
        JobKind.CLEAN_UP: on_hosts(clean_up),
        JobKind.REVIEW: on_hosts(Reviewer(database, journal, connections, secrecy, agents).perform),
        JobKind.ACCEPT: on_hosts(acceptor.perform),
        JobKind.CHECKPOINT: checkpointer.perform,
        JobKind.GATHER: gather,
    }


def _gateway_access(server: ServerSettings, attempt: str) -> GatewayAccess:
    """How an attempt reaches models; each driver of it derives the same token."""
    return GatewayAccess(server.gateway_url, attempt_token(installation_key(server), attempt))


def _backends(
    server: ServerSettings, secrecy: Secrecy, calls: ModelCalls, guards: Guards
) -> Backends:
    def model(provider: str) -> PlannerBackend:
        from workers.llm.backend import model_backend
        from workers.llm.settings import LlmSettings

        return model_backend(
            LlmSettings.of(server, provider),
            log=calls,
            mask=secrecy.text,
            guard_for=guards,
        )

    def runbook() -> PlannerBackend:
        from workers.runbook.backend import RunbookBackend

        return RunbookBackend(server.runbook_dirs)

    models = {provider: partial(model, provider) for provider in MODEL_PROVIDERS}
    return Backends({**models, "runbook": runbook})
