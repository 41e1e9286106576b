"""What a program is told, and the one line that it answers. The standard library only."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Server:
    """An SSH server and the way in; the paths are of files."""

    host: str
    port: int
    user: str
    key: str
    known_hosts: str


@dataclass(frozen=True, slots=True)
class Brief:
    """The work: `plans` at once, each of `commands` one after another.

    `form` is the peer's way of doing it, where it has several. `database` and `broker` are URLs of
    a Postgres database and a Redis database that the peers have for themselves; `scratch` is an
    empty folder for this program alone.
    """

    plans: int
    commands: int
    form: str
    servers: tuple[Server, ...]
    database: str
    broker: str
    scratch: str

    @property
    def count(self) -> int:
        """All commands together."""
        return self.plans * self.commands

    def server_of(self, plan: int) -> Server:
        """Where the plan of that number, from 0, runs."""
        return self.servers[plan % len(self.servers)]


def parse(text: str) -> Brief:
    """A brief from its JSON; raises KeyError, TypeError or ValueError when it is none."""
    values = json.loads(text)
    values["servers"] = tuple(Server(**server) for server in values["servers"])
    return Brief(**values)


def read() -> Brief:
    """The brief in the file that the first argument names."""
    return parse(Path(sys.argv[1]).read_text(encoding="utf-8"))


def answer(count: int, seconds: float, latencies: Sequence[float] = ()) -> None:
    """Print the figures: commands that succeeded, in how many seconds, each one's seconds.

    The time is without starting the program and connecting to the hosts.
    """
    milliseconds = [round(latency * 1000, 3) for latency in latencies]
    line = {"count": count, "seconds": seconds, "latencies_ms": milliseconds}
    print(json.dumps(line), flush=True)
