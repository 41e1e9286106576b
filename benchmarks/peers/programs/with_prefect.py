"""Prefect: one flow whose tasks are no-ops, with a local server of its own."""

import os
import time

from benchmarks.peers.programs.brief import Brief, answer, read


def settle(brief: Brief) -> None:
    """Keep everything in the scratch folder and say nothing; before Prefect is imported."""
    os.environ.update(
        PREFECT_HOME=brief.scratch,
        PREFECT_PROFILES_PATH=f"{brief.scratch}/profiles.toml",
        PREFECT_SERVER_ALLOW_EPHEMERAL_MODE="true",
        PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS="90",
        PREFECT_SERVER_ANALYTICS_ENABLED="false",
        PREFECT_LOGGING_LEVEL="CRITICAL",
        PREFECT_LOGGING_TO_API_ENABLED="false",
        DO_NOT_TRACK="1",
    )
    os.environ.pop("PREFECT_API_URL", None)


def measured(brief: Brief) -> float:
    """Seconds that the flow takes, after one that warms up."""
    from prefect import flow, task

    @task
    def nothing() -> None:
        """A task."""

    @flow
    def plan(tasks: int) -> None:
        for _ in range(tasks):
            nothing()

    plan(1)
    begun = time.perf_counter()
    plan(brief.commands)
    return time.perf_counter() - begun


def main() -> None:
    """Start the server, then measure."""
    brief = read()
    settle(brief)
    answer(brief.commands, measured(brief))


if __name__ == "__main__":
    main()
