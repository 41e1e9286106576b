"""The stack on one machine: the servers, the coordinator, the workers and the model gateway.

`replan up` and the demonstration run it. Every process is a child of this one and ends with it,
however it ends.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from orchestrator.acts.host_keys import is_loopback
from orchestrator.acts.signing import Signer
from orchestrator.embedded.folder import HeldFolder
from orchestrator.embedded.port import LOOPBACK, choose
from orchestrator.embedded.services import EmbeddedServices
from orchestrator.embedded.supervisor import Supervisor
from orchestrator.embedded.watched import Child, ChildEvent
from orchestrator.process_command import process_command
from shared.health import FOLDER, silent
from shared.settings import ConnectionFile, load_settings
from shared.store.migrate import upgrade

PLANNING_ROLES = ("taskmaster", "planner", "subtask_planner", "escalation")


@contextmanager
def run_stack(
    data_dir: Path,
    environ: Mapping[str, str],
    *,
    existing: tuple[str, str] | None = None,
    executors: int = 1,
    gateway: str | None = None,
    script: Path | None = None,
    on_event: Callable[[ChildEvent], None] = lambda _: None,
) -> Iterator["Stack"]:
    """Run the whole stack, ready for tasks, until the context is left.

    The children get `environ` and the addresses of the database and the broker; `existing` names
    servers (database URL, broker URL) to use instead of embedded ones. `gateway` is the address of
    the model gateway; if it is empty, a port of this machine, the same after a restart; None: no
    gateway. None is started where the address names another machine. It answers from the `script`,
    if there is one, in place of providers.

    Raises Misconfigured when the folder is in use or a process does not start.
    """
    with _servers(data_dir, existing, on_event) as stack:
        upgrade(stack.database_url)
        given = load_settings(environ).server
        own = Signer(given.approval_key_dir or data_dir).public
        env = {
            **environ,
            "REPLAN_DATA_DIR": str(data_dir.absolute()),
            "REPLAN_DATABASE_URL": stack.database_url,
            "REPLAN_BROKER_URL": stack.broker_url,
            # Pinned: whoever replaces the file of the public half later changes nothing.
            "REPLAN_SERVER_APPROVAL_KEYS": json.dumps(given.approval_keys or [own]),
        }
        if gateway is not None:
            port = choose(data_dir / "gateway-port") if not gateway else None
            env["REPLAN_SERVER_GATEWAY_URL"] = gateway or f"http://{LOOPBACK}:{port}"
        started = gateway is not None and is_served_here(gateway)
        members = [*_members(data_dir, env, executors)]
        if started:
            words = () if script is None else ("--script", str(script))
            members.append(_member(data_dir, env, "gateway", "workers", "gateway", *words))
        stack.supervisor.add(*members)
        ConnectionFile(stack.database_url, stack.broker_url, os.getpid()).write(data_dir)
        try:
            yield stack
        finally:
            ConnectionFile.remove(data_dir)


def is_served_here(gateway: str) -> bool:
    """Whether a gateway of that address is to run on this machine; one that is odd says so."""
    try:
        host = urlsplit(gateway).hostname
    except ValueError:
        return True
    return not host or is_loopback(host)


@dataclass(frozen=True, slots=True)
class Stack:
    """The addresses of the servers, and the supervisor of the processes."""

    database_url: str
    broker_url: str
    supervisor: Supervisor


@contextmanager
def _servers(
    data_dir: Path,
    existing: tuple[str, str] | None,
    on_event: Callable[[ChildEvent], None],
) -> Iterator[Stack]:
    if existing is not None:
        with HeldFolder(data_dir), Supervisor(data_dir / "logs", on_event) as supervisor:
            yield Stack(*existing, supervisor)
        return
    with EmbeddedServices(data_dir, on_event=on_event) as services:
        yield Stack(services.database_url, services.broker_url, services.supervisor)


def _members(folder: Path, env: Mapping[str, str], executors: int) -> Iterator[Child]:
    yield _member(folder, env, "coordinator", "orchestrator.cli.main", "coordinator", "start")
    yield _member(folder, env, "planners", "workers", "start", *PLANNING_ROLES)
    for number in range(1, executors + 1):
        yield _member(folder, env, f"executor-{number}", "workers", "start", "executor")


def _member(folder: Path, env: Mapping[str, str], name: str, module: str, *words: str) -> Child:
    """A child that is ready once each of its parts has reported its health."""
    pulse = folder / "pulse" / name
    pulse.parent.mkdir(mode=0o700, exist_ok=True)
    pulse.parent.chmod(0o700)
    shutil.rmtree(pulse, ignore_errors=True)
    return Child(
        name=name,
        argv=process_command(module, *words),
        env={**env, FOLDER: str(pulse)},
        ready=lambda: not silent(pulse),
    )
