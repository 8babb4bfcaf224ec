"""``backup`` and ``copy``: an installation as one file, and its move to another database (spec 13)."""

from __future__ import annotations

from pathlib import Path

import click
from flask.cli import with_appcontext

from webapp.cli.progress import Progress
from webapp.cli.refusals import refusals_shown
from webapp.services.relocation import RelocationService
from webapp.web.deps import installation


@click.command("backup")
@click.argument("path", type=click.Path(path_type=Path))
@with_appcontext
@refusals_shown
def backup(path: Path) -> None:
    """Write a consistent copy of an SQLite installation to the new file PATH, while it runs.

    Tenants with an SQLite database of their own get a file beside it. Keep WAYPOST_SECRET_KEY elsewhere: without it
    nobody stays signed in.
    """
    with Progress() as progress:
        report = _relocation().backup(str(path.absolute()), progress.tell)
    for file in report.files:
        click.echo(f"{file.path}: {file.size:,} bytes")
    if report.elsewhere:
        click.echo(f"Not in it, because their databases are on a server: {', '.join(report.elsewhere)}", err=True)


@click.command("copy")
@click.option("--to", "target", required=True, help="The URL of an empty database, such as postgresql://….")
@click.option(
    "--from", "source", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A backup to copy. Default: the installation's own database, which must be stopped.",
)  # fmt: skip
@with_appcontext
@refusals_shown
def copy(target: str, source: Path | None) -> None:
    """Move an installation to another database: copy every row, then compare both.

    Broken off, it goes on when it is called again. Then set WAYPOST_DATABASE_URL to the new database and start.
    """
    url = None if source is None else f"sqlite:///{source.absolute()}"
    with Progress() as progress:
        tables = _relocation().copy(target, progress.tell, source=url)
    for table in tables:
        if table.rows:
            click.echo(f"{table.name:<28} {table.rows:>12,}  {table.digest[:16]}")
    click.echo(f"{sum(table.rows for table in tables):,} rows in {len(tables)} tables, the same in both databases.")


def _relocation() -> RelocationService:
    found = installation().relocation
    if found is None:
        raise click.ClickException("There is no database.")
    return found
