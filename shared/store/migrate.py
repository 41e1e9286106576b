"""Migrates a database to the version of this program, and reports its version."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sqlalchemy import Connection, text

from shared.domain.errors import Misconfigured
from shared.domain.next_step import NextStep, ShellCommand
from shared.store.connection import UNLIMITED
from shared.store.database import Database

MIGRATIONS = Path(__file__).parent / "migrations"

_LOCK = 0x7265706C616E  # "replan": two processes never migrate at once
# Read from the table itself: Alembic takes long to load, and only `upgrade` needs it.
_TABLE = text("SELECT to_regclass('alembic_version') IS NOT NULL")
_FOUND = text("SELECT version_num FROM alembic_version")


class Outdated(Misconfigured):
    """The database is older than this program; somebody may be migrating it just now."""


@dataclass(frozen=True, slots=True)
class Version:
    """The version of a database, and the version that this program needs."""

    found: str | None
    needed: str

    @property
    def current(self) -> bool:
        """True when the two are the same."""
        return self.found == self.needed

    @property
    def pending(self) -> tuple[str, ...]:
        """The versions that a migration would add, the oldest first; none to an unknown one."""
        known = known_versions()
        if self.found is None:
            return known
        return known[known.index(self.found) + 1 :] if self.found in known else ()


@cache
def known_versions() -> tuple[str, ...]:
    """The versions that this program knows, the oldest first; it needs the last one."""
    return tuple(sorted(p.stem.partition("_")[0] for p in MIGRATIONS.glob("versions/[0-9]*.py")))


def _current(connection: Connection) -> str | None:
    if not connection.execute(_TABLE).scalar():
        return None
    return connection.execute(_FOUND).scalar()


def upgrade(url: str) -> Version:
    """Bring the database to the needed version; safe to call from several processes at once."""
    from alembic import command
    from alembic.config import Config

    database = Database(url, pooled=False)
    with database.begin(UNLIMITED) as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        _refuse_unknown(_current(connection))
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        return Version(found=_current(connection), needed=known_versions()[-1])


def version(database: Database) -> Version:
    """Which version the database has."""
    with database.begin() as connection:
        return Version(found=_current(connection), needed=known_versions()[-1])


def require_current(database: Database) -> None:
    """Raise Misconfigured, with the command to type, unless the database has our version.

    The error is Outdated if a migration would solve it.
    """
    state = version(database)
    if state.current:
        return
    _refuse_unknown(state.found)
    raise Outdated(
        f"the database is at version {state.found or 'none'}, this program needs {state.needed}",
        stage="database",
        next_step=NextStep.of("db migrate"),
    )


def _refuse_unknown(found: str | None) -> None:
    if found is not None and found not in known_versions():
        raise Misconfigured(
            f"the database is at version {found}, which this program does not know: "
            "it was migrated by a newer replan",
            stage="database",
            next_step=ShellCommand("replan --version"),
        )
