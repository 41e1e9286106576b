"""A coordinator and a worker in the process of a test, driven by hand."""

from collections.abc import Callable

from orchestrator import waiting_jobs
from orchestrator.coordinator import Coordinator
from orchestrator.store import SqlLedger
from shared.store.database import Database


def carry_on(database: Database, carry_out: Callable[[int], object]) -> None:
    """Fold in what is reported and have each due job carried out, until nothing is left to do."""
    coordinator = Coordinator(SqlLedger(database))
    while True:
        coordinator.drain()
        with database.begin() as connection:
            due = waiting_jobs.waiting(connection, ring_again=0)
        if not due:
            return
        for job in due:
            carry_out(job.id)
