"""Tenants: added, switched off and on, and put in a database of their own (spec 8.10, 13).

The platform's people alone see which tenants there are. The address of a database is shown without its password.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import msgspec

from webapp.accounts.model import Actor, Tenant
from webapp.accounts.permissions import ADMIN_TENANTS, INSTANCES_OPERATE
from webapp.accounts.ports import AccountStore
from webapp.accounts.tenants import TenantDirectory
from webapp.config.kinds import DatabaseUrl, SettingsError
from webapp.engine.clock import Clock, IdSource
from webapp.engine.errors import CONFLICT_INSTANCE, UNAVAILABLE_STORE, Conflict, InputInvalid, Unavailable
from webapp.engine.instances.journal import AuditEntry
from webapp.engine.instances.limits import MAX_ACCOUNT, MAX_TITLE
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.partitions import DatabaseState, PartitionDatabases
from webapp.engine.ports.stores import DuplicateRecord, StoreFailure
from webapp.services.access import lacking
from webapp.services.storage import Storage, answered
from webapp.services.texts import check_text, require_text

log = logging.getLogger("waypost.tenants")


class TenantService:
    """The use cases of tenants. What changes them is for the command line, which has no actor."""

    def __init__(
        self,
        *,
        accounts: AccountStore,
        directory: TenantDirectory,
        databases: PartitionDatabases,
        storage: Storage,
        clock: Clock,
        ids: IdSource,
        key: Callable[[str], str],
    ) -> None:
        self._accounts = accounts
        self._directory = directory
        self._databases = databases
        self._storage = storage
        self._clock = clock
        self._ids = ids
        self.key = key
        """Returns what is the same for all ways of writing a database's address. :raises ValueError: it is none."""

    def all(self) -> Sequence[Tenant]:
        """Return every tenant by id: for the command line."""
        return answered(self._accounts.tenants)

    def add(self, tenant_id: str, name: str = "", database_url: str | None = None) -> Tenant:
        """Add a tenant. :raises InputInvalid: the id is taken, or the database's address none."""
        require_text("tenant", tenant_id, MAX_ACCOUNT)
        check_text("name", name, MAX_TITLE)
        tenant = Tenant(
            id=tenant_id,
            name=name.strip() or tenant_id,
            database_url=self.address(database_url),
            created_at=self._clock.now(),
        )
        if tenant.database_url is not None:
            # Its data may have lain there before.
            answered(lambda: self._databases.unfence(tenant.id, tenant.database_url))
        try:
            answered(lambda: self._accounts.insert_tenant(tenant))
        except DuplicateRecord:
            raise InputInvalid("services.tenant.taken", path="tenant", params={"tenant": tenant_id}) from None
        self._changed("addTenant", None, tenant)
        return tenant

    def enable(self, tenant_id: str) -> Tenant:
        """Serve a tenant again. :raises InputInvalid: there is none of that id. :raises Unavailable: its database."""
        tenant = self.find(tenant_id)
        answered(lambda: self._databases.unfence(tenant.id, tenant.database_url))
        return self._save("enableTenant", tenant, enabled=True)

    def disable(self, tenant_id: str, *, force: bool = False) -> Tenant:
        """Serve a tenant no longer: its data stay, and once this returns nothing of it is written any more.

        *force*: also when its database cannot see to that; processes that have not heard of it may write for some
        seconds.

        :raises InputInvalid: there is none of that id. :raises Unavailable: its database cannot be fenced.
        """
        tenant = self.find(tenant_id)
        self._fence(tenant, force=force)
        return self._save("disableTenant", tenant, enabled=False)

    def set_database(self, tenant_id: str, database_url: str | None, *, force: bool = False) -> Tenant:
        """Say where a disabled tenant's data lie; None: in the platform's database. No data are moved.

        :raises Conflict: the tenant is enabled, so that work may be under way where its data lie now.
        :raises Unavailable: the database where they lay cannot be fenced, and *force* is not given.
        """
        tenant, address = self.find(tenant_id), self.address(database_url)
        if tenant.enabled:
            raise Conflict("services.tenant.enabled", code=CONFLICT_INSTANCE, params={"tenant": tenant_id})
        self._fence(tenant, force=force)
        return self._save("moveTenant", tenant, database_url=address)

    def _fence(self, tenant: Tenant, *, force: bool) -> None:
        """Have the database itself refuse what a process writes that has an old copy of the directory."""
        try:
            self._databases.fence(tenant.id, tenant.database_url)
        except StoreFailure as failure:
            kind = failure.reason.partition(":")[0]
            if not force:
                params, details = {"tenant": tenant.id}, {"reason": kind}
                raise Unavailable(
                    "services.tenant.unfenced", code=UNAVAILABLE_STORE, params=params, details=details
                ) from failure
            log.warning("the database of tenant %s was not closed to changes: %s", tenant.id, kind)

    def find(self, tenant_id: str) -> Tenant:
        """Return a tenant. :raises InputInvalid: there is none of that id."""
        tenant = answered(lambda: self._accounts.find_tenant(tenant_id))
        if tenant is None:
            raise InputInvalid("services.tenant.missing", path="tenant", params={"tenant": tenant_id})
        return tenant

    def address(self, database_url: str | None) -> str | None:
        """Return the address as it is kept. :raises InputInvalid: it is none."""
        if database_url is None:
            return None
        kind = DatabaseUrl()
        try:
            parsed = kind.parse("database", database_url)
            self.key(parsed)
        except (SettingsError, ValueError):
            params = {"url": kind.mask(database_url), "allowed": kind.allowed}
            raise InputInvalid("services.tenant.address", path="database", params=params) from None
        return parsed

    def databases(self, actor: Actor) -> Sequence[DatabaseState]:
        """Return how it stands with the separate databases: to the platform of all, to a tenant of its own.

        :raises Denied: the actor may neither operate instances nor administer tenants.
        """
        if not (actor.may(INSTANCES_OPERATE) or actor.may(ADMIN_TENANTS)):
            raise lacking(INSTANCES_OPERATE)
        states = answered(self._databases.states)
        if actor.partition is None:
            return states
        mine = [one for one in states if actor.partition in one.tenants]
        return [msgspec.structs.replace(one, tenants=(actor.partition,), address="") for one in mine]

    def refused(self) -> Sequence[DatabaseState]:
        """Return the separate databases that are not served now (``/readyz``)."""
        return [one for one in answered(self._databases.states) if one.refusal is not None]

    def _save(self, action: str, before: Tenant, **values: object) -> Tenant:
        after = msgspec.structs.replace(before, **values)
        if after != before:
            answered(lambda: self._accounts.update_tenant(after))
            self._changed(action, before, after)
        return after

    def _changed(self, action: str, before: Tenant | None, after: Tenant) -> None:
        self._directory.forget()
        entry = AuditEntry(
            id=self._ids.new(), at=self._clock.now(), action=action, before=_facts(before), after=_facts(after)
        )
        self._storage.note(entry)


def _facts(tenant: Tenant | None) -> JsonObject | None:
    if tenant is None:
        return None
    address = None if tenant.database_url is None else DatabaseUrl().mask(tenant.database_url)
    return {"tenant": tenant.id, "name": tenant.name, "enabled": tenant.enabled, "database": address}
