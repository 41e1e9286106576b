"""The migrations lead to the tables that the program knows, from any version."""

from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from shared.store.database import Database
from shared.store.migrate import MIGRATIONS, known
from shared.store.tables import Row


def test_the_versions_are_those_that_the_migrations_name() -> None:
    """The last one is the needed one; one follows the other."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    scripts = list(ScriptDirectory.from_config(config).walk_revisions())
    assert tuple(script.revision for script in reversed(scripts)) == known()


def test_a_migrated_database_has_the_tables_of_the_program(database_url: str) -> None:
    database = Database(database_url, pooled=False)
    with database.begin() as connection:
        context = MigrationContext.configure(connection)
        differences = compare_metadata(context, Row.metadata)
    assert differences == []
