"""The product's processes: started in a moment, killed, frozen, and noticed when they end alone.

Importing the product takes seconds of processor time, which a campaign of hundreds of kills does
not have. So one process, the nursery, imports it once and forks the others, each a process of its
own with a session, a log and an environment of its own, running what the command line would run.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self

from orchestrator.embedded.process import Tether
from tests.services.availability import UnavailableError

ROOT: Final = Path(__file__).parents[2]

Kind = Literal["executor", "planner", "coordinator"]

COMMANDS: Final[Mapping[Kind, tuple[str, ...]]] = {
    "executor": ("workers", "start", "executor"),
    "planner": ("workers", "start", "taskmaster", "planner", "subtask_planner", "escalation"),
    "coordinator": ("replan", "coordinator", "start"),
}


@dataclass(slots=True)
class Member:
    """A process of the product; `handle` names this very process, whatever becomes of its id."""

    name: str
    kind: Kind
    pid: int
    handle: int
    frozen: bool = False

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; nothing happens when it has ended."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, number)

    def running(self) -> bool:
        """Whether it has not ended."""
        try:
            signal.pidfd_send_signal(self.handle, 0)
        except ProcessLookupError:
            return False
        return True


@dataclass
class Crew:
    """The processes, by name; all end with this context, or with the process that opened it."""

    folder: Path
    environ: Mapping[str, str]
    members: dict[str, Member] = field(default_factory=dict)
    ended_alone: list[str] = field(default_factory=list)
    last_words: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        words = (sys.executable, "-m", "tests.chaos.nursery")
        with (self.folder / "nursery.log").open("ab") as log:
            self._nursery = subprocess.Popen(
                Tether(signal.SIGKILL).argv(words, None),
                cwd=ROOT,
                env={**os.environ, **self.environ},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                text=True,
            )
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for member in self.members.values():
            member.signal(signal.SIGKILL)
            os.close(member.handle)
        self.members.clear()
        with self._nursery as nursery:
            nursery.kill()

    def start(self, name: str, kind: Kind) -> Member:
        """Start a process, or start it anew."""
        before = self.members.pop(name, None)
        if before is not None:
            before.signal(signal.SIGKILL)
            os.close(before.handle)
        order = {"log": str(self.log_of(name)), "command": COMMANDS[kind]}
        pid, handle = self._born(order)
        self.members[name] = Member(name, kind, pid, handle)
        return self.members[name]

    def kill(self, name: str) -> int:
        """End a process at once and start its successor; the id of the one that was killed."""
        member = self.members[name]
        member.signal(signal.SIGKILL)
        self.start(name, member.kind)
        return member.pid

    def freeze(self, name: str) -> Member:
        """Stop a process where it stands."""
        member = self.members[name]
        member.signal(signal.SIGSTOP)
        member.frozen = True
        return member

    def thaw(self, member: Member) -> None:
        """Let a process go on, unless it was killed in the meantime."""
        if self.members.get(member.name) is member:
            member.signal(signal.SIGCONT)
            member.frozen = False

    def revive(self) -> None:
        """Start whoever has ended without being killed, and remember that it did."""
        for member in list(self.members.values()):
            if not member.running():
                self.ended_alone.append(member.name)
                self.last_words += self.log_of(member.name).read_text().splitlines()[-3:]
                self.start(member.name, member.kind)

    def awake(self, *kinds: Kind) -> list[str]:
        """The names of those that run, of some kinds."""
        found = self.members.values()
        return sorted(m.name for m in found if m.kind in kinds and not m.frozen and m.running())

    def log_of(self, name: str) -> Path:
        """What a process and its predecessors of the same name have said."""
        return self.folder / f"{name}.log"

    def _born(self, order: Mapping[str, object]) -> tuple[int, int]:
        stdin, stdout = self._nursery.stdin, self._nursery.stdout
        assert stdin is not None
        assert stdout is not None
        while True:
            stdin.write(json.dumps(order) + "\n")
            stdin.flush()
            answer = stdout.readline()
            if not answer:
                said = (self.folder / "nursery.log").read_text()[-2000:]
                raise UnavailableError(f"the nursery has ended; it said: {said}")
            pid = int(answer)
            with contextlib.suppress(ProcessLookupError):  # it ended within that moment
                return pid, os.pidfd_open(pid)
