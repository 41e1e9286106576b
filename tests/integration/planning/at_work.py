"""A coordinator, a worker and a scripted model, driven by hand."""

from dataclasses import dataclass

from sqlalchemy import text

from orchestrator import waiting_jobs
from orchestrator.acts.caller import Caller
from orchestrator.coordinator import Coordinator
from orchestrator.store import SqlLedger
from shared.settings import load_settings
from shared.store.database import Database
from tests.fakes.model_server import ModelServer
from workers.wiring import Worker


@dataclass
class Installation:
    """A coordinator, a worker of every role and a scripted model, driven by hand."""

    database: Database
    worker: Worker
    model: ModelServer

    def carry_on(self) -> None:
        """Run until nothing is left to do."""
        coordinator = Coordinator(SqlLedger(self.database))
        while True:
            coordinator.drain()
            with self.database.begin() as connection:
                due = waiting_jobs.waiting(connection, ring_again=0)
            if not due:
                return
            for job in due:
                self.worker.lifecycle.carry_out(job.id)

    @property
    def caller(self) -> Caller:
        """Whoever acts on this installation."""
        return Caller.of_account(load_settings({}), self.database)

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """The rows of a query."""
        with self.database.begin() as connection:
            return [tuple(row) for row in connection.execute(text(query))]
