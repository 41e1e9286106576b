"""One side of `benchmarks.beside`: the stage of the checkout in the current folder.

It reads the names of measurements, one a line, and answers each with a line of JSON. It runs with
the packages of that checkout, which may be an older one: it uses no more than `benchmarks.stage`.
"""

import ctypes
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path.cwd()))

from benchmarks.stage import SPAN, Stage, set_up

PR_SET_CHILD_SUBREAPER = 36


def cpu_of_family(root: int) -> float:
    """CPU seconds of a process, of all below it, and of those that they have waited for."""
    times: dict[int, tuple[int, int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        times[int(folder.name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    ticks = 0
    for pid, (_, spent) in times.items():
        above = pid
        while above in times and above != root:
            above = times[above][0]
        ticks += spent if above == root else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def one_host(stage: Stage) -> dict[str, float]:
    """200 commands of one plan: commands a second."""
    task = stage.submit(["true"] * 200, "h1")
    stage.wait([task])
    return {"one_host": 200 / float(stage.scalar(SPAN, ids=[task]))}


def four_hosts(stage: Stage) -> dict[str, float]:
    """20 plans of 10 commands on four hosts: commands a second, and milliseconds of CPU a plan."""
    spent, begun = cpu_of_family(os.getpid()), time.perf_counter()
    tasks = [stage.submit(["true"] * 10, f"h{n % 4 + 1}") for n in range(20)]
    stage.wait(tasks)
    taken = time.perf_counter() - begun
    spent = cpu_of_family(os.getpid()) - spent
    return {"four_hosts": 200 / taken, "cpu": 1000 * spent / 20}


def ring(stage: Stage) -> dict[str, float]:
    """50 plans of one command at once: plans a second."""
    begun = time.perf_counter()
    stage.wait([stage.submit([":"], "localhost") for _ in range(50)])
    return {"ring": 50 / (time.perf_counter() - begun)}


def ready(_stage: Stage) -> dict[str, float]:
    """Nothing: the stage is up."""
    return {}


MEASUREMENTS: dict[str, Callable[[Stage], dict[str, float]]] = {
    "ready": ready,
    "one_host": one_host,
    "four_hosts": four_hosts,
    "ring": ring,
}


def main() -> None:
    """Measure what is asked for until there is nothing more to read."""
    # Runners outlive who started them: their time is to be found below this process all the same.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with set_up(4) as stage:
        for line in sys.stdin:
            print(json.dumps(MEASUREMENTS[line.strip()](stage)), flush=True)


if __name__ == "__main__":
    main()
