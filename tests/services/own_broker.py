"""A Valkey of a test's own, which it may configure, load and turn into something else."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import redis

from orchestrator.embedded import port
from orchestrator.embedded.supervisor import Supervisor
from orchestrator.embedded.valkey import program
from orchestrator.embedded.watched import Child

PASSWORD: Final = "hush"


class OwnBroker:
    """The server on `port`, its data in `folder`; a password is wanted."""

    def __init__(self, folder: Path, supervisor: Supervisor, number: int) -> None:
        self.folder = folder
        self.port = number
        self.url = f"redis://:{PASSWORD}@{port.LOOPBACK}:{number}/0"
        self._supervisor = supervisor

    def start(self, **more: str) -> None:
        """Start it; returns once it listens, though it may still be loading."""
        configuration = {
            "bind": port.LOOPBACK,
            "port": str(self.port),
            "requirepass": PASSWORD,
            "dir": str(self.folder),
            "save": "",
            "enable-debug-command": "yes",
            "enable-protected-configs": "yes",
            "loading-process-events-interval-bytes": "1024",
            **{name.replace("_", "-"): value for name, value in more.items()},
        }
        words = [word for key, value in configuration.items() for word in (f"--{key}", value)]
        self._supervisor.add(
            Child(
                name=f"valkey-{self.port}",
                argv=(str(program()), *words),
                env={"LC_ALL": "C"},
                cwd=self.folder,
                ready=self._listens,
            )
        )

    def restart_slowly(self, microseconds: int = 300) -> None:
        """End it and start it again: it takes that long to load each key that it saved."""
        self._supervisor.remove(f"valkey-{self.port}")
        self.start(key_load_delay=str(microseconds))

    def client(self) -> redis.Redis:
        """A connection of the test's own."""
        return redis.Redis.from_url(self.url, socket_timeout=10.0)

    def _listens(self) -> bool:
        with self.client() as client:
            try:
                client.ping()
            except redis.BusyLoadingError:
                return True
            except (redis.ConnectionError, redis.TimeoutError):
                return False
        return True


@contextmanager
def own_broker() -> Iterator[OwnBroker]:
    """A server that runs until the end of the context."""
    with (
        TemporaryDirectory(prefix="replan-valkey-") as folder,
        Supervisor(Path(folder) / "logs") as supervisor,
    ):
        made = OwnBroker(Path(folder), supervisor, port.any_free())
        made.start()
        yield made
