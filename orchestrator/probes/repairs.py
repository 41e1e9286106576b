"""Asking a worker process about what a host has of a step, and having it put right there."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from orchestrator.probes.worker import WorkerCall, ask_worker
from shared.domain.found_on_host import CommandOnHost, WorkspaceOnHost
from shared.domain.host import Host
from shared.domain.target import Repository
from shared.wire import from_json, to_json

PATIENCE = 120.0
"""Seconds that a look may take; ending what runs takes some of them."""

STAGE = "repair"


def look_at_commands(
    host: Host, step: str, keys: Collection[str], *, end: Collection[str] = ()
) -> tuple[CommandOnHost, ...]:
    """What a host has recorded of these attempts; everything of the attempts `end` is ended first.

    Raises what a connection raises, and Transient.
    """
    asked = WorkerCall(("attempt-look",), host.name, STAGE, PATIENCE)
    given = {"host": to_json(host), "step": step, "keys": list(keys), "end": list(end)}
    found = ask_worker(asked, json.dumps(given))["commands"]
    return tuple(from_json(CommandOnHost, each) for each in found)


@dataclass(frozen=True, slots=True)
class WorktreeCall:
    """What is asked of the workspace `name`: `look`, `keep`, `remove` or `sync`.

    The main worktree of a session has a `head`, and its `branch` on the remote.
    """

    host: Host
    repository: Repository
    name: str
    head: str | None = None
    branch: str | None = None


def attend_worktree(call: WorktreeCall, verb: str) -> WorkspaceOnHost:
    """Do that with a workspace; what it is then. Raises what a connection raises, and Transient."""
    asked = WorkerCall(("worktree-look",), call.host.name, STAGE, PATIENCE)
    given: dict[str, Any] = {
        "host": to_json(call.host),
        "repository": to_json(call.repository),
        "name": call.name,
        "verb": verb,
        "head": call.head,
        "branch": call.branch,
    }
    answer = ask_worker(asked, json.dumps(given))["worktree"]
    return from_json(WorkspaceOnHost, answer)
