"""``demo fill``: an installation full of plausible data, for trials and benches."""

from __future__ import annotations

import time
from collections.abc import Mapping

import click
from flask.cli import with_appcontext

from webapp.cli.demo import sample
from webapp.cli.progress import Progress
from webapp.cli.refusals import refusals_shown
from webapp.engine.numbers import JsonObject
from webapp.services.filling import SAMPLES, Amounts
from webapp.web.deps import installation


@click.command("fill")
@click.option("--tasks", type=click.IntRange(0), default=1_000, show_default=True, help="Open tasks.")
@click.option(
    "--instances", type=click.IntRange(0), default=1_000, show_default=True,
    help="Instances in all, in equal parts of every status; the running ones carry the tasks.",
)  # fmt: skip
@click.option("--users", type=click.IntRange(1), default=20, show_default=True, help="Accounts u1, u2 …")
@click.option("--groups", type=click.IntRange(1), default=5, show_default=True, help="Groups g1, g2 …")
@click.option("--tenant", help="The tenant to fill, made if there is none. Default: the platform.")
@click.option("--seed", type=int, default=1, show_default=True, help="The same number gives the same words.")
@click.option("--password", help="The password of all these accounts. Default: none, nobody can sign in with them.")
@with_appcontext
@refusals_shown
def fill(
    tasks: int, instances: int, users: int, groups: int, tenant: str | None, seed: int, password: str | None
) -> None:
    """Fill an installation that has no instances yet; stop its other processes first where it is on SQLite."""
    filling = installation().filling
    if filling is None:
        raise click.ClickException("There is no database to fill.")
    amounts = Amounts(tasks=tasks, instances=instances, users=users, groups=groups, seed=seed)
    started = time.monotonic()
    with Progress() as progress:
        report = filling.fill(tenant, amounts, samples(), password=password, told=progress.tell)
    seconds = time.monotonic() - started
    click.echo(
        f"{report.accounts} accounts, {report.instances} instances, {report.tasks} open tasks: "
        f"{report.rows} rows in {seconds:.1f} s ({report.rows / max(seconds, 0.001):,.0f} a second)."
    )


def samples() -> Mapping[str, JsonObject]:
    """Return the definitions that the instances are of."""
    return {name: sample(f"fill/{name}") for name in SAMPLES}
