"""Runs the migrations on the connection that ``webapp.stores.sql.maintenance`` has opened, in its transaction."""

from __future__ import annotations

from alembic import context

from webapp.stores.sql.columns import METADATA

connection = context.config.attributes.get("connection")
if connection is None:
    raise RuntimeError("use: flask --app webapp db upgrade")

context.configure(connection=connection, target_metadata=METADATA)
with context.begin_transaction():
    context.run_migrations()
