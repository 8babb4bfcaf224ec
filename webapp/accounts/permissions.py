"""Permissions and the roles that bundle them (spec 13, 25 "Roles")."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

DEFINITIONS_READ: Final = "definitions:read"
DEFINITIONS_WRITE: Final = "definitions:write"
DEFINITIONS_PUBLISH: Final = "definitions:publish"
INSTANCES_READ: Final = "instances:read"
INSTANCES_START: Final = "instances:start"
INSTANCES_OPERATE: Final = "instances:operate"
TASKS_ALL: Final = "tasks:all"
EXTERNAL_TASKS_WORK: Final = "external-tasks:work"
NOTIFICATIONS_ADMIN: Final = "notifications:admin"
ADMIN_USERS: Final = "admin:users"
ADMIN_TENANTS: Final = "admin:tenants"

PERMISSIONS: Final = frozenset(
    {
        DEFINITIONS_READ,
        DEFINITIONS_WRITE,
        DEFINITIONS_PUBLISH,
        INSTANCES_READ,
        INSTANCES_START,
        INSTANCES_OPERATE,
        TASKS_ALL,
        EXTERNAL_TASKS_WORK,
        NOTIFICATIONS_ADMIN,
        ADMIN_USERS,
        ADMIN_TENANTS,
    }
)

USER: Final = "user"
DESIGNER: Final = "designer"
OPERATOR: Final = "operator"
WORKER: Final = "worker"
ADMINISTRATOR: Final = "administrator"

_USER = frozenset({INSTANCES_START})

ROLES: Final[dict[str, frozenset[str]]] = {
    USER: _USER,
    DESIGNER: _USER | {DEFINITIONS_READ, DEFINITIONS_WRITE, DEFINITIONS_PUBLISH},
    OPERATOR: _USER | {DEFINITIONS_READ, INSTANCES_READ, INSTANCES_OPERATE, TASKS_ALL},
    WORKER: frozenset({EXTERNAL_TASKS_WORK}),
    ADMINISTRATOR: PERMISSIONS,
}
"""The roles that bundle permissions; any other role name is a group of people without permissions."""

DEFAULT_ROLES: Final = (USER,)


def permissions_of(roles: Iterable[str]) -> frozenset[str]:
    """Return what these roles allow together; a role that is only a group adds nothing."""
    return frozenset().union(*(ROLES.get(role, frozenset()) for role in roles))
