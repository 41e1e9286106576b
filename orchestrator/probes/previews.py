"""Previewing a command through a worker process: the orchestrator never connects to a host."""

import json
from collections.abc import Collection

from orchestrator.probes.hosts import PATIENCE
from orchestrator.probes.worker import WorkerCall, ask_worker
from shared.domain.host import Host
from shared.domain.preview import Preview
from shared.wire import from_json, to_json


def preview(host: Host, command: str, forbidden: Collection[str]) -> Preview:
    """What a command would change there.

    Raises Rejected if it is forbidden, Transient, and Misconfigured if the host refuses.
    """
    asked = WorkerCall(("preview",), host.name, "connect", PATIENCE)
    given = {"host": to_json(host), "command": command, "forbidden": list(forbidden)}
    return from_json(Preview, ask_worker(asked, json.dumps(given))["preview"])
