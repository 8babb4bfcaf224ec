"""The commands of ``flask --app webapp``: run, prepare and look after an installation (spec 25, Running it)."""

from __future__ import annotations

import click
from flask import Flask

from webapp.cli.accounts import token, user
from webapp.cli.audit import audit
from webapp.cli.database import db
from webapp.cli.definitions import definitions
from webapp.cli.demo import demo
from webapp.cli.fill import fill
from webapp.cli.relocation import backup, copy
from webapp.cli.serve import serve
from webapp.cli.tenants import tenant
from webapp.cli.worker import worker

COMMANDS: tuple[click.Command, ...] = (
    *(serve, worker, db, tenant, user, token, definitions, demo, audit),
    *(backup, copy),
)

demo.add_command(fill)


def register_commands(app: Flask) -> None:
    """Give the application its commands."""
    for command in COMMANDS:
        app.cli.add_command(command)
