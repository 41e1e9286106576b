"""Which version a database has, and which one this program needs."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sqlalchemy import Connection, text

from shared.domain.errors import Misconfigured
from shared.store.database import Database

MIGRATIONS = Path(__file__).parent / "migrations"

# Asked of the table itself: what can migrate takes long to load, and only `upgrade` needs it.
_TABLE = text("SELECT to_regclass('alembic_version') IS NOT NULL")
_FOUND = text("SELECT version_num FROM alembic_version")


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


@cache
def known() -> tuple[str, ...]:
    """The versions that this program knows, the oldest first: the last is the one it needs."""
    return tuple(sorted(p.stem.partition("_")[0] for p in MIGRATIONS.glob("versions/[0-9]*.py")))


def found(connection: Connection) -> str | None:
    """The version that a database says it has; None before the first migration."""
    if not connection.execute(_TABLE).scalar():
        return None
    return connection.execute(_FOUND).scalar()


def version(database: Database) -> Version:
    """Which version the database has."""
    with database.begin() as connection:
        return Version(found=found(connection), needed=known()[-1])


def require_current(database: Database) -> None:
    """Raise Misconfigured, with the command to type, unless the database has our version.

    It is Outdated when a migration would put it right.
    """
    state = version(database)
    if state.current:
        return
    refuse_unknown(state.found)
    raise Outdated(
        f"the database is at version {state.found or 'none'}, this program needs {state.needed}",
        stage="database",
        next_step_cmd="replan db migrate",
    )


def refuse_unknown(found: str | None) -> None:
    """Raise Misconfigured for a version that this program does not know."""
    if found is not None and found not in known():
        raise Misconfigured(
            f"the database is at version {found}, which this program does not know: "
            "it was migrated by a newer replan",
            stage="database",
            next_step_cmd="replan --version",
        )
