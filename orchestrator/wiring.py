"""The one place where the orchestrator's parts are chosen and joined."""

import os
import signal
import socket
import threading
from collections.abc import Callable
from importlib.metadata import version

import structlog

from orchestrator.coordinator import Coordinator
from orchestrator.loops import Loop
from orchestrator.presence_watch import PresenceWatch
from orchestrator.project_reports import report_completed
from orchestrator.relay import Relay
from orchestrator.store import SqlLedger
from orchestrator.sweeper import Sweeper
from shared.domain.exits import ExitCode
from shared.domain.process_name import COORDINATOR, ProcessName
from shared.health import Pulse
from shared.queue.app import CeleryBell, make_app
from shared.settings import Settings
from shared.startup import await_servers
from shared.store.database import DOORBELL, REPORTS, Database

log = structlog.get_logger()

SWEEP_EVERY = 5.0
"""Seconds between two looks for what has waited too long."""

COORDINATE_EVERY = 1.0
"""Seconds after which the inbox is read even if no notification came."""


def run_coordinator(settings: Settings, stop: threading.Event | None = None) -> ExitCode:
    """Coordinate until SIGTERM or SIGINT (or until `stop` is set); several may run at once.

    CRASHED if one of its loops ended before that, for whatever reason: the others end, too.

    Raises what `await_servers` raises: Transient when a server stays away, Misconfigured when the
    database has another version or refuses us.
    """
    stopping = stop or _stop_on_signal()
    name = ProcessName(version("replan"), (COORDINATOR,), os.getpid(), socket.gethostname())
    database = Database.of(settings.server, application=name.session)
    if not await_servers(settings.server, database, stopping):
        return ExitCode.DONE
    crashed = threading.Event()
    watch = PresenceWatch(database, name=name)
    threads = [
        threading.Thread(target=_run_loop, args=(name, loop, stopping, crashed), name=name)
        for name, loop in _loops(settings, database, watch, stopping)
    ]
    for thread in threads:
        thread.start()
    log.info("coordinator_started")
    for thread in threads:
        thread.join()
    watch.close()
    database.close()
    code = ExitCode.CRASHED if crashed.is_set() else ExitCode.DONE
    log.info("coordinator_stopped", exit_code=int(code))
    return code


def _run_loop(name: str, loop: Loop, stop: threading.Event, crashed: threading.Event) -> None:
    """Run a loop; if it ends unasked, stop the others: one that is missing does harm unseen."""
    try:
        loop.run()
    except BaseException:
        log.exception("loop_crashed", loop=name)
    finally:
        if not stop.is_set():
            crashed.set()
            stop.set()


def _loops(
    settings: Settings, database: Database, watch: PresenceWatch, stop: threading.Event
) -> list[tuple[str, Loop]]:
    coordinator = Coordinator(SqlLedger(database))
    bell = CeleryBell(make_app(settings.server.broker_url))
    relay = Relay(database, bell, ring_again=settings.server.ring_again)
    sweeper = Sweeper(database, max_claims=settings.server.max_claims)
    pulse = Pulse.from_environ(os.environ, "coordinator", "relay", "sweeper", "presence")

    def loop(name: str, channel: str | None, work: Callable[[], float]) -> tuple[str, Loop]:
        return name, Loop(name, database, channel, work, stop, beat=pulse.beats(name))

    def coordinate() -> float:
        coordinator.drain()
        return COORDINATE_EVERY

    def sweep() -> float:
        sweeper.sweep()
        report_completed(database)
        return SWEEP_EVERY

    return [
        loop("coordinator", REPORTS, coordinate),
        loop("relay", DOORBELL, relay.ring_due),
        loop("sweeper", None, sweep),
        loop("presence", None, watch.look),
    ]


def _stop_on_signal() -> threading.Event:
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop
