"""The demonstration: a web service put into operation although its port is taken.

Real commands on this machine, in a scratch folder, without root, key or network: attempts fail, are
corrected, reach the threshold; the evidence goes to the planner; its revision succeeds.
"""

import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.embedded.port import any_free
from orchestrator.embedded.services import EmbeddedServices
from orchestrator.embedded.watched import Child
from orchestrator.submission import Submission, submit
from orchestrator.together import together
from orchestrator.views.messages import Message
from orchestrator.views.tasks import task_view
from orchestrator.views.timeline import Timeline
from shared.domain.config import Policy
from shared.domain.host import LOCALHOST
from shared.domain.ids import Ref
from shared.store.database import Database

_OCCUPANT = """
import http.server, sys
class Other(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"somebody else's service")
    def log_message(self, *words): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Other).serve_forever()
"""

_ENDED = frozenset({"done", "error", "cancelled", "waiting"})
_LOOK_EVERY = 0.2


@dataclass(frozen=True, slots=True)
class Stage:
    """Where the demonstration plays: a folder of its own, and a port that is taken."""

    folder: Path
    port: int
    services: EmbeddedServices

    @property
    def prompt(self) -> str:
        """What is asked for, in words."""
        return f"Put the status service into operation in {self.folder} on port {self.port}"


@contextmanager
def staged(folder: Path, environ: Mapping[str, str]) -> Iterator[Stage]:
    """Everything up, and the port taken by somebody else; nothing is left running afterwards."""
    site = folder / "site"
    site.mkdir(parents=True, exist_ok=True)
    with together(folder / "data", environ) as services:
        port = any_free()
        argv = (sys.executable, "-c", _OCCUPANT, str(port))
        services.supervisor.add(Child(name="somebody else", argv=argv, ready=lambda: _taken(port)))
        try:
            yield Stage(site, port, services)
        finally:
            end_service(site)


def play(stage: Stage, policy: Policy, tell: Callable[[Message], None]) -> tuple[int, str]:
    """Submit the task and tell its story as it happens; returns its number and its last phase.

    Raises Transient when the services are gone.
    """
    database = Database(stage.services.database_url)
    try:
        task_id = submit(database, Submission(stage.prompt, (LOCALHOST.name,), policy))
        return task_id, _follow(database, task_id, tell)
    finally:
        database.close()


def _follow(database: Database, task_id: int, tell: Callable[[Message], None]) -> str:
    timeline = Timeline(Ref(task_id))
    while True:
        with database.begin() as connection:
            phase = task_view(connection, Ref(task_id)).phase
            messages = timeline.read(connection)
        for message in messages:
            tell(message)
        if phase in _ENDED:
            return phase
        time.sleep(_LOOK_EVERY)


def end_service(site: Path) -> None:
    """End the service that the task has put into operation, by the id in its pid file."""
    for file in site.rglob("*.pid"):
        with suppress(OSError, ValueError):
            os.kill(int(file.read_text(encoding="ascii")), signal.SIGTERM)


def _taken(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
