"""The endpoints as a process knows them, some seconds old at most: who takes which event, what goes where (spec 10).

Asked between wave and write, so it answers from memory; the sender asks the store before it decides for good.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime

import msgspec

from webapp.engine.clock import Clock
from webapp.engine.notifications.model import ChannelKind, Endpoint
from webapp.engine.ports.channels import Channel
from webapp.engine.ports.messaging import Subscriptions, TopicPatterns
from webapp.engine.ports.notices import EndpointStore
from webapp.engine.ports.stores import Partition, StoreFailure
from webapp.services.process_copies import ProcessCopy
from webapp.services.storage import asked

log = logging.getLogger("waypost.endpoints")

EMAIL = "email"
"""The id of the one endpoint that is built in: e-mail to people, by the server that stands in the settings."""

_EVER = datetime(2020, 1, 1, tzinfo=UTC)


def built_in_email(partition: Partition) -> Endpoint:
    """Return the endpoint by which a partition's people get e-mail."""
    return Endpoint(
        id=EMAIL,
        tenant_id=partition,
        kind=ChannelKind.EMAIL,
        name="E-mail",
        for_notices=True,
        created_at=_EVER,
        updated_at=_EVER,
    )


def mail_for_people(channels: Sequence[Channel]) -> Callable[[Partition], Sequence[Endpoint]]:
    """Return what tells the endpoints that nobody has to make: e-mail, where there is a server for it."""
    mail = next((channel for channel in channels if channel.kind is ChannelKind.EMAIL), None)
    return lambda partition: [built_in_email(partition)] if mail is not None and mail.ready else []


class Taker(msgspec.Struct, frozen=True):
    """An endpoint and the topics that it takes."""

    endpoint: Endpoint
    patterns: TopicPatterns


class Endpoints(msgspec.Struct, frozen=True):
    """The endpoints as they stood at one moment."""

    found: dict[tuple[Partition, str], Endpoint]
    takers: dict[Partition, tuple[Taker, ...]]

    def find(self, partition: Partition, endpoint_id: str) -> Endpoint | None:
        """Return the endpoint, or None."""
        return built_in_email(partition) if endpoint_id == EMAIL else self.found.get((partition, endpoint_id))

    def taking(self, partition: Partition, topic: str) -> Sequence[Endpoint]:
        """Return the enabled endpoints that take a topic, by name."""
        takers = self.takers.get(partition, ())
        return [taker.endpoint for taker in takers if taker.patterns.wants(partition, topic)]


class EndpointCopy:
    """Implements the ``Subscriptions`` port: the topics of enabled endpoints, and *settings*' own."""

    def __init__(self, store: EndpointStore, settings: Subscriptions, clock: Clock, seconds: float = 5) -> None:
        self._store = store
        self.settings = settings
        self._copy = ProcessCopy(lambda: _copy_of(store.endpoints()), clock, seconds, _failed)

    def refresh(self) -> None:
        """Read the endpoints again if the copy is too old; a failure keeps the copy that is there."""
        self._copy.refresh()

    def forget(self) -> None:
        """Make the next refresh read again: an endpoint was changed in this process."""
        self._copy.forget()

    def now(self) -> Endpoints:
        """Return the endpoints as they stand this moment. :raises Unavailable: they cannot be read."""
        return _copy_of(asked(self._store.endpoints))

    def find(self, partition: Partition, endpoint_id: str) -> Endpoint | None:
        """Return the endpoint as the copy has it, or None."""
        copy = self._copy.value
        return (copy or _NONE).find(partition, endpoint_id)

    def of(self, partition: Partition) -> Sequence[Endpoint]:
        """Return the partition's endpoints as the copy has them, by name."""
        copy = self._copy.value or _NONE
        return [endpoint for (whose, _), endpoint in copy.found.items() if whose == partition]

    def wants(self, partition: Partition, topic: str) -> bool:
        """Whether an enabled endpoint takes the topic, or the settings keep it for another system."""
        if self.settings.wants(partition, topic):
            return True
        copy = self._copy.value
        return copy is not None and bool(copy.taking(partition, topic))


def _failed(failure: StoreFailure, has_copy: bool) -> None:
    log.warning("the endpoints could not be read; the old copy is used", exc_info=failure)


def _copy_of(endpoints: Collection[Endpoint]) -> Endpoints:
    takers: dict[Partition, list[Taker]] = {}
    for one in endpoints:
        if one.enabled and one.topics:
            takers.setdefault(one.tenant_id, []).append(Taker(one, TopicPatterns(one.topics)))
    return Endpoints(
        found={(one.tenant_id, one.id): one for one in endpoints},
        takers={partition: tuple(found) for partition, found in takers.items()},
    )


_NONE = _copy_of(())
