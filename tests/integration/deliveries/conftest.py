"""The line of a real repository, through the shell of the product on this machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.domain.host import LOCALHOST
from shared.domain.target import Repository
from tests.integration.deliveries.trees import Objects
from tests.integration.workspaces.sources import Source
from workers.agents.workspaces.workspaces import Workspaces
from workers.deliveries.line import Line
from workers.shells.ports import Shell
from workers.shells.remote.connections import HostConnections


@pytest.fixture(scope="session")
def local_shell() -> Iterator[Shell]:
    """A shell on this machine."""
    connections = HostConnections()
    yield connections.shell(LOCALHOST)
    connections.close()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the host keeps workspaces; a name that shells must quote."""
    return tmp_path / "it's a $HOME"


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """A repository with two files."""
    return Source.at(tmp_path / "source", readme="hello\n", code="print(1)\n")


@pytest.fixture
def repository(source: Source) -> Repository:
    """As replan knows it."""
    return Repository("app", "localhost", str(source.folder))


@pytest.fixture
def workspaces(local_shell: Shell, repository: Repository, place: Path) -> Workspaces:
    """Those of the repository."""
    return Workspaces(local_shell, repository, root=str(place))


@pytest.fixture
def base(workspaces: Workspaces) -> str:
    """The commit from which the session begins."""
    return workspaces.base("R1").sha


@pytest.fixture
def line(local_shell: Shell, repository: Repository, place: Path) -> Line:
    """The line of a session there."""
    return Line(local_shell, repository, root=str(place))


@pytest.fixture
def ours(place: Path, base: str) -> Objects:
    """The git directory of replan on the host, which has the base."""
    found = Objects(place / "app/ours.git")
    assert found.has(base)
    return found
