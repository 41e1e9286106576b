"""The workspace of a step, for its agents and its commands (`workers.agents.ports.Workbench`)."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Self

from shared.domain.workspace import MOST_NAMES, Notice, WorkspaceRemarks
from shared.domain.workspace_name import WorkspaceName
from workers.agents.workspaces.values import Snapshot, Workspace
from workers.agents.workspaces.workspaces import Workspaces
from workers.passes.ports import Cancelled
from workers.shells.ports import Shell

Start = Callable[[str], tuple[str, str | None]]
"""Where the work of a session's step begins, of where its run does: a commit, and the tree to go on
with, None for the one of the commit."""

MakeWorkspaces = Callable[[Shell, Cancelled | None], Workspaces]
"""Makes the workspaces of a repository, whose scripts end once the second argument says so."""


class StepBench:
    """One workspace for all passes of a step in a run; it begins with the work of another step.

    `remarks` are those of when it was made.
    """

    def __init__(
        self,
        workspaces: Workspaces,
        workspace: Workspace,
        notices: tuple[Notice, ...],
        close: Callable[[], None],
    ) -> None:
        self._workspaces = workspaces
        self._workspace = workspace
        self._close = close
        cut = (replace(each, names=each.names[:MOST_NAMES]) for each in notices)
        self.remarks = WorkspaceRemarks(tuple(cut), workspace.missing[:MOST_NAMES])
        self._lock = threading.Lock()

    @classmethod
    def open(
        cls,
        shell: Shell,
        make: MakeWorkspaces,
        *,
        run: str,
        step: int,
        after: int | None,
        cancelled: Cancelled | None,
        session: Start | None = None,
        rejected: int = 0,
    ) -> Self:
        """The workspace of that step of a run; a new one has the files that step `after` left.

        All workspaces of a run start from the same commit, those of a session from where it says.
        There, a step whose delivery was `rejected` so many times has a new one after each. The
        shell is closed with the bench. Raises what `Workspaces` raises, Transient if `cancelled`
        while it is made.
        """
        workspaces = make(shell, cancelled)
        start = workspaces.base(run)
        base = start.sha
        tree = None
        if session is not None:
            base, tree = session(base)
            name = workspace_name(run, step, rejected)
            made = workspaces.prepare(base, name, tree=tree, lasting=True)
            return cls(make(shell, None), made, start.notices, shell.close)
        if after is not None:
            before = workspaces.prepare(base, workspace_name(run, after))
            tree = workspaces.snapshot(before, f"for step {step}").tree
        made = workspaces.prepare(base, workspace_name(run, step), tree=tree)
        return cls(make(shell, None), made, start.notices, shell.close)

    @property
    def name(self) -> str:
        """Its name among the workspaces of the repository."""
        return self._workspace.attempt

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

    def snapshot(self, label: str, *, whole: bool = False) -> Snapshot:
        """Keep what it holds now."""
        with self._lock:
            return self._workspaces.snapshot(self._workspace, label, whole=whole)

    def close(self) -> None:
        """Release the shell; the workspace stays."""
        self._close()

    def changed(self, base: str, tree: str) -> tuple[str, ...]:
        """The files that differ."""
        return self._workspaces.changed(base, tree).paths


def workspace_name(run: str, step: int, rejected: int = 0) -> str:
    """The name of the workspace of a step; `run` is the name of its run on hosts.

    After each delivery of it that was `rejected`, it has another one.
    """
    return str(WorkspaceName(run, step, rejected))
