"""The demonstration's accounts: their password is their name, so they work under ``WAYPOST_DEMO=1`` only (spec 25)."""

from __future__ import annotations

from typing import Final, NamedTuple

from webapp.accounts.permissions import ADMINISTRATOR, DESIGNER, OPERATOR, USER


class DemoAccount(NamedTuple):
    """A demonstration account: login name (and password), shown name and role."""

    name: str
    display_name: str
    role: str


DEMO_ACCOUNTS: Final = (
    DemoAccount("admin", "Ada Lindqvist", ADMINISTRATOR),
    DemoAccount("designer", "Daniel Okafor", DESIGNER),
    DemoAccount("employee", "Emma Novak", USER),
    DemoAccount("manager", "Marta Ruiz", USER),
    DemoAccount("operator", "Oskar Lehmann", OPERATOR),
)

_NAMES: Final = frozenset(account.name for account in DEMO_ACCOUNTS)


def is_demo_login(name: str, password: str) -> bool:
    """Say whether this is a demonstration account with its published password."""
    return name in _NAMES and password == name
