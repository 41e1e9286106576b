"""A real shell on this machine whose PATH holds only what a test puts there."""

import shutil
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from shared.domain.attempt import CommandResult, OnOutput
from shared.domain.containment import Containment, Hidden
from shared.domain.host import LOCALHOST
from shared.guard import Guard, default_entries, only_forbidden
from tests.unit.passes.given import Approving, MemoryLog, shell_means
from workers.passes.clock import SystemClock
from workers.passes.passes import carry_out
from workers.passes.ports import Cancelled, PassOrder, PassResult
from workers.shells.ports import Call, Shell
from workers.shells.remote.connections import HostConnections

PROGRAMS = (
    *("sh", "ls", "cat", "cp", "mv", "ln", "mkdir", "touch", "tar", "gzip", "test", "id", "grep"),
    *("head", "sleep", "tee", "rm", "sed", "env", "true", "false"),
)


@dataclass
class NarrowShell:
    """The local shell with another PATH; commands run in the scratch folder."""

    folder: Path
    programs: Path
    inner: Shell
    commands: list[str] = field(default_factory=list)

    def run(
        self,
        call: Call,
        *,
        on_output: OnOutput | None = None,
        cancelled: Cancelled | None = None,
    ) -> CommandResult:
        """Run a command as the local shell does."""
        self.commands.append(call.command)
        narrowed = f"cd {self.folder} && PATH={self.programs} && export PATH\n{call.command}"
        result = self.inner.run(
            replace(call, command=narrowed, key=None), on_output=on_output, cancelled=cancelled
        )
        return replace(result, command=call.command)

    def pipeline(self, calls: Generator[Call]) -> None:
        """Nothing is started before it is asked for."""
        calls.close()

    def cancel_pipeline(self) -> None:
        """Nothing is started before it is asked for."""

    def containment(self, hidden: Hidden) -> Containment:
        """That of the shell behind it."""
        return self.inner.containment(hidden)

    def recall(self, key: str) -> None:
        """Every pass is the first."""

    def erase(self) -> None:
        """Nothing is kept."""

    def settle(self) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing to give back."""

    def has(self, name: str, script: str) -> None:
        """Put a program there: a POSIX shell script."""
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[NarrowShell]:
    """A shell with the everyday programs and nothing else."""
    programs, folder = tmp_path / "programs", tmp_path / "work"
    programs.mkdir()
    folder.mkdir()
    for name in PROGRAMS:
        found = shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin")
        assert found is not None, f"this machine has no {name}"
        (programs / name).symlink_to(found)
    with closing(HostConnections()) as connections:
        yield NarrowShell(folder, programs, connections.shell(LOCALHOST))


@dataclass
class RealPass:
    """A pass on real parts."""

    result: PassResult
    log: MemoryLog


Carry = Callable[..., RealPass]


@pytest.fixture
def carry(shell: NarrowShell) -> Carry:
    """Carry out an order with the real guard, the real clock and the narrow shell."""
    guard = Guard(only_forbidden(default_entries()))

    def run(
        order: PassOrder,
        *,
        approved: Callable[[str], bool] = lambda _: True,
        log: MemoryLog | None = None,
        settle: tuple[float, ...] = (0.1, 0.2, 0.4, 0.8, 1.6),
    ) -> RealPass:
        log, clock = log or MemoryLog(), SystemClock()
        result = carry_out(
            order,
            shell_means(order, shell, guard, log, clock),
            log,
            clock,
            approvals=Approving(approved),
            settle=settle,
        )
        return RealPass(result, log)

    return run
