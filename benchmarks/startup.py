"""What it takes until a command line answers, beside a Python that does nothing.

python -m benchmarks.startup

`task list` lists the tasks of the database that the settings name; without one it is refused, after
it has loaded all that a list needs.
"""

import resource
import subprocess
import sys
import time
from statistics import median
from typing import Final

from orchestrator.process_command import process_command

ROUNDS: Final = 9
NOTHING: Final = (sys.executable, "-P", "-c", "pass")
COMMANDS: Final = ("--version", "--help", "task submit --help", "status", "task list")


def took(command: tuple[str, ...]) -> tuple[float, float]:
    """Seconds of this processor's time, and of the clock, that a process takes."""
    before, begun = _used(), time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return _used() - before, time.perf_counter() - begun


def _used() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Measure in turn, and print the medians; the ratio is that of the processor's time."""
    commands = {"python -c pass": NOTHING} | {
        f"replan {words}": process_command("orchestrator.cli.main", *words.split())
        for words in COMMANDS
    }
    for command in commands.values():
        took(command)  # compiles what is not compiled, and reads it from the disk
    rounds = [{name: took(command) for name, command in commands.items()} for _ in range(ROUNDS)]
    (bare, _), *_ = (_medians(rounds, name) for name in commands)
    for name in commands:
        used, waited = _medians(rounds, name)
        told = f"{used * 1e3:5.0f} ms of a processor, {waited * 1e3:5.0f} ms in all"
        print(f"{name:28} {told}, {used / bare:4.0f} times a Python that does nothing")


def _medians(rounds: list[dict[str, tuple[float, float]]], name: str) -> tuple[float, float]:
    used, waited = zip(*(each[name] for each in rounds), strict=True)
    return median(used), median(waited)


if __name__ == "__main__":
    main()
