"""Alembic's entry point: runs the migrations on the connection that `migrate` passes."""

from alembic import context

from shared.store.tables import Row

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=Row.metadata)
with context.begin_transaction():
    context.run_migrations()
