"""Workspaces of a real repository, through the shell of the product on this machine."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shared.domain.host import LOCALHOST
from shared.domain.target import Repository
from shared.domain.workspace_limits import WorkspaceLimits
from tests.integration.workspaces.sources import Source
from workers.agents.workspaces.workspaces import Workspaces
from workers.shells.ports import Shell
from workers.shells.remote.connections import HostConnections

Make = Callable[..., Workspaces]


@pytest.fixture(scope="session")
def local_shell() -> Iterator[Shell]:
    """A shell on this machine."""
    connections = HostConnections()
    yield connections.shell(LOCALHOST)
    connections.close()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the host keeps workspaces; a name that shells must quote."""
    return tmp_path / 'it\'s a $HOME `here` "\u00fc"'


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """A repository with two files."""
    return Source.at(tmp_path / "a source's folder", readme="hello\n", code="print(1)\n")


@pytest.fixture
def make(local_shell: Shell, place: Path, source: Source) -> Make:
    """Makes the workspaces of that repository, or of another one."""

    def of(
        root: Path = place,
        largest: int | None = 50_000_000,
        cap: int = 20_000_000_000,
        **other: Any,
    ) -> Workspaces:
        repository = replace(Repository("app", "localhost", str(source.folder)), **other)
        limits = WorkspaceLimits(cap=cap, largest=largest)
        return Workspaces(local_shell, repository, root=str(root), limits=limits)

    return of


@pytest.fixture
def workspaces(make: Make) -> Workspaces:
    """Those of the repository as it is."""
    return make()
