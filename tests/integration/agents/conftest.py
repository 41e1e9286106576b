"""A step in a real repository on this machine, driven by one driver after another."""

import shutil
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import uuid4

import pytest

from shared.domain.agent import AgentWork
from shared.domain.attempt import Attempt
from shared.domain.config import Policy
from shared.domain.containment import AgentRule, ContainmentRule
from shared.domain.errors import Transient
from shared.domain.host import LOCALHOST
from shared.domain.plan import Subtask, SubtaskKind
from shared.domain.question import PassReply
from shared.domain.target import Repository
from shared.guard import Guard, default_entries, only_forbidden
from shared.secrets.masking import Masker
from tests.fakes.scripted_agents import ScriptedRunner
from tests.integration.agents.contained_hosts import Host, accounts, host_with
from tests.integration.remote.hosts import eventually
from tests.unit.passes.given import MemoryLog, order, subtask
from workers.agents.containment.containing import Confinement
from workers.passes.clock import SystemClock
from workers.passes.passes import carry_out
from workers.passes.ports import PassResult
from workers.roles.guards import Guards
from workers.roles.pass_means import Agents, PassMeans, PassParts, Place
from workers.secrets import KnownSecrets
from workers.shells.door import PassJudge
from workers.shells.ports import PassRecord
from workers.shells.remote.connections import HostConnections

GIT = (
    "git",
    "-c",
    "user.name=t",
    "-c",
    "user.email=t@example.com",
    "-c",
    "init.defaultBranch=main",
)


@dataclass
class Driving:
    """Drives the pass of a step over a repository; each call of `drive` is another driver."""

    repository: Repository
    agents: Agents
    token: str
    folder: Path
    fence: int = 0
    gone: threading.Event = field(default_factory=threading.Event)

    def drive(
        self,
        *given: Subtask | str,
        log: MemoryLog | None = None,
        earlier: Sequence[Attempt] = (),
        pass_no: int = 1,
        replies: Sequence[PassReply] = (),
        resumed: bool = False,
        policy: Policy | None = None,
    ) -> tuple[PassResult, MemoryLog]:
        """Carry out the pass, or go on with it."""
        self.fence += 1
        log = log or MemoryLog()
        made = order(*given, earlier=earlier, pass_no=pass_no, policy=policy)
        what = replace(made, replies=tuple(replies))
        name = f"{self.token[:2]}/{self.token}-1-0-{pass_no}"
        record = PassRecord(name, self.fence, resumed, 1.0, lambda: 600.0, self.gone.is_set)
        guard = Guard(only_forbidden(default_entries()))
        masker = Masker()
        parts = PassParts(what, record, log, KnownSecrets(masker), PassJudge(guard, masker), guard)
        connections = HostConnections()
        try:
            opened = PassMeans(connections, self.agents).open(
                Place(LOCALHOST, self.token, self.repository), parts
            )
            result = carry_out(what, opened.means, log, SystemClock(), settle=())
            opened.means.close()
        finally:
            connections.close()
        return result, log

    def begin(self, *given: Subtask | str) -> threading.Thread:
        """Drive it in the background, until `die`."""

        def run() -> None:
            with suppress(Transient):
                self.drive(*given)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def die(self, thread: threading.Thread) -> None:
        """Have the driver of that thread give the pass up; what it started goes on."""
        self.gone.set()
        thread.join()
        self.gone = threading.Event()

    def await_tree_with(self, path: str) -> None:
        """Wait until a snapshot that was kept holds that file."""
        assert eventually(
            lambda: any(path in self._git("ls-tree", "--name-only", each) for each in self._kept()),
            within=20,
        )

    def _kept(self) -> list[str]:
        return self._git("for-each-ref", "--format=%(objectname)", "refs/replan/attempts").split()

    def show(self, tree: str | None, path: str) -> str:
        """A file of a tree that was kept."""
        return self._git("show", f"{tree}:{path}")

    def _git(self, *words: str) -> str:
        ours = next(self.folder.rglob("ours.git"), self.folder)
        command = [*GIT, "--git-dir", str(ours), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def agent(goal: str, check: str | None = None, **work: object) -> Subtask:
    """The goal of an agent, which is sh text for the program of these tests."""
    made = AgentWork(**work)  # type: ignore[arg-type]
    return subtask(goal, check=check, kind=SubtaskKind.AGENT, agent=made, timeout=made.time_budget)


@pytest.fixture(params=accounts())
def host(request: pytest.FixtureRequest) -> Iterator[Host]:
    """A host with everything that a contained agent must not reach, for each kind of account."""
    with host_with(request.param) as made:
        yield made


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A git repository with one commit."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "app.py").write_text("old\n")
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "first")):
        subprocess.run([*GIT, *command], cwd=folder, check=True)
    return Repository("project", "localhost", path=str(folder))


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The program that is the runner: it does what the goal says, as sh text."""
    path = tmp_path / "agent"
    path.write_text('#!/bin/sh\neval "$2"\n')
    path.chmod(0o755)
    return path


@pytest.fixture(params=[ContainmentRule.OFF, ContainmentRule.REQUIRED])
def confinement(request: pytest.FixtureRequest) -> Confinement:
    """How agents have to run: in a containment, if the host can, or outside."""
    return replace(Guards().confinement("localhost"), rule=AgentRule(request.param))


@pytest.fixture
def driving(
    tmp_path: Path, repository: Repository, program: Path, confinement: Confinement
) -> Iterator[Driving]:
    """The drivers of a pass in that repository."""

    def runner_of(name: str, command: str | None) -> ScriptedRunner:
        assert command is None
        return ScriptedRunner(name, program=str(program))

    folder = tmp_path / "places"
    agents = Agents(
        runner_of,
        workspaces=str(folder),
        snapshot_every=0.2,
        confinement_of=lambda _: confinement,
    )
    token = uuid4().hex
    yield Driving(repository, agents, token, folder)
    shutil.rmtree(folder, ignore_errors=True)
