"""`make bench`: every measurement in one run, each beside its floor.

python -m benchmarks            all of it (some minutes)
python -m benchmarks --short    fewer repetitions, for continuous integration
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table
from sqlalchemy import text

from benchmarks import bare, noop
from benchmarks.stage import SPAN, Stage, set_up

FIRST = text("""
    SELECT extract(epoch FROM min(a.started_at) - t.created_at)
    FROM tasks t JOIN runs r ON r.task_id = t.id JOIN attempts a ON a.run_id = r.id
    WHERE t.id = :id GROUP BY t.created_at
""")
HISTORY = text("""
    INSERT INTO attempts (key, run_id, step, revision, subtask, pass_no, try_no, number, command,
        outcome, counted, never_red, reason, stdout, stderr, stdout_size, stderr_size,
        check_output, started_at, ended_at, worker)
    SELECT 'history-' || n, (SELECT min(id) FROM runs), 1, 0, 1, 1, 0, n, 'true', 'ok', false,
        false, '', '', '', 0, 0, '', now(), now(), 'benchmark' FROM generate_series(1, :rows) AS n
""")


def one_host(stage: Stage, commands: int, rounds: int) -> tuple[float, float]:
    """(a) Ours and the floor, commands a second, medians of rounds taken in turn."""
    ours, floor = [], []
    for _ in range(rounds):
        floor.append(bare.sequential(stage.sshd[0], commands))
        task = stage.submit(["true"] * commands, "h1")
        stage.wait([task])
        ours.append(commands / float(stage.scalar(SPAN, ids=[task])))
    return statistics.median(ours), statistics.median(floor)


def four_hosts(stage: Stage, rounds: int) -> tuple[float, float]:
    """(b) 20 tasks x 10 commands at once on four hosts."""
    ours, floor = [], []
    for _ in range(rounds):
        floor.append(bare.fleet(stage.sshd, 20, 10))
        begun = time.perf_counter()
        tasks = [stage.submit(["true"] * 10, f"h{n % 4 + 1}") for n in range(20)]
        stage.wait(tasks)
        ours.append(200 / (time.perf_counter() - begun))
    return statistics.median(ours), statistics.median(floor)


def whole_ring(stage: Stage, tasks: int) -> tuple[float, float]:
    """(c) Tasks a second through the whole ring, and Celery's own no-ops on the same broker."""
    url = stage.services.broker_url
    with noop.worker(url) as app:
        begun = time.perf_counter()
        noop.wait_for(app, url, noop.send(app, url, tasks))
        floor = tasks / (time.perf_counter() - begun)
    begun = time.perf_counter()
    stage.wait([stage.submit([":"], "localhost") for _ in range(tasks)])
    return tasks / (time.perf_counter() - begun), floor


def first_command(stage: Stage, count: int) -> tuple[float, float]:
    """(d) Seconds from submission to the first command, and from sending to running in Celery."""
    url = stage.services.broker_url
    with noop.worker(url) as app:
        floor = statistics.median(noop.latencies(app, url, count))
    spans = []
    for _ in range(count):
        task = stage.submit(["true"], "localhost")
        stage.wait([task])
        spans.append(float(stage.scalar(FIRST, id=task)))
    return statistics.median(spans), floor


def resident(stage: Stage) -> dict[str, float]:
    """(e) Resident memory of each process in MB; 0 where the system does not tell."""
    sizes = {}
    for name, pid in sorted(stage.pids().items()):
        try:
            lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
            kilobytes = next(line for line in lines if line.startswith("VmRSS:")).split()[1]
        except (OSError, StopIteration):
            kilobytes = "0"
        sizes[name] = int(kilobytes) / 1024
    return sizes


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true")
    short = parser.parse_args().short
    commands, rounds = (50, 1) if short else (200, 5)
    console = Console()
    table = Table(title="replan beside its floors, one run")
    for column in ("measurement", "replan", "floor", "ratio"):
        table.add_column(column, justify="left" if column == "measurement" else "right")

    def add(name: str, pair: tuple[float, float], unit: str) -> None:
        ours, floor = pair
        table.add_row(name, f"{ours:,.3g} {unit}", f"{floor:,.3g} {unit}", f"{ours / floor:.2f}")
        console.print(f"  {name}: {ours:,.3g} beside {floor:,.3g} {unit}")

    console.print("starting Postgres, Valkey, four sshd, a coordinator and workers …")
    with set_up(4) as stage:
        named: list[tuple[str, Callable[[], tuple[float, float]], str]] = [
            (
                f"(a) {commands} commands, one host; bare paramiko",
                lambda: one_host(stage, commands, rounds),
                "/s",
            ),
            (
                "(b) 20 x 10 commands, four hosts; bare paramiko, 8 threads",
                lambda: four_hosts(stage, rounds),
                "/s",
            ),
            (
                "(c) tasks through the ring; Celery no-ops",
                lambda: whole_ring(stage, 50 if short else 400),
                "/s",
            ),
            (
                "(d) submit to first command; Celery latency",
                lambda: first_command(stage, 5 if short else 20),
                "s",
            ),
        ]
        for name, measure, unit in named:
            add(name, measure(), unit)
        rows = 2_000 if short else 100_000
        stage.scalar(text("SELECT 1"))
        with stage.database.begin() as connection:
            connection.execute(HISTORY, {"rows": rows})
        add(f"(f) as (a), {rows:,} attempts before it", one_host(stage, commands, rounds), "/s")
        for name, megabytes in resident(stage).items():
            table.add_row(f"(e) resident: {name}", f"{megabytes:.0f} MB", "", "")
    console.print(table)


if __name__ == "__main__":
    main()
