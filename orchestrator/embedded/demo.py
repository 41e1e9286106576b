"""The demonstration: replan starts a web service although its port is taken.

Real commands on this machine, in a scratch folder, without root, key or network: attempts fail, are
corrected, reach the threshold; the evidence goes to the planner; its revision succeeds.
"""

import json
import os
import signal
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from orchestrator.acts.tasks import TaskRequest
from orchestrator.embedded.port import any_free
from orchestrator.embedded.stack import run_stack
from orchestrator.embedded.stage import Stage, asks_nothing, policy_in
from orchestrator.embedded.watched import Child
from shared.domain.host import LOCALHOST

_RUNBOOK = "runbook"

_OCCUPANT = """
import http.server, sys
class Other(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"somebody else's service")
    def log_message(self, *words): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Other).serve_forever()
"""


@contextmanager
def set_stage(folder: Path, environ: Mapping[str, str], planner: str) -> Iterator[Stage]:
    """Start everything and occupy the port; nothing is left running afterwards."""
    site = folder / "site"
    site.mkdir(parents=True, exist_ok=True)
    port, spare = any_free(), any_free()
    if planner == _RUNBOOK:
        environ = {**environ, **policy_in(folder, _policy(site, port, spare))}
    else:  # what a model will want to run nobody knows
        environ = {**environ, **asks_nothing(folder)}
    with run_stack(folder / "data", environ) as services:
        argv = (sys.executable, "-I", "-c", _OCCUPANT, str(port))
        services.supervisor.add(
            Child(name="somebody else", argv=argv, ready=lambda: _is_taken(port))
        )
        prompt = f"Put the status service into operation in {site} on port {port} or {spare}"
        opening = (f"port {port} is already taken; now asking:", f'  "{prompt}"')
        settings = (f"planner={planner}", f"subtask_planner={planner}")
        try:
            yield Stage(services, opening, TaskRequest(prompt, (LOCALHOST.name,), settings))
        finally:
            end_service(site)


def _policy(site: Path, port: int, spare: int) -> str:
    """A policy that allows the server of the runbook besides what every installation allows."""
    words = ("-I", "-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory", f"{site}/www")
    quoted = (each.replace("'", "''") for each in words)
    operands = " ".join(f"'{each}'" for each in quoted) + f" '{port}'|'{spare}'"
    rule = {"run": "python3", "style": "exact", "operands": operands, "directory": "."}
    allowed = {"reason": "the server of the demonstration", "rules": [rule]}
    return json.dumps({"allow": [allowed]})


def end_service(site: Path) -> None:
    """End the service that the task started, by the id in its pid file."""
    for file in site.rglob("*.pid"):
        with suppress(OSError, ValueError):
            os.kill(int(file.read_text(encoding="ascii")), signal.SIGTERM)


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
