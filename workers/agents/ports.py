"""What the means of agents need besides a shell: a workspace, and runners."""

from collections.abc import Callable, Sequence
from typing import Protocol

from shared.domain.attempt_notes import AttemptNote
from shared.domain.workspace import WorkspaceRemarks
from shared.store.model_calls import CallSigns
from workers.agents.process_signs import ProcessSigns
from workers.agents.runners.port import GatewayAccess, Runner
from workers.agents.workspaces.values import Snapshot


class Workbench(Protocol):
    """The workspace of a step: where its agents work, and where its commands and checks run.

    It outlives every driver of the step. Every function may be called from any thread, and raises
    what `workers.agents.workspaces.workspaces.Workspaces` raises.
    """

    @property
    def path(self) -> str:
        """Its absolute path on the host."""
        ...

    @property
    def base(self) -> str:
        """The commit that it was made from."""
        ...

    @property
    def homes(self) -> str:
        """The absolute path of the folder for the homes of its agents."""
        ...

    @property
    def remarks(self) -> WorkspaceRemarks:
        """What is worth knowing about it since it was made."""
        ...

    def snapshot(self, label: str, *, whole: bool = False) -> Snapshot:
        """Keep what the workspace holds now; `label` is kept with it.

        With `whole`, the commits that the agent has made are kept, too, and what no tree holds is
        named.
        """
        ...

    def close(self) -> None:
        """Release what it takes to reach it; the workspace stays."""
        ...

    def changed(self, base: str, tree: str) -> tuple[str, ...]:
        """The files that differ between two commits or trees."""
        ...


RunnerOf = Callable[[str, str | None], Runner]
"""The runner of a name, with the command of the plan that starts it, None for its usual one.

Raises Transient for one that this worker does not have, Rejected for one without its command.
"""

AccessOf = Callable[[str], GatewayAccess | None]
"""How the attempt with that key reaches models; None where there is no gateway."""

ProcessesOf = Callable[[str], ProcessSigns]
"""What the processes of the attempt with that key have used. Raises what a shell raises."""

NotesOf = Callable[[str], Sequence[AttemptNote]]
"""What is on record as noted about the attempt with that key. Raises Transient."""

CallsOf = Callable[[str], CallSigns | None]
"""What the gateway does for the attempt with that key; None where there is none.

Raises Transient.
"""
