"""DBOS: a durable workflow for each plan, each of its steps a no-op that is recorded."""

import contextlib
import sys
import time

from dbos import DBOS, DBOSConfig

from benchmarks.peers.programs.brief import answer, read


@DBOS.step()
def nothing() -> None:
    """A step."""


@DBOS.workflow()
def plan(steps: int) -> int:
    """Its steps, one after another."""
    for _ in range(steps):
        nothing()
    return steps


def main() -> None:
    """Launch, then measure."""
    brief = read()
    config: DBOSConfig = {
        "name": "benchmark",
        "system_database_url": brief.database,
        "log_level": "ERROR",
        "run_admin_server": False,
    }
    with contextlib.redirect_stdout(sys.stderr):
        DBOS(config=config)
        DBOS.launch()
        plan(1)
        begun = time.perf_counter()
        handles = [DBOS.start_workflow(plan, brief.commands) for _ in range(brief.plans)]
        count = sum(handle.get_result() for handle in handles)
        seconds = time.perf_counter() - begun
        DBOS.destroy()
    answer(count, seconds)


if __name__ == "__main__":
    main()
