"""What the executor keeps in memory: with 200 warm hosts, and over 10,000 commands.

python -m benchmarks.memory
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.stage import Stage, enrol, set_up

EXECUTOR: Final = "executor-1"
SERVERS: Final = 4
SSHD: Final = ("MaxStartups 200", "MaxSessions 20")
"""Many hosts that are one server in truth: as many connections at once as they would take."""

COMMANDS_EACH: Final = 100
TASKS_AT_ONCE: Final = 10


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident memory of one executor in MiB: before any host, idle with warm ones, in the growth.

    Between `before` and `after` it ran `commands` commands; the first was taken after a tenth as
    many, when everything that is loaded at need had been.
    """

    fresh: float
    hosts: int
    connections: int
    warm: float
    commands: int
    before: float
    after: float


def measure(say: Callable[[str], None], *, hosts: int = 200, commands: int = 10_000) -> Memory:
    """Both measurements, each with an executor of its own."""
    with set_up(SERVERS, *SSHD) as stage:
        fresh = resident(stage)
        connections = warm_up(stage, hosts)
        warm = resident(stage)
        say(f"{hosts} hosts, {connections} connections: {warm:.0f} MiB, {fresh:.0f} before")
    with set_up(SERVERS) as stage:
        work(stage, commands // 10)
        before = resident(stage)
        say(f"after {commands // 10:,} commands: {before:.1f} MiB")
        work(stage, commands)
        after = resident(stage)
        say(f"after {commands:,} more: {after:.1f} MiB")
    return Memory(fresh, hosts, connections, warm, commands, before, after)


def warm_up(stage: Stage, hosts: int) -> int:
    """One task on each of so many host names; how many connections the executor holds then."""
    names = [f"warm{number}" for number in range(hosts)]
    for number, name in enumerate(names):
        enrol(stage.database, name, stage.sshd[number % len(stage.sshd)])
    stage.wait([stage.submit(["true"], name) for name in names])
    return established(stage)


def work(stage: Stage, commands: int) -> None:
    """That many commands, in tasks of a hundred on all hosts."""
    tasks = commands // COMMANDS_EACH
    for first in range(0, tasks, TASKS_AT_ONCE):
        numbers = range(first, min(first + TASKS_AT_ONCE, tasks))
        targets = [f"h{number % len(stage.sshd) + 1}" for number in numbers]
        stage.wait([stage.submit(["true"] * COMMANDS_EACH, target) for target in targets])


def resident(stage: Stage) -> float:
    """Resident memory of the executor in MiB; raises OSError where the system does not tell."""
    lines = _proc(stage, "status").read_text(encoding="utf-8").splitlines()
    kibibytes = next(line for line in lines if line.startswith("VmRSS:")).split()[1]
    return round(int(kibibytes) / 1024, 1)


def established(stage: Stage) -> int:
    """How many TCP connections the executor has to the stage's sshd."""
    own = {_target(entry) for entry in _proc(stage, "fd").iterdir()}
    ports = {server.port for server in stage.sshd}
    table = _proc(stage, "net/tcp").read_text(encoding="ascii").splitlines()[1:]
    rows = (line.split() for line in table)
    remote = ((row[2].partition(":")[2], row[9]) for row in rows)
    return sum(f"socket:[{inode}]" in own and int(port, 16) in ports for port, inode in remote)


def _proc(stage: Stage, name: str) -> Path:
    return Path(f"/proc/{stage.pids()[EXECUTOR]}/{name}")


def _target(entry: Path) -> str:
    try:
        return str(entry.readlink())
    except FileNotFoundError:
        return ""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--commands", type=int, default=10_000)
    asked = parser.parse_args()
    print(measure(print, hosts=asked.hosts, commands=asked.commands))


if __name__ == "__main__":
    main()
