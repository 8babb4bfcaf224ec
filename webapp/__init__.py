"""Waypost: draw a process, decide in an inbox, watch and repair what runs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from flask import Flask

    from webapp.config import Settings


def create_app(settings: Settings | None = None) -> Flask:
    """Return the application, so that ``flask --app webapp`` finds it.

    It is loaded on the first call only: importing ``webapp.engine`` must not import Flask.

    :raises click.ClickException: a setting cannot be used; a command shows it as one line and ends.
    """
    refused = import_module("webapp.config").SettingsError
    try:
        return cast("Flask", import_module("webapp.app").create_app(settings))
    except refused as error:
        raise import_module("click").ClickException(str(error)) from error
