"""The migrations lead to the tables that the program knows, from any version."""

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from shared.store.database import Database
from shared.store.tables import Row


def test_a_migrated_database_has_the_tables_of_the_program(database_url: str) -> None:
    database = Database(database_url, pooled=False)
    with database.begin() as connection:
        context = MigrationContext.configure(connection)
        differences = compare_metadata(context, Row.metadata)
    assert differences == []
