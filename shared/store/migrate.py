"""Bringing a database to the version of this program."""

from alembic import command
from alembic.config import Config
from sqlalchemy import text

from shared.store.database import Database
from shared.store.version import MIGRATIONS, Version, found, known, refuse_unknown

_LOCK = 0x7265706C616E  # "replan": two processes never migrate at once


def upgrade(url: str) -> Version:
    """Bring the database to the needed version; safe to call from several processes at once."""
    database = Database(url, pooled=False)
    with database.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        refuse_unknown(found(connection))
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        return Version(found=found(connection), needed=known()[-1])
