"""``worker``: the poller alone, in the foreground; as many processes as wished share the work by claims (spec 8.10)."""

from __future__ import annotations

import click
from flask.cli import with_appcontext

from webapp.poller import Poller
from webapp.web.deps import Installation, installation
from webapp.web.logs import configure_logging


def make_poller(here: Installation) -> Poller:
    """Return a poller of that installation, as its settings say, not yet started."""
    settings = here.settings
    return Poller(
        here.services.housekeeping,
        threads=settings.poller_threads,
        poll_interval_seconds=settings.poll_interval_seconds,
        timer_interval_seconds=settings.timer_interval_seconds,
        housekeeping_interval_seconds=settings.housekeeping_interval_seconds,
        lease_seconds=settings.lock_lease_seconds,
        seal=here.services.sealing.seal,
        sending=here.services.sending,
        delivery_interval_seconds=settings.delivery_interval_seconds,
        now=here.now,
    )


@click.command("worker")
@with_appcontext
def worker() -> None:
    """Run what is due, without pages and API, until SIGTERM or SIGINT."""
    here = installation()
    configure_logging(here.settings.log_level)
    poller = make_poller(here)
    click.echo("Waypost's worker runs what is due.")
    try:
        poller.run_until_signal()
    finally:
        here.close()
