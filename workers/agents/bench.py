"""The workspace of a step, for its agents and its commands (`workers.agents.ports.Workbench`)."""

import threading
from typing import Self

from workers.agents.workspaces.values import Snapshot, Workspace
from workers.agents.workspaces.workspaces import Workspaces


class StepBench:
    """One workspace for all passes of a step in a run; it begins with the work of another step."""

    def __init__(self, workspaces: Workspaces, workspace: Workspace) -> None:
        self._workspaces = workspaces
        self._workspace = workspace
        self._lock = threading.Lock()

    @classmethod
    def open(cls, workspaces: Workspaces, *, run: str, step: int, after: int | None) -> Self:
        """The workspace of that step of a run; a new one has the files that step `after` left.

        All workspaces of a run start from the same commit. Raises what `Workspaces` raises.
        """
        base = workspaces.base(run).sha
        tree = None
        if after is not None:
            before = workspaces.prepare(base, _name(run, after))
            tree = workspaces.snapshot(before, f"for step {step}").tree
        return cls(workspaces, workspaces.prepare(base, _name(run, step), tree=tree))

    @property
    def path(self) -> str:
        """Its absolute path on the host."""
        return self._workspace.path

    @property
    def base(self) -> str:
        """The commit that it was made from."""
        return self._workspace.base_sha

    @property
    def homes(self) -> str:
        """The folder for the homes of its agents."""
        return self._workspace.home

    def snapshot(self, label: str) -> Snapshot:
        """Keep what it holds now."""
        with self._lock:
            return self._workspaces.snapshot(self._workspace, label)

    def changed(self, base: str, tree: str) -> tuple[str, ...]:
        """The files that differ."""
        return self._workspaces.changed(base, tree).paths


def _name(run: str, step: int) -> str:
    return f"{run}-{step}"
