"""Account, token, tenant, and the actor that every service call takes (spec 13, 25)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec


class Account(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A person or a service; ``name`` is the immutable login name and the id by which the engine knows it."""

    id: str
    tenant_id: str | None = None
    name: str
    display_name: str = ""
    email: str | None = None
    password_hash: str | None = None
    language: str | None = None
    theme: str | None = None
    department: str | None = None
    disabled: bool = False
    created_at: datetime
    last_seen_at: datetime | None = None
    roles: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The name shown to people."""
        return self.display_name or self.name


class Token(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An API token: only its hash is stored; ``prefix`` helps a person to recognise it."""

    id: str
    account_id: str
    name: str
    prefix: str
    token_hash: str
    created_at: datetime
    expires_at: datetime | None = None
    last_used_at: datetime | None = None


class Tenant(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A partition beside the platform, in the platform's database or in one of its own (spec 8.10).

    ``database_url`` may hold a password: it is shown masked only.
    """

    id: str
    name: str
    enabled: bool = True
    database_url: str | None = None
    created_at: datetime

    def __repr__(self) -> str:
        """Tell which tenant it is, and nothing of its database's address."""
        return f"Tenant(id={self.id!r}, enabled={self.enabled}, own_database={self.database_url is not None})"


def groups_of(roles: Iterable[str], department: str | None) -> list[str]:
    """Return the groups that an assignee key may name: ``role:…`` of each role, then ``department:…`` (spec 6.7)."""
    groups = [f"role:{role}" for role in roles]
    if department:
        groups.append(f"department:{department}")
    return groups


class Substitution(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An absence: from *starts_at* to before *ends_at* the substitute acts for the absent account (decision D34).

    ``definitions`` limits it to workflows of these names; none means all. There are no chains.
    """

    id: str
    tenant_id: str | None = None
    absent_id: str
    substitute_id: str
    starts_at: datetime
    ends_at: datetime
    definitions: tuple[str, ...] = ()
    created_at: datetime
    created_by: str | None = None


class StandIn(msgspec.Struct, frozen=True):
    """For whom an account stands in now, and in which workflows; none means all."""

    absent: str
    definitions: tuple[str, ...] = ()


class Actor(msgspec.Struct, frozen=True, kw_only=True):
    """Who calls: every service method's first argument. ``partition`` None is the platform.

    ``principals`` are what an assignee key may be for it: the login name, ``role:…`` of each role,
    ``department:…``. ``request_id`` goes to the audit trail and the log; ``token_id`` is that of the API token
    it called with, if it did. ``stands_in`` tells for whom it acts as a substitute when the call begins.
    """

    account_id: str
    name: str
    display_name: str
    partition: str | None = None
    roles: tuple[str, ...] = ()
    permissions: frozenset[str] = frozenset()
    department: str | None = None
    language: str = "en"
    theme: str | None = None
    request_id: str | None = None
    token_id: str | None = None
    stands_in: tuple[StandIn, ...] = ()

    @property
    def principals(self) -> tuple[str, ...]:
        """The login name first, then the groups."""
        return (self.name, *groups_of(self.roles, self.department))

    def may(self, permission: str) -> bool:
        """Whether one of the actor's roles bundles the permission."""
        return permission in self.permissions

    def stands_in_for(self, name: str, definition_name: str) -> bool:
        """Whether the actor is the substitute of that account in that workflow now."""
        return name in self.absent(definition_name)

    def absent(self, definition_name: str) -> list[str]:
        """Return the accounts for which the actor stands in, in that workflow."""
        return [one.absent for one in self.stands_in if not one.definitions or definition_name in one.definitions]
