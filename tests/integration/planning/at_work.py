"""A coordinator, a worker and a scripted model, driven by hand."""

from dataclasses import dataclass

from sqlalchemy import text

from orchestrator.acts.caller import Caller
from shared.settings import load_settings
from shared.store.database import Database
from tests.fakes.model_server import ModelServer
from tests.services.by_hand import carry_on
from workers.wiring import Worker


@dataclass
class Installation:
    """A coordinator, a worker of every role and a scripted model, driven by hand."""

    database: Database
    worker: Worker
    model: ModelServer

    def carry_on(self) -> None:
        """Run until nothing is left to do."""
        carry_on(self.database, self.worker.lifecycle.carry_out)

    @property
    def caller(self) -> Caller:
        """Whoever acts on this installation."""
        return Caller.of_account(load_settings({}), self.database)

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """The rows of a query."""
        with self.database.begin() as connection:
            return [tuple(row) for row in connection.execute(text(query))]
