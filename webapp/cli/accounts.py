"""``user create``, ``token create``: accounts without a browser (spec 11, Amendments; 25, Roles)."""

from __future__ import annotations

from datetime import timedelta

import click
from flask.cli import AppGroup

from webapp.accounts.permissions import DEFAULT_ROLES, ROLES
from webapp.cli.refusals import refusals_shown
from webapp.web.deps import installation, services
from webapp.web.i18n import LANGUAGES

user = AppGroup("user", help="Accounts.")
token = AppGroup("token", help="API tokens.")


@user.command("create")
@click.argument("name")
@click.option("--password", required=True, help="The password to sign in with.")
@click.option(
    "--role", "roles", multiple=True,
    help=f"A role, may be repeated: {', '.join(ROLES)}, or any other name as a group. Default: {DEFAULT_ROLES[0]}.",
)  # fmt: skip
@click.option("--tenant", help="The tenant it belongs to, made if there is none. Default: the platform.")
@click.option("--display-name", default="", help="The name shown to people.")
@click.option("--department", help="A department, for tasks given to all of it.")
@click.option("--language", type=click.Choice(LANGUAGES), help="The language of its pages.")
@refusals_shown
def create_user(
    name: str,
    password: str,
    roles: tuple[str, ...],
    tenant: str | None,
    display_name: str,
    department: str | None,
    language: str | None,
) -> None:
    """Create an account with the login name NAME."""
    account = services().accounts.create(
        name=name,
        password=password,
        display_name=display_name,
        roles=roles,
        tenant_id=tenant,
        department=department,
        language=language,
    )
    where = f"tenant {account.tenant_id}" if account.tenant_id else "the platform"
    click.echo(f"Created {account.name} ({', '.join(account.roles)}) in {where}.")


@user.command("password")
@click.argument("name")
@click.option("--password", required=True, help="The new password.")
@refusals_shown
def set_password(name: str, password: str) -> None:
    """Give the account NAME another password; its sessions end."""
    account = services().accounts.find_by_name(name)
    if account is None:
        raise click.ClickException(f"There is no account {name}.")
    services().accounts.set_password(account, password)
    click.echo(f"{name} has a new password.")


@token.command("create")
@click.option("--user", "name", required=True, help="The login name of the account that the token acts as.")
@click.option("--name", "label", default="command line", show_default=True, help="What the token is for.")
@click.option("--days", type=click.IntRange(1, 3650), help="How long it is valid. Default: until it is deleted.")
@refusals_shown
def create_token(name: str, label: str, days: int | None) -> None:
    """Make a token and print it, once, as the last line."""
    account = services().accounts.find_by_name(name)
    if account is None:
        raise click.ClickException(f"There is no account {name}. Make it with: flask --app webapp user create {name}")
    expires_at = None if days is None else installation().now() + timedelta(days=days)
    _, text = services().accounts.create_token(account.id, label, expires_at)
    click.echo(text)
