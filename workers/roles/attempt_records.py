"""What the database says about an attempt of an agent, for whoever drives it."""

from collections.abc import Sequence

from shared.domain.attempt_notes import AttemptNote
from shared.store import attempt_notes, model_calls
from shared.store.database import Database
from shared.store.model_calls import CallSigns


class AttemptRecords:
    """Reads by the keys of attempts; every function raises Transient."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def notes(self, key: str) -> Sequence[AttemptNote]:
        """What people were told about it, oldest first."""
        with self._database.autocommit() as connection:
            return attempt_notes.of_attempt(connection, key)

    def calls(self, key: str) -> CallSigns:
        """What happens for it at the gateway."""
        with self._database.autocommit() as connection:
            return model_calls.signs_of_attempt(connection, key)
