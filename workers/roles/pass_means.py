"""Chooses and opens the means of a pass: a shell on a host, or agents in a repository."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial

from shared.domain.config import Policy
from shared.domain.containment import MISSING_WORDS
from shared.domain.errors import Misconfigured
from shared.domain.host import Host
from shared.domain.next_step import NextStep
from shared.domain.plan import Step, SubtaskKind
from shared.domain.target import Repository
from shared.domain.verdict import ALLOWED, Verdict
from shared.domain.workspace_limits import WorkspaceLimits
from shared.guard.proofs import proof_rules
from shared.settings.server import WORKSPACES
from workers.agents.assigning import Assigning
from workers.agents.bench import StepBench, workspace_name
from workers.agents.containment.containing import UNCONFINED, ConfinementOf, HostContainment
from workers.agents.means import AgentMeans
from workers.agents.ports import AccessOf, CallsOf, NotesOf, RunnerOf
from workers.agents.process_signs import look_at_processes
from workers.agents.runners.table import find_runner
from workers.agents.running import SNAPSHOT_EVERY, AgentRuns
from workers.agents.spending import Spending, Unmetered
from workers.agents.workspaces.workspaces import Workspaces
from workers.deliveries.commits import commit_of
from workers.deliveries.line import Line
from workers.passes.clock import SystemClock
from workers.passes.means import Means
from workers.passes.ports import Cancelled, PassControl, PassOrder
from workers.secrets import KnownSecrets
from workers.sessions import SessionBrief
from workers.shells.door import Containing, Judge, PassJudge
from workers.shells.means import Previews, ShellMeans
from workers.shells.ports import Connections, PassRecord, Shell
from workers.store import StepBrief

DEFAULT_RUNNER = "claude-code"
"""The runner of a goal where neither the plan nor the repository names one."""


@dataclass(frozen=True, slots=True)
class Agents:
    """What agents need, whatever the pass: runners, models, money, and what is on record.

    `workspaces` is the folder for workspaces on a host, whose `limits` hold for each repository;
    `snapshot_every` is in seconds.
    """

    runner_of: RunnerOf = find_runner
    access_of: AccessOf = lambda _: None
    notes_of: NotesOf = lambda _: ()
    calls_of: CallsOf = lambda _: None
    workspaces: str = WORKSPACES
    snapshot_every: float = SNAPSHOT_EVERY
    limits: WorkspaceLimits = field(default_factory=WorkspaceLimits)
    spending: Spending = field(default_factory=Unmetered)
    confinement_of: ConfinementOf = lambda _: UNCONFINED


@dataclass(frozen=True, slots=True)
class Place:
    """Where a pass happens: on a host, or in a repository there.

    `token` is the name of the run on that host, `after` the step whose work the step continues. In
    a `session`, it goes on from what was accepted.
    """

    host: Host
    token: str
    repository: Repository | None = None
    after: int | None = None
    session: SessionBrief | None = None


@dataclass(frozen=True, slots=True)
class OpenMeans:
    """The means of a pass, and the shell with its records. `gave_secrets` tells it of secrets.

    In a repository, `bench` is the workspace, and `line` what was accepted there.
    """

    means: Means
    shell: Shell
    gave_secrets: Callable[[], bool]
    repository: Repository | None = None
    bench: StepBench | None = None
    line: Line | None = None


@dataclass(frozen=True, slots=True)
class PassParts:
    """What the means of one pass are made of.

    `setup` judges the setup command of a repository; `looks` judges looks at a host, None for the
    guard of the pass. `containing` knows the looks that run contained, None for none; if
    `containment_required`, nothing runs on a host without.
    """

    order: PassOrder
    record: PassRecord
    control: PassControl
    secrets: KnownSecrets
    judge: PassJudge
    setup: Judge
    looks: Judge | None = None
    containing: Containing | None = None
    containment_required: bool = False
    previews: Previews | None = None

    @property
    def policy(self) -> Policy:
        """The policy of the task."""
        return self.order.policy


class PassMeans:
    """Opens the means of passes."""

    def __init__(self, connections: Connections, agents: Agents) -> None:
        self._connections = connections
        self._agents = agents

    def open(self, place: Place, parts: PassParts) -> OpenMeans:
        """The means for a pass at that place.

        In a repository, its workspace is made first. Raises ForgottenError, Transient,
        Misconfigured and Rejected.
        """
        if place.repository is None:
            return self._on_host(place.host, parts)
        return self._in_repository(place, place.repository, parts)

    def _on_host(self, host: Host, parts: PassParts) -> OpenMeans:
        shell = self._connections.shell(host, parts.record, parts.secrets.masker)
        if parts.containing is not None and parts.containment_required:
            try:
                require_containment(host.name, shell, parts.containing)
            except Misconfigured:
                shell.close()
                raise
        means = _shell_means(shell, parts)
        return OpenMeans(means, shell, lambda: means.gave_secrets)

    def _in_repository(self, place: Place, repository: Repository, parts: PassParts) -> OpenMeans:
        host_shell = self._connections.shell(place.host)
        try:
            bench = self._bench(host_shell, place, repository, parts)
            on_host = self._on_host(replace(place.host, workdir=bench.path), parts)
        except BaseException:
            host_shell.close()
            raise
        agents = self._agents
        runs = AgentRuns(
            on_host.shell,
            bench,
            agents.runner_of,
            parts.control,
            agents.access_of,
            partial(look_at_processes, host_shell, parts.record.name),
            agents.notes_of,
            agents.calls_of,
            pass_name=parts.record.name,
            snapshot_every=agents.snapshot_every,
            masker=parts.secrets.masker,
            spending=agents.spending,
            containing=HostContainment(
                on_host.shell, agents.confinement_of(place.host.name), repository.name
            ),
        )
        assigning = Assigning(
            parts.order,
            runner=repository.usual_runner or DEFAULT_RUNNER,
        )
        goals = PassJudge(AllowedGoals(), parts.secrets.masker)
        means = AgentMeans(on_host.means, runs, assigning, goals, parts.order.subtasks)
        line = line_of_pass(host_shell, repository, parts.control, agents.workspaces)
        return replace(on_host, means=means, repository=repository, bench=bench, line=line)

    def _bench(
        self, host_shell: Shell, place: Place, repository: Repository, parts: PassParts
    ) -> StepBench:
        """The workspace; in a dry run, the setup command does not run."""
        if parts.policy.dry_run_mode:
            repository = replace(repository, setup=None)
        require_setup_allowed(repository, parts.setup)

        def make(shell: Shell, cancelled: Cancelled | None) -> Workspaces:
            agents = self._agents
            return Workspaces(
                shell,
                repository,
                root=agents.workspaces,
                limits=agents.limits,
                cancelled=cancelled,
            )

        session = place.session
        control = parts.control
        line = line_of_pass(host_shell, repository, control, self._agents.workspaces)
        return StepBench.open(
            host_shell,
            make,
            run=place.token,
            step=parts.order.step.ordinal,
            after=place.after,
            session=None
            if session is None
            else partial(where_to_begin, line, session, parts.order.step),
            rejected=0 if session is None else len(session.rejected),
            cancelled=_cancelled_later(control),
        )


def line_of_pass(shell: Shell, repository: Repository, control: PassControl, root: str) -> Line:
    """The line in which a pass works and publishes; a cancellation ends what it does there."""
    return Line(shell, repository, root=root, cancelled=_cancelled_later(control))


def _cancelled_later(control: PassControl) -> Cancelled | None:
    """A pass that was cancelled before it came here is there to end what runs."""
    return None if control.cancelled() else control.cancelled


def where_to_begin(
    line: Line, session: SessionBrief, step: Step, base: str
) -> tuple[str, str | None]:
    """Where the work of a step begins: on the head of its session, which began at `base`.

    An agent whose delivery was rejected finds it there, merged as far as that goes.
    """
    head = session.head or base
    agents = any(each.kind is SubtaskKind.AGENT for each in step.subtasks)
    if not session.rejected or not agents:
        return head, None
    return head, line.merge(head, [commit_of(session.rejected[-1], step.title)]).tree


def stand_in_workspace(
    connections: Connections, agents: Agents, brief: StepBrief, rejected: int = 0
) -> Host:
    """The host of a step, where commands start in the step's workspace if it has one.

    As many of its deliveries were `rejected`.

    Raises what a connection and `Workspaces` raise.
    """
    if brief.repository is None:
        return brief.host
    with closing(connections.shell(brief.host)) as shell:
        workspaces = Workspaces(shell, brief.repository, root=agents.workspaces)
        path = workspaces.path_of(workspace_name(brief.token, brief.step.ordinal, rejected))
    return brief.host if path is None else replace(brief.host, workdir=path)


class AllowedGoals:
    """The verdict on goals: no shell reads them, so no rule about commands is for them."""

    def judge(self, command: str, interpreter: str = "sh") -> Verdict:  # noqa: ARG002
        """Allowed."""
        return ALLOWED


def _shell_means(shell: Shell, parts: PassParts) -> ShellMeans:
    return ShellMeans(
        shell,
        parts.judge,
        parts.control,
        SystemClock(),
        check_timeout=parts.policy.check_timeout,
        looks=parts.looks,
        containing=parts.containing,
        variables=parts.secrets.variables,
        proofs=proof_rules(),
        previews=parts.previews,
    )


def require_containment(host: str, shell: Shell, containing: Containing) -> None:
    """Raise Misconfigured for a host on which looks cannot run contained."""
    found = shell.containment(containing.hidden)
    if found.missing is None:
        return
    said = f" ({found.said})" if found.said else ""
    raise Misconfigured(
        f"{host}: the policy lets nothing run where looks cannot run contained, and there "
        f"they cannot: {MISSING_WORDS[found.missing]}{said}",
        stage="guard",
        next_step=NextStep.of("host check", host),
    )


def require_setup_allowed(repository: Repository, judge: Judge) -> None:
    """Raise Misconfigured for a setup command of the repository that the guard does not allow."""
    if repository.setup is None:
        return
    verdict = judge.judge(repository.setup)
    if not verdict.allowed:
        raise Misconfigured(
            f"the setup command of repository {repository.name!r} may not run: {verdict.reason}",
            stage="guard",
            next_step=NextStep.of("guard check", repository.setup),
        )
