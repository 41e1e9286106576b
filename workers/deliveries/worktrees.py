"""Brings the worktrees of a session to its head, on the repository's host."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from shared.domain.checkpoint import Synced, SyncedWorktree
from shared.domain.target import Repository
from shared.domain.workspace_name import WorkspaceName
from shared.settings.server import WORKSPACES
from workers.agents.workspaces.script import Fields, Variables, script, value
from workers.deliveries.remote import fields_of
from workers.passes.ports import Cancelled
from workers.shells.ports import Call, Shell

_FIRST, _EACH = 300.0, 30.0
_FEW = 50
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class IdleWorktree:
    """The worktree of a step whose delivery was accepted; `delivered` is the tree with it."""

    name: str
    delivered: str


def main_name(run: str) -> str:
    """The name of the main worktree of a session; `run` is the name of its run on hosts.

    No agent works there: it is for people, at its published head.
    """
    return str(WorkspaceName(run, None))


class Worktrees:
    """The worktrees of a session. Nothing that is not kept elsewhere is ever overwritten."""

    def __init__(
        self,
        shell: Shell,
        repository: Repository,
        *,
        root: str = WORKSPACES,
        largest: int | None = None,
        cancelled: Cancelled | None = None,
    ) -> None:
        """A file of more than `largest` bytes is not kept, None for no limit."""
        self._shell = shell
        self._repository = repository
        self._root = root
        self._largest = None if largest is None else largest // _BLOCK
        self._cancelled = cancelled

    def sync(
        self, head: str, main: str, idle: Sequence[IdleWorktree] = ()
    ) -> tuple[SyncedWorktree, ...]:
        """Bring the worktree `main`, which is made if need be, and the idle ones to `head`.

        One in which a process works, or that has changes that are neither in its base nor
        delivered, is left alone. What a killed call has left half-done, the next one ends. Raises
        what `Workspaces` raises.
        """
        done: list[SyncedWorktree] = []
        # Not too many names fit into one command.
        for at in range(0, max(1, len(idle)), _FEW):
            found = tuple(_outcomes(self._sync(head, main, idle[at : at + _FEW])))
            done += found if at == 0 else found[1:]
        return tuple(done)

    def _sync(self, head: str, main: str, idle: Sequence[IdleWorktree]) -> Fields:
        variables: Variables = {
            "idle": "\n".join(f"{each.name} {each.delivered}" for each in idle),
            "largest": self._largest,
            "label": "",
            "whole": "",
            "setup": "",
            "cap": "",
        }
        parts = ("source", "snapshot", "collect", "prepare", "workers.deliveries:sync")
        call = ("sync", head, main, *self._repository.copied)
        timeout = _FIRST + _EACH * len(idle)
        text = script(parts, self._repository, self._root, call, variables)
        result = self._shell.run(Call(text, timeout), cancelled=self._cancelled)
        return fields_of(result, self._repository, "sync", timeout, lambda _: None)


def _outcomes(fields: Fields) -> Iterator[SyncedWorktree]:
    """One for each worktree that the script names, with what it says after its name."""
    starts = [at for at, (name, _) in enumerate(fields) if name == "worktree"]
    for begin, end in pairwise((*starts, len(fields))):
        told = fields[begin:end]
        error = value(told, "error")
        detail = f"{error}: {value(told, 'detail')}".rstrip(": ")
        outcome = Synced.FAILED if error else Synced(value(told, "outcome"))
        yield SyncedWorktree(value(told, "worktree"), outcome, detail, value(told, "path"))
