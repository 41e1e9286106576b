"""What people who repair something ask a host: its commands, and its workspaces."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

from shared.domain.host import Host
from shared.domain.target import Repository
from shared.settings import ServerSettings
from shared.wire import from_json, to_json
from workers.deliveries.worktree_care import WorktreeCare
from workers.shells.remote.connections import HostConnections
from workers.shells.remote.recorded_commands import recorded_commands


def answer_about(
    verb: str, given: dict[str, Any], reveal: Callable[[str], str], server: ServerSettings
) -> dict[str, Any]:
    """The answer to `attempt-look` or `worktree-look`. Raises what a connection raises."""
    host = from_json(Host, given["host"])
    with closing(HostConnections(reveal)) as connections:
        if verb == "attempt-look":
            found = recorded_commands(
                connections, host, given["step"], given["keys"], end=given["end"]
            )
            return {"ok": True, "commands": [to_json(each) for each in found]}
        repository = from_json(Repository, given["repository"])
        with closing(connections.shell(host)) as shell:
            care = WorktreeCare(shell, repository, root=server.workspaces)
            return {"ok": True, "worktree": to_json(care.attend(given))}
