"""Bringing a database to the version of this program, and saying which version it has."""

from dataclasses import dataclass
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from shared.domain.errors import Misconfigured
from shared.store.database import Database

_LOCK = 0x7265706C616E  # "replan": two processes never migrate at once


class Outdated(Misconfigured):
    """The database has not this program's version yet; somebody may be migrating it just now."""


@dataclass(frozen=True, slots=True)
class Version:
    """The migration a database is at, and the one this program needs."""

    found: str | None
    needed: str

    @property
    def current(self) -> bool:
        """True when the two are the same."""
        return self.found == self.needed


def upgrade(url: str) -> Version:
    """Bring the database to the needed version; safe to call from several processes at once."""
    database = Database(url, pooled=False)
    with database.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        _refuse_unknown(_found(connection))
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        return Version(found=_found(connection), needed=_head())


def version(database: Database) -> Version:
    """Which version the database has."""
    with database.begin() as connection:
        return Version(found=_found(connection), needed=_head())


def require_current(database: Database) -> None:
    """Raise Misconfigured, with the command to type, unless the database has our version.

    It is Outdated when a migration would put it right.
    """
    state = version(database)
    if state.current:
        return
    _refuse_unknown(state.found)
    raise Outdated(
        f"the database is at version {state.found or 'none'}, this program needs {state.needed}",
        stage="database",
        next_step_cmd="replan db migrate",
    )


def _refuse_unknown(found: str | None) -> None:
    known = {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}
    if found is not None and found not in known:
        raise Misconfigured(
            f"the database is at version {found}, which this program does not know: "
            "it was migrated by a newer replan",
            stage="database",
            next_step_cmd="replan --version",
        )


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return config


def _head() -> str:
    head = ScriptDirectory.from_config(_config()).get_current_head()
    assert head is not None  # noqa: S101 - there is always a first migration
    return head


def _found(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()
