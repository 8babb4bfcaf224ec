"""``db upgrade``, ``db current``: the tables (spec 25, Running it)."""

from __future__ import annotations

import click
from flask.cli import AppGroup

from webapp.cli.refusals import refusals_shown
from webapp.web.deps import installation

db = AppGroup("db", help="The database's tables.")


@db.command("upgrade")
@refusals_shown
def upgrade() -> None:
    """Make the tables, or bring them up to this version."""
    migrations = installation().migrations
    before = migrations.current()
    migrations.upgrade()
    after = migrations.current()
    click.echo(
        f"The database is at {after}."
        if before == after
        else f"The database went from {before or 'nothing'} to {after}."
    )


@db.command("current")
@refusals_shown
def current() -> None:
    """Say at which revision the tables are, and which one this version needs."""
    migrations = installation().migrations
    at, head = migrations.current(), migrations.head()
    click.echo(f"{at or 'none'} ({'head' if at == head else f'head is {head}: run db upgrade'})")
