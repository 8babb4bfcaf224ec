"""What the tests of sending share: an installation with a channel double, endpoints, deliveries as they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from tests.support.channels import FakeChannel
from tests.support.engine import ADMIN, Installation, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet
from webapp.engine.notifications.model import (
    ChannelKind,
    Delivery,
    DeliveryAttempt,
    DeliveryContent,
    DeliveryState,
    Endpoint,
    delivery_id,
)
from webapp.engine.ports.notices import DeliveryQuery
from webapp.engine.ports.queries import Paging
from webapp.services import ServiceSettings
from webapp.services.due_work import Crew
from webapp.services.endpoints import EndpointSettings
from webapp.services.sending import SendReport

State = DeliveryState
APPROVAL = flow("approval", [START, node("ask", "UserTask", {"Assignees": ["u1"]}), END])
ALL = Paging(limit=1_000)
FAST = ServiceSettings(delivery_timeout_seconds=0.05)


@dataclass
class Post:
    """An installation whose messages go into a double."""

    house: Installation
    channel: FakeChannel

    @property
    def now(self) -> Any:
        """The clock that stands still."""
        return self.house.store_set.clock.now()

    def pass_time(self, seconds: float) -> None:
        """Put the clock on."""
        self.house.store_set.clock.advance(seconds)

    def endpoint(self, name: str = "hook", *, topics: Sequence[str] = ("workflow.*",), **more: Any) -> Endpoint:
        """Make an endpoint."""
        kind = more.pop("kind", self.channel.kind)
        by = more.pop("by", ADMIN)
        wanted = EndpointSettings(name=name, address="https://example.org/in", topics=topics, **more)
        return self.house.services.endpoints.create(by, kind, wanted)

    def put(self, *deliveries: Delivery, partition: str | None = None) -> None:
        """Store deliveries."""
        with self.house.store_set.stores.writing(partition) as work:
            work.deliveries.insert(partition, deliveries)

    def delivery(self, name: str, endpoint: Endpoint, **more: Any) -> Delivery:
        """Return a delivery of an event, due now, of the instance ``i1`` unless another is named."""
        instance = more.setdefault("instance_id", "i1")
        values: dict[str, Any] = {
            "id": name,
            "tenant_id": endpoint.tenant_id,
            "line": f"{endpoint.id}//{instance}",
            "kind": endpoint.kind,
            "endpoint_id": endpoint.id,
            "topic": "workflow.custom",
            "next_attempt_at": self.now,
            "created_at": self.now,
            "content": DeliveryContent(data={"name": name}),
        }
        return Delivery(**{**values, **more})

    def line(self, endpoint: Endpoint, *names: str, **more: Any) -> None:
        """Store deliveries of one line, in this order."""
        self.put(*(self.delivery(one, endpoint, sequence=place, **more) for place, one in enumerate(names)))

    def send(self, crew: Crew | None = None) -> SendReport:
        """Make a pass."""
        return self.house.services.sending.send_due(crew)

    def taken(self) -> list[str]:
        """Return the ids of what the double has taken, in its order."""
        return [message.delivery_id for message in self.channel.taken]

    def find(self, name: str, partition: str | None = None) -> Delivery:
        """Return a delivery as it is stored."""
        with self.house.store_set.stores.reading(partition) as work:
            found = work.deliveries.find(partition, name)
        assert found is not None, name
        return found

    def attempts(self, name: str, partition: str | None = None) -> Sequence[DeliveryAttempt]:
        """Return the attempts of a delivery."""
        with self.house.store_set.stores.reading(partition) as work:
            return work.deliveries.attempts(partition, name)

    def states(self, partition: str | None = None) -> dict[str, str]:
        """Return the state of every delivery."""
        with self.house.store_set.stores.reading(partition) as work:
            return {one.id: one.state.value for one in work.deliveries.list(partition, DeliveryQuery(paging=ALL)).items}

    def outbox(self, partition: str | None = None) -> list[str]:
        """Return the ids of what waits in the outbox."""
        with self.house.store_set.stores.reading(partition) as work:
            return [one.id for one in work.outbox.waiting(1_000)]


def post(stores: StoreSet, channel: FakeChannel | None = None, **more: Any) -> Post:
    """Return an installation with a double."""
    chosen = channel or FakeChannel()
    return Post(install(stores, channels=[chosen], **more), chosen)


__all__ = ["APPROVAL", "FAST", "ChannelKind", "Post", "State", "delivery_id", "post", "timedelta"]
