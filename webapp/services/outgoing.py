"""Puts together what leaves the house: endpoints, deliveries, the sender, links to decisions (spec 10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from webapp.accounts.ports import AccountStore
from webapp.accounts.tenants import TenantDirectory
from webapp.engine.clock import Clock, IdSource
from webapp.engine.ports.channels import Channel
from webapp.engine.ports.locks import Leases
from webapp.engine.ports.notices import EndpointStore
from webapp.engine.ports.partitions import PartitionDatabases
from webapp.messages.catalog import Catalog
from webapp.services.attempts import Attempts
from webapp.services.decision_links import DecisionLinks
from webapp.services.deliveries import DeliveryService
from webapp.services.directory import AccountDirectory
from webapp.services.endpoint_copy import EndpointCopy
from webapp.services.endpoints import EndpointService
from webapp.services.fan_out import FanOut
from webapp.services.sending import SendingService
from webapp.services.settings import ServiceSettings
from webapp.services.storage import Storage


@dataclass(frozen=True, kw_only=True)
class Outgoing:
    """The use cases of what leaves the house."""

    endpoints: EndpointService
    deliveries: DeliveryService
    sending: SendingService
    links: DecisionLinks


def build_outgoing(
    *,
    storage: Storage,
    leases: Leases,
    accounts: AccountStore,
    directory: AccountDirectory,
    stored_endpoints: EndpointStore,
    copy: EndpointCopy,
    channels: Sequence[Channel],
    catalog: Catalog,
    tenants: TenantDirectory,
    databases: PartitionDatabases,
    clock: Clock,
    ids: IdSource,
    settings: ServiceSettings,
    link_key: str,
) -> Outgoing:
    """Put the services together; *link_key* signs the links."""
    links = DecisionLinks(
        storage=storage, clock=clock, key=link_key, base_url=settings.base_url, days=settings.decision_link_days
    )
    attempts = Attempts(
        storage=storage,
        channels=channels,
        endpoints=copy,
        directory=directory,
        links=links,
        catalog=catalog,
        clock=clock,
        settings=settings,
    )
    sending = SendingService(
        storage=storage,
        leases=leases,
        attempts=attempts,
        fan_out=FanOut(storage, copy, clock),
        tenants=tenants,
        databases=databases,
        clock=clock,
        settings=settings,
    )
    endpoints = EndpointService(
        endpoints=stored_endpoints,
        copy=copy,
        channels=channels,
        accounts=accounts,
        catalog=catalog,
        storage=storage,
        clock=clock,
        ids=ids,
        timeout_seconds=settings.delivery_timeout_seconds,
    )
    deliveries = DeliveryService(storage=storage, clock=clock, ids=ids, left=sending.left)
    return Outgoing(endpoints=endpoints, deliveries=deliveries, sending=sending, links=links)
