"""The demonstration: replan starts a web service although its port is taken.

Real commands on this machine, in a scratch folder, without root, key or network: attempts fail, are
corrected, reach the threshold; the evidence goes to the planner; its revision succeeds.
"""

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
from orchestrator.embedded.stage import Stage, asks_nothing
from orchestrator.embedded.watched import Child
from shared.domain.host import LOCALHOST

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
    environ = {**environ, **asks_nothing(folder)}
    with run_stack(folder / "data", environ) as services:
        port = any_free()
        argv = (sys.executable, "-I", "-c", _OCCUPANT, str(port))
        services.supervisor.add(
            Child(name="somebody else", argv=argv, ready=lambda: _is_taken(port))
        )
        prompt = f"Put the status service into operation in {site} on port {port}"
        opening = (f"port {port} is already taken; now asking:", f'  "{prompt}"')
        settings = (f"planner={planner}", f"subtask_planner={planner}")
        try:
            yield Stage(services, opening, TaskRequest(prompt, (LOCALHOST.name,), settings))
        finally:
            end_service(site)


def end_service(site: Path) -> None:
    """End the service that the task started, by the id in its pid file."""
    for file in site.rglob("*.pid"):
        with suppress(OSError, ValueError):
            os.kill(int(file.read_text(encoding="ascii")), signal.SIGTERM)


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
