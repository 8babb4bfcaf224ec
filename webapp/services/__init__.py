"""The use cases: pages, API, command line and poller call these services and nothing deeper.

Services are the only ones that open and commit units of work. Every method takes the actor, whose partition and
permissions decide what it may see and do.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from webapp.accounts.passwords import Passwords
from webapp.accounts.ports import AccountStore
from webapp.engine.clock import Clock, IdSource
from webapp.engine.ports.locks import Leases
from webapp.engine.ports.messaging import Publisher
from webapp.engine.ports.stores import Stores
from webapp.engine.runtime.engine import Engine
from webapp.services.accounts import AccountService
from webapp.services.catalog import CatalogService
from webapp.services.commands import Commands
from webapp.services.definitions import DefinitionCache
from webapp.services.directory import AccountDirectory
from webapp.services.follow_ups import FollowUpRunner
from webapp.services.housekeeping import HousekeepingService
from webapp.services.inbox import InboxService
from webapp.services.instances import InstanceService
from webapp.services.monitor import MonitorService
from webapp.services.settings import ServiceSettings
from webapp.services.storage import Storage


@dataclass(frozen=True, kw_only=True)
class Services:
    """All use cases of an installation."""

    catalog: CatalogService
    instances: InstanceService
    inbox: InboxService
    monitor: MonitorService
    accounts: AccountService
    housekeeping: HousekeepingService
    follow_ups: FollowUpRunner


def build_services(
    *,
    stores: Stores,
    leases: Leases,
    accounts: AccountStore,
    engine: Engine,
    directory: AccountDirectory,
    publisher: Publisher,
    clock: Clock,
    ids: IdSource,
    settings: ServiceSettings | None = None,
    passwords: Passwords | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> Services:
    """Put the services together.

    *directory* is the one that the engine was given: it is refreshed before each wave, never in it.
    """
    chosen = settings or ServiceSettings()
    storage = Storage(stores, chosen, pause)
    definitions = DefinitionCache(storage, engine, chosen.definition_cache_size)
    commands = Commands(
        storage=storage,
        leases=leases,
        publisher=publisher,
        clock=clock,
        ids=ids,
        definitions=definitions,
        directory=directory,
    )
    follow_ups = FollowUpRunner(storage=storage, leases=leases, clock=clock, settings=chosen)
    commands.settle = follow_ups.run_own
    instances = InstanceService(engine=engine, storage=storage, commands=commands, definitions=definitions)
    return Services(
        catalog=CatalogService(engine=engine, storage=storage, definitions=definitions, clock=clock, ids=ids),
        instances=instances,
        inbox=InboxService(engine=engine, storage=storage, commands=commands, definitions=definitions, clock=clock),
        monitor=MonitorService(storage=storage, definitions=definitions, instances=instances, accounts=accounts),
        accounts=AccountService(
            accounts=accounts, directory=directory, passwords=passwords or Passwords(), clock=clock, ids=ids
        ),
        housekeeping=HousekeepingService(
            engine=engine,
            storage=storage,
            leases=leases,
            commands=commands,
            follow_ups=follow_ups,
            accounts=accounts,
            clock=clock,
            settings=chosen,
        ),
        follow_ups=follow_ups,
    )


__all__ = ["ServiceSettings", "Services", "build_services"]
