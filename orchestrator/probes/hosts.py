"""Looking at a host through a worker process: the orchestrator never connects to one itself."""

import json
from typing import Any

from orchestrator.probes.worker import Wanted, asked
from shared.domain.host import Host
from shared.wire import to_json

PATIENCE = 60.0
"""Seconds that a look may take."""


def host_key(host: Host) -> tuple[str, str]:
    """The key a server shows, and its fingerprint. Raises Transient or Misconfigured."""
    answer = _ask("host-key", host)
    return answer["line"], answer["fingerprint"]


def check(host: Host) -> dict[str, Any]:
    """What a check found: `ok`, and the report with its problems. Raises Transient."""
    return _ask("host-check", host)


def _ask(verb: str, host: Host) -> dict[str, Any]:
    wanted = Wanted((verb,), host.name, "connect", PATIENCE)
    return asked(wanted, json.dumps(to_json(host)))
