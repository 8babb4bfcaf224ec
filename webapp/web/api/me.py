"""Who the caller is, for a client that wants to show only what it may do."""

from __future__ import annotations

from webapp.web.api.routing import Call, Reply, Section
from webapp.web.api.shapes import Shape

section = Section("Account")


class Me(Shape, frozen=True, kw_only=True):
    """The caller's account; ``tenantId`` null is the platform."""

    name: str
    display_name: str
    tenant_id: str | None
    department: str | None
    language: str
    roles: list[str]
    permissions: list[str]


@section.call("GET", "/me", answers={200: Me})
def get_me(call: Call[None, None]) -> Reply:
    """Return who calls and what that account may do."""
    actor = call.actor
    return Reply(
        value=Me(
            name=actor.name,
            display_name=actor.display_name,
            tenant_id=actor.partition,
            department=actor.department,
            language=actor.language,
            roles=list(actor.roles),
            permissions=sorted(actor.permissions),
        )
    )
