"""``definitions import``, ``definitions export``: moving definitions between installations."""

from __future__ import annotations

from pathlib import Path

import click
from flask.cli import AppGroup

from webapp.accounts.model import Actor
from webapp.cli.refusals import refusals_shown
from webapp.engine.errors import InputInvalid
from webapp.engine.json_input import read_json
from webapp.engine.numbers import JsonObject, encode
from webapp.services.queries import DefinitionQuery
from webapp.web.deps import services

definitions = AppGroup("definitions", help="Definitions as portable JSON documents.")


@definitions.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--user", "name", required=True, help="The account that imports; its partition gets the definitions.")
@click.option("--publish", is_flag=True, help="Publish each one as well.")
@refusals_shown
def import_definitions(files: tuple[Path, ...], name: str, publish: bool) -> None:
    """Import FILES, each as the next version of its name."""
    actor = actor_named(name)
    for path in files:
        draft = services().catalog.import_document(actor, read_document(path))
        if publish:
            draft = services().catalog.publish(actor, draft.id)
        click.echo(f"{draft.name} version {draft.version}: {draft.status}")


@definitions.command("export")
@click.argument("definition")
@click.option("--user", "name", required=True, help="The account that exports.")
@click.option("--version", type=int, help="The version; default: the latest published, else the highest.")
@refusals_shown
def export_definition(definition: str, name: str, version: int | None) -> None:
    """Print the definition with the name DEFINITION."""
    actor = actor_named(name)
    found = services().catalog.query(actor, DefinitionQuery(name=definition, latest=version is None)).items
    matching = [one for one in found if version in (None, one.version)]
    if not matching:
        raise click.ClickException(f"There is no definition {definition}{f' version {version}' if version else ''}.")
    click.echo(encode(services().catalog.export(actor, matching[0].id)).decode())


def actor_named(name: str) -> Actor:
    """Return the account of that login name as the actor of a command."""
    account = services().accounts.find_by_name(name)
    if account is None:
        raise click.ClickException(f"There is no account {name}.")
    return services().accounts.actor(account)


def read_document(path: Path) -> JsonObject:
    """Return the JSON object of a file. :raises InputInvalid: it is none."""
    value = read_json(path.read_bytes())
    if not isinstance(value, dict):
        raise InputInvalid("api.body.type", path="", params={"expected": "object"})
    return value
