"""Looking at a host through a worker process: the orchestrator never connects to one itself."""

import json
import subprocess
import sys
from typing import Any

from shared.domain.errors import Defect, Misconfigured, ReplanError, Transient
from shared.domain.host import Host
from shared.wire import to_json

PATIENCE = 60.0
"""Seconds that a look may take."""

_FAMILIES: dict[str, type[ReplanError]] = {"transient": Transient, "misconfigured": Misconfigured}


def host_key(host: Host) -> tuple[str, str]:
    """The key a server shows, and its fingerprint. Raises Transient or Misconfigured."""
    answer = _ask("host-key", host)
    return answer["line"], answer["fingerprint"]


def check(host: Host) -> dict[str, Any]:
    """What a check found: `ok`, and the report with its problems. Raises Transient."""
    return _ask("host-check", host)


def _ask(verb: str, host: Host) -> dict[str, Any]:
    try:
        done = subprocess.run(
            [sys.executable, "-m", "workers", verb],
            input=json.dumps(to_json(host)),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        reason = f"{host.name} gave no answer in {PATIENCE:.0f} s"
        raise Transient(reason, stage="connect") from error
    try:
        answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError) as error:
        raise Defect(f"the look at {host.name} failed: {done.stderr[-500:]}", stage=verb) from error
    if "family" in answer:
        family = _FAMILIES.get(answer["family"], Misconfigured)
        raise family(answer["reason"], stage=answer["stage"], next_step_cmd=answer["next_step_cmd"])
    return answer
