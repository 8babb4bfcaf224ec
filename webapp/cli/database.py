"""``db upgrade``, ``db current``: the tables (spec 25, Running it)."""

from __future__ import annotations

from collections.abc import Sequence

import click
from flask.cli import AppGroup

from webapp.cli.refusals import refusal_text, refusals_shown
from webapp.config.kinds import DatabaseUrl
from webapp.engine.errors import Unavailable
from webapp.web.deps import installation, services

db = AppGroup("db", help="The database's tables.")


@db.command("upgrade")
@click.option(
    "--wait", metavar="SECONDS", type=click.FloatRange(min=0),
    help="How long to wait while another process upgrades a database. Default: an hour.",
)  # fmt: skip
@refusals_shown
def upgrade(wait: float | None) -> None:
    """Make the tables, or bring them up to this version: the platform's, and in every enabled tenant's database.

    Several may start it at once: one does it, the others wait for that one, however long it takes.
    """
    migrations = installation().migrations
    before = migrations.current()
    migrations.upgrade(wait)
    _tell("The database", before, migrations.current())
    failed = [name for name, url in _separate() if not _upgraded(name, url, wait)]
    if failed:
        raise click.ClickException(f"Not upgraded: {', '.join(failed)}. The others are served meanwhile.")


@db.command("current")
@refusals_shown
def current() -> None:
    """Say at which revision the tables are, and which one this version needs."""
    migrations = installation().migrations
    at, head = migrations.current(), migrations.head()
    click.echo(_standing(at, head))
    for name, url in _separate() if at is not None else ():
        try:
            told = _standing(migrations.current_separate(url), head)
        except Unavailable as refusal:
            told = refusal_text(refusal)
        click.echo(f"{name}: {told}")


@db.command("reindex")
@refusals_shown
def reindex() -> None:
    """Make the index that lists search by keywords anew: the platform's, and in every enabled tenant's database.

    For a log that says so, after a failing disk for instance. Commands that write wait meanwhile.
    """
    made = installation().migrations.reindex
    _tell_made("The database", made(None))
    for name, url in _separate():
        _tell_made(f"The database of {name}", made(url))


def _tell_made(what: str, made: Sequence[str]) -> None:
    if made:
        click.echo(f"{what}: made anew: {', '.join(made)}.")
    else:
        click.echo(f"{what} has no index of keywords; lists look through its rows, and there is nothing to do.")


def _separate() -> list[tuple[str, str]]:
    """Return the separate databases of enabled tenants: whose it is, and its URL, each once."""
    found: dict[str, tuple[list[str], str]] = {}
    for one in services().tenants.all():
        if one.enabled and one.database_url is not None:
            found.setdefault(services().tenants.key(one.database_url), ([], one.database_url))[0].append(one.id)
    return [(f"{', '.join(ids)} ({DatabaseUrl().mask(url)})", url) for ids, url in found.values()]


def _upgraded(name: str, url: str, wait: float | None) -> bool:
    migrations = installation().migrations
    try:
        before = migrations.current_separate(url)
        migrations.upgrade_separate(url, wait)
        _tell(f"The database of {name}", before, migrations.current_separate(url))
    except Unavailable as refusal:
        click.echo(f"The database of {name}: {refusal_text(refusal)}", err=True)
        return False
    return True


def _tell(what: str, before: str | None, after: str | None) -> None:
    click.echo(f"{what} is at {after}." if before == after else f"{what} went from {before or 'nothing'} to {after}.")


def _standing(at: str | None, head: str | None) -> str:
    return f"{at or 'none'} ({'head' if at == head else f'head is {head}: run db upgrade'})"
