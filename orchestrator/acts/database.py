"""What a person may do with the database: migrate it, and ask for its version.

`Caller.database` requires the right version, so these acts do not use it.
"""

from dataclasses import dataclass

from orchestrator.access import audit
from orchestrator.access.audit import Act
from orchestrator.acts.caller import Caller
from orchestrator.acts.verbs import act
from shared.domain.errors import Misconfigured
from shared.store.database import Database
from shared.store.migrate import Version, require_current, upgrade, version


@dataclass(frozen=True, slots=True)
class Status:
    """The version of the database, and why this program cannot use it, if it cannot."""

    version: Version
    problem: Misconfigured | None


@act("db.migrate")
def migrate(caller: Caller) -> Version:
    """Bring the database to this program's version; safe to repeat. Raises Misconfigured.

    A changed version is entered in the audit, which begins with this entry.
    """
    database = Database.of(caller.settings.server, pooled=False)
    before = version(database)
    after = upgrade(caller.settings.server.database_url)
    if before.found != after.found:
        details = {"from": before.found, "to": after.found}
        with database.begin() as connection:
            audit.record(connection, caller.actor, Act("db.migrate", "database", details))
    return after


@act("db.status")
def status(caller: Caller) -> Status:
    """The version of the database, and the one that this program needs. Raises Transient."""
    database = Database.of(caller.settings.server, pooled=False)
    found = version(database)
    try:
        require_current(database)
    except Misconfigured as error:
        return Status(found, error)
    return Status(found, None)
