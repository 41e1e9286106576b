"""Who acts, and with what: the same for every face, and the only place that checks roles."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from orchestrator.access.actor import Actor, account
from orchestrator.access.origin import OriginKind
from orchestrator.access.roles import ON_THE_MACHINE, open_to_jobs, require
from orchestrator.acts.done import Note
from shared.domain.errors import Rejected, ReplanError
from shared.domain.next_step import NextStep
from shared.settings import Settings

if TYPE_CHECKING:  # loaded when an act needs the database, or the signing key
    from sqlalchemy import Connection

    from orchestrator.access.approval_key import Passphrases
    from orchestrator.acts.signing import Signer
    from shared.store.database import Database

Reading: TypeAlias = "AbstractContextManager[Connection]"
"""A transaction for reading views."""

Writing: TypeAlias = "Connection"
"""A transaction that is open, in which an act writes."""


class Caller:
    """Who acts, the settings of the face in use, and what acts work with.

    The database is opened, and the signing key read, when an act needs them. `on_machine` is true
    for an account on this machine, which may also do what tokens may not. `passphrases` asks for
    that of the signing key. `remarks` are added to the notes of the next act that is done.
    """

    def __init__(
        self,
        actor: Actor,
        settings: Settings,
        *,
        database: "Database | None" = None,
        on_machine: bool = False,
        passphrases: "Passphrases | None" = None,
    ) -> None:
        self._passphrases = passphrases
        self.actor = actor
        self.settings = settings
        self._on_machine = on_machine
        self._given = database
        self.remarks: list[Note] = []

    @classmethod
    def of_account(
        cls,
        settings: Settings,
        database: "Database | None" = None,
        passphrases: "Passphrases | None" = None,
    ) -> "Caller":
        """The account that runs this process: an admin."""
        return cls(account(), settings, database=database, on_machine=True, passphrases=passphrases)

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
    def signer(self) -> "Signer":
        """Signs what the caller approves; raises Misconfigured when its key cannot be used."""
        from orchestrator.acts.signing import Signer

        return Signer(self.settings.server.approval_folder, self._passphrases)

    def may(self, verb: str) -> None:
        """Return when the caller may do the verb.

        Raises Rejected when its role does not cover it or a job of replan may not do it, and
        Misconfigured when only an account on the machine may do it, or there is no such verb.
        """
        self._refuse_job(verb)
        if not (self._on_machine and verb in ON_THE_MACHINE):
            require(self.actor.role, verb)

    @contextmanager
    def reading(self, verb: str) -> Iterator["Connection"]:
        """A transaction for the views of a verb: one snapshot. Raises what `may` raises."""
        self.may(verb)
        with self.database.reading() as connection:
            yield connection

    def _refuse_job(self, verb: str) -> None:
        """Raise Rejected when a job may not do the verb; the audit gets an entry, if it can."""
        origin = self.actor.origin
        if origin is None or origin.kind is not OriginKind.JOB or open_to_jobs(verb):
            return
        from orchestrator.access import audit

        entry = audit.Act(verb, origin.attempt, {"refused": True})
        with suppress(ReplanError), self.database.begin() as connection:
            audit.record(connection, self.actor, entry)
        raise Rejected(
            f"{verb} was asked for by a command that replan itself runs ({origin.attempt}), and "
            "only people may do that; the audit has an entry",
            stage="access",
            next_step=NextStep.of("intervention list"),
        )
