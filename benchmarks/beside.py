"""This checkout beside another one, in one run: the same work in turn, each on its own stage.

python -m benchmarks.beside ../replan-before             eight launches of five rounds
python -m benchmarks.beside ../replan-before --short     two launches of three

The other checkout needs its own `.venv`. Besides the ratios it prints the CPU time that all
processes of a stage take for a plan of ten commands, submission included.

The launches of one and the same code differ by up to a fifth, for as long as they live, and which
side starts first matters: so both are launched several times, each as often first as second. The
ratio is the geometric mean over the launches. A checkout beside itself says what the noise is.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

HERE: Final = Path(__file__).parents[1]
PROGRAM: Final = Path(__file__).with_name("beside_stage.py")
MEASUREMENTS: Final = {
    "one_host": ("200 commands on one host", "commands/s"),
    "four_hosts": ("20 plans of 10 commands on four hosts", "commands/s"),
    "ring": ("50 plans of one command at once", "plans/s"),
    "cpu": ("CPU of all processes for a plan of 10", "ms"),
}
"""What is measured; more is better for all but CPU."""

Medians = dict[str, tuple[float, float]]


class Side:
    """A stage in a process of its own, which measures when it is told to."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def measure(self, name: str) -> dict[str, float]:
        """Have one measurement made; raises RuntimeError when the stage has ended."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise AssertionError("a side has pipes")
        stdin.write(f"{name}\n")
        stdin.flush()
        line = stdout.readline()
        if not line:
            raise RuntimeError(f"the stage ended with {self._process.wait()}")
        values: dict[str, float] = json.loads(line)
        return values


@contextmanager
def side(checkout: Path) -> Iterator[Side]:
    """The stage of a checkout, up and warm."""
    python = checkout / ".venv/bin/python"
    with subprocess.Popen(
        [str(python), str(PROGRAM)],
        cwd=checkout,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            found = Side(process)
            found.measure("ready")
            yield found
        finally:
            if process.stdin is not None:
                process.stdin.close()
            process.wait()


def compare(before: Side, now: Side, rounds: int) -> dict[str, tuple[list[float], list[float]]]:
    """Every measurement of both sides; which one begins changes from round to round."""
    found: dict[str, tuple[list[float], list[float]]] = {n: ([], []) for n in MEASUREMENTS}
    for number in range(rounds):
        for work in ("one_host", "four_hosts", "ring"):
            order = (0, 1) if number % 2 == 0 else (1, 0)
            for index in order:
                for name, value in (before, now)[index].measure(work).items():
                    found[name][index].append(value)
    return found


def launch(before: Path, now: Path, rounds: int, *, now_first: bool) -> Medians:
    """Medians of both sides (before, now) by measurement, on stages that live for these rounds."""
    with ExitStack() as stack:
        order = (now, before) if now_first else (before, now)
        sides = [stack.enter_context(side(checkout)) for checkout in order]
        found = compare(sides[now_first], sides[not now_first], rounds)
    return {n: (statistics.median(a), statistics.median(b)) for n, (a, b) in found.items()}


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("checkout", type=Path, help="the other checkout, with its own .venv")
    parser.add_argument("--short", action="store_true")
    asked = parser.parse_args()
    launches, rounds = (2, 3) if asked.short else (8, 5)
    found = [
        launch(asked.checkout.resolve(), HERE, rounds, now_first=number % 2 == 0)
        for number in range(launches)
    ]
    table = Table(title=f"this checkout beside the other one, {launches} launches in one run")
    for column in ("measurement", "before", "now", "ratio", "of the launches"):
        table.add_column(column, justify="left" if column == "measurement" else "right")
    for name, (words, unit) in MEASUREMENTS.items():
        pairs = [medians[name] for medians in found]
        then, today = (statistics.geometric_mean(values) for values in zip(*pairs, strict=True))
        ratios = sorted(b / a for a, b in pairs)
        table.add_row(
            words,
            f"{then:,.3g} {unit}",
            f"{today:,.3g} {unit}",
            f"{today / then:.2f}",
            f"{ratios[0]:.2f} – {ratios[-1]:.2f}",
        )
    Console(file=sys.stdout, width=120).print(table)


if __name__ == "__main__":
    main()
