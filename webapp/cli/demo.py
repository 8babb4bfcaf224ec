"""``demo load``: the accounts and sample definitions of a demonstration (spec 25, Roles and Running it)."""

from __future__ import annotations

from importlib.resources import files

import click
from flask.cli import AppGroup

from webapp.accounts.demo import DEMO_ACCOUNTS
from webapp.accounts.model import Actor
from webapp.cli.definitions import actor_named
from webapp.cli.refusals import refusals_shown
from webapp.engine.definitions.model import DefinitionStatus
from webapp.engine.json_input import read_json
from webapp.engine.numbers import JsonObject
from webapp.services.queries import DefinitionQuery
from webapp.web.deps import installation, services

SAMPLES = ("leave-request", "purchase-approval")

demo = AppGroup("demo", help="A demonstration on this machine.")


@demo.command("load")
@refusals_shown
def load() -> None:
    """Create the demonstration's accounts and publish its samples, as far as they are not there."""
    if not installation().settings.demo:
        raise click.ClickException("The demo accounts' passwords are public. Set WAYPOST_DEMO=1 to load them.")
    made = [account.name for account in DEMO_ACCOUNTS if _ensure_account(account.name)]
    designer = actor_named("designer")
    published = [name for name in SAMPLES if ensure_sample(designer, name)]
    click.echo(
        f"Accounts: {', '.join(made) or 'there already'}. Definitions: {', '.join(published) or 'there already'}."
    )


def sample(name: str) -> JsonObject:
    """Return the sample definition of that name."""
    document: JsonObject = read_json(files("webapp").joinpath("samples", f"{name}.json").read_bytes())
    return document


def _ensure_account(name: str) -> bool:
    accounts = services().accounts
    if accounts.find_by_name(name) is not None:
        return False
    wanted = next(account for account in DEMO_ACCOUNTS if account.name == name)
    # An address of a domain that never is (RFC 2606): with a mail server set up, one can watch what would be sent.
    email = f"{name}@example.test"
    accounts.create(name=name, password=name, display_name=wanted.display_name, email=email, roles=(wanted.role,))
    return True


def ensure_sample(actor: Actor, name: str) -> bool:
    """Publish the sample of that name unless the actor's partition has it; say whether that was needed."""
    catalog = services().catalog
    rows = catalog.query(actor, DefinitionQuery(name=name)).items
    if not rows:
        definition_id = catalog.import_document(actor, sample(name)).id
    elif len(rows) == 1 and rows[0].status is DefinitionStatus.DRAFT and rows[0].revision == 1:
        # An earlier load was stopped between the two steps.
        definition_id = rows[0].id
    else:
        return False
    catalog.publish(actor, definition_id, note="Sample")
    return True
