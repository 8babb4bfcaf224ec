"""``tenant add``, ``list``, ``enable``, ``disable``, ``database``: the partitions beside the platform (spec 8.10)."""

from __future__ import annotations

import click
from flask.cli import AppGroup

from webapp.accounts.model import Tenant
from webapp.cli.refusals import refusals_shown
from webapp.config.kinds import DatabaseUrl
from webapp.web.deps import installation, services

tenant = AppGroup("tenant", help="Tenants, and where their data lie.")

_FORCE = click.option(
    "--force", is_flag=True,
    help="Also when the database with its data cannot be reached, or refuses. Then wait ten seconds before you copy or "
    "move its data: until then another process may write there.",
)  # fmt: skip
_ID = click.argument("tenant_id", metavar="TENANT")


@tenant.command("add")
@_ID
@click.option("--name", default="", help="The name shown to people. Default: its id.")
@click.option("--database", "url", help="The URL of a database of its own. Default: the platform's database.")
@refusals_shown
def add(tenant_id: str, name: str, url: str | None) -> None:
    """Add a tenant with the id TENANT; a database of its own gets its tables."""
    _prepare(services().tenants.address(url))
    made = services().tenants.add(tenant_id, name, url)
    click.echo(f"Added the tenant {made.id} in {_place(made)}.")


@tenant.command("list")
@refusals_shown
def list_tenants() -> None:
    """List the tenants, and where their data lie."""
    found = services().tenants.all()
    for one in found:
        click.echo(f"{one.id}\t{'enabled' if one.enabled else 'disabled'}\t{_place(one)}")
    if not found:
        click.echo("There is no tenant beside the platform.")


@tenant.command("enable")
@_ID
@refusals_shown
def enable(tenant_id: str) -> None:
    """Serve the tenant again; a database of its own is brought up to this version."""
    _prepare(services().tenants.find(tenant_id).database_url)
    services().tenants.enable(tenant_id)
    click.echo(f"The tenant {tenant_id} is enabled.")


@tenant.command("disable")
@_ID
@_FORCE
@refusals_shown
def disable(tenant_id: str, force: bool) -> None:
    """Serve the tenant no longer: nobody of it can sign in, nothing of it runs. Its data stay.

    Its database itself refuses from then on what a process would still write.
    """
    services().tenants.disable(tenant_id, force=force)
    click.echo(f"The tenant {tenant_id} is disabled. Its data change no more; every process knows within five seconds.")


@tenant.command("database")
@_ID
@click.argument("url", required=False)
@click.option("--platform", is_flag=True, help="Its data lie in the platform's database.")
@_FORCE
@refusals_shown
def database(tenant_id: str, url: str | None, platform: bool, force: bool) -> None:
    """Say that the data of the disabled TENANT lie in the database URL. No data are moved."""
    if platform == (url is not None):
        raise click.UsageError("Give the URL of a database, or --platform.")
    found = services().tenants.set_database(tenant_id, url, force=force)
    click.echo(f"The data of {tenant_id} lie in {_place(found)}. Move them there before you enable it.")


def _prepare(url: str | None) -> None:
    """Make or upgrade the tables of a database, so that no tenant is added whose database cannot be used."""
    if url is not None:
        installation().migrations.upgrade_separate(url, None)


def _place(found: Tenant) -> str:
    return "the platform's database" if found.database_url is None else DatabaseUrl().mask(found.database_url)
