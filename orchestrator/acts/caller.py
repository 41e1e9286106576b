"""Who acts, and with what: the same for every face, and the only place that checks roles."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from orchestrator.access.actor import Actor, account
from orchestrator.access.roles import ON_THE_MACHINE, require
from orchestrator.acts.signing import Signer
from shared.settings import Settings

if TYPE_CHECKING:  # SQLAlchemy loads when the database is needed
    from sqlalchemy import Connection

    from shared.store.database import Database

Reading: TypeAlias = "AbstractContextManager[Connection]"
"""A transaction for reading views."""

Writing: TypeAlias = "Connection"
"""A transaction that is open, in which an act writes."""


class Caller:
    """Who acts, the settings of the face in use, and what acts work with.

    The database is opened, and the signing key read, when an act needs them. `on_machine` is true
    for an account on this machine, which may also do what tokens may not.
    """

    def __init__(
        self,
        actor: Actor,
        settings: Settings,
        *,
        database: "Database | None" = None,
        on_machine: bool = False,
    ) -> None:
        self.actor = actor
        self.settings = settings
        self._on_machine = on_machine
        self._given = database

    @classmethod
    def of_account(cls, settings: Settings, database: "Database | None" = None) -> "Caller":
        """The account that runs this process: an admin."""
        return cls(account(), settings, database=database, on_machine=True)

    @cached_property
    def database(self) -> "Database":
        """The database, at this program's version. Raises Misconfigured or Transient."""
        if self._given is not None:
            return self._given
        from shared.store.database import Database
        from shared.store.migrate import require_current

        database = Database.of(self.settings.server, pooled=False)
        require_current(database)
        return database

    @cached_property
    def signer(self) -> Signer:
        """Signs what the caller approves; raises Misconfigured when its key cannot be used."""
        return Signer(self.settings.server.data_dir)

    def may(self, verb: str) -> None:
        """Return when the caller may do the verb.

        Raises Rejected when its role does not cover it, and Misconfigured when only an account on
        the machine may do it, or there is no such verb.
        """
        if not (self._on_machine and verb in ON_THE_MACHINE):
            require(self.actor.role, verb)

    @contextmanager
    def reading(self, verb: str) -> Iterator["Connection"]:
        """A transaction for the views of a verb: one snapshot. Raises what `may` raises."""
        self.may(verb)
        with self.database.reading() as connection:
            yield connection
