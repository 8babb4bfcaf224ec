"""Operations: how the installation itself is doing, for those who run it (spec 12, Operations; 8.10).

The page is a list of sections. Each reads what it shows by one call of a service, and shows nothing to an actor whom it
does not concern; its part of the page is ``templates/admin/_<name>.html``, which finds what was read in ``found``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, render_template

from webapp.accounts.model import Actor
from webapp.accounts.permissions import ADMIN_TENANTS, INSTANCES_OPERATE, NOTIFICATIONS_ADMIN
from webapp.engine.errors import DENIED_PERMISSION, Denied, Unavailable
from webapp.web.deps import current_actor, services
from webapp.web.shell import may, require_sign_in

blueprint = Blueprint("admin", __name__, url_prefix="/admin")
blueprint.before_request(require_sign_in)


@dataclass(frozen=True)
class Section:
    """A part of the page; *read* returns what its template shows, None when it does not concern the actor."""

    name: str
    read: Callable[[Actor], Any]


def _databases(actor: Actor) -> Any:
    states = services().tenants.databases(actor)
    # Who has none of its own has nothing to look after; the platform is told that there is none.
    return states if states or actor.partition is None else None


def _upkeep(actor: Actor) -> Any:
    if not actor.may(INSTANCES_OPERATE):
        return None
    try:
        return services().upkeep.state(actor)
    except Unavailable:
        # What keeps it from being asked is told by the section of databases.
        return None


def _deliveries(actor: Actor) -> Any:
    if not actor.may(NOTIFICATIONS_ADMIN):
        return None
    try:
        return services().deliveries.counts(actor)
    except Unavailable:
        return None


SECTIONS: tuple[Section, ...] = (
    Section("databases", _databases),
    Section("deliveries", _deliveries),
    Section("upkeep", _upkeep),
)


@blueprint.get("/operations")
def operations() -> str:
    """Show every section that concerns the actor."""
    if not (may(INSTANCES_OPERATE) or may(ADMIN_TENANTS)):
        raise Denied("access.denied", code=DENIED_PERMISSION, params={"permission": INSTANCES_OPERATE})
    actor = current_actor()
    found = {section.name: section.read(actor) for section in SECTIONS}
    return render_template(
        "admin/operations.html", sections={name: one for name, one in found.items() if one is not None}
    )
