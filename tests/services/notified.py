"""What the tests of notices share: a flow with one task, accounts, and what somebody was told."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tests.support.engine import Installation, actor, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet
from webapp.accounts.model import Actor
from webapp.engine.instances.model import WorkflowInstance
from webapp.engine.notifications.model import (
    ChannelKind,
    Delivery,
    Endpoint,
    EventType,
    Notice,
    NoticeTemplate,
)
from webapp.engine.notifications.recipients import Telling
from webapp.engine.ports.notices import DeliveryQuery, NoticeQuery
from webapp.services.notice_writing import Occasion, Told

APPROVAL = flow(
    "approval",
    [START, node("ask", "UserTask", {"Assignees": ["u1"], "Title": "Sign {{ what }}", "Priority": "high"}), END],
    category="leave",
)
AT = datetime(2026, 1, 1, tzinfo=UTC)
MAIL = Endpoint(id="email", kind=ChannelKind.EMAIL, name="E-mail", for_notices=True, created_at=AT, updated_at=AT)
CHAT = Endpoint(id="chat", kind=ChannelKind.SLACK, name="Chat", for_notices=True, created_at=AT, updated_at=AT)


def staffed(stores: StoreSet, *names: str, **more: Any) -> Installation:
    """Return an installation with accounts; that of the starter has a department."""
    house = install(stores, **more)
    house.account("emma", department="sales")
    for name in names or ("u1", "u2"):
        house.account(name)
    return house


def emma() -> Actor:
    return actor("emma")


def begin(house: Installation, document: dict[str, Any] = APPROVAL, **more: Any) -> WorkflowInstance:
    house.publish(document)
    return house.start(document["name"], more.pop("variables", {"what": "it"}), by=emma(), **more)


def notices(house: Installation, who: str, partition: str | None = None) -> list[Notice]:
    """Return somebody's inbox, the oldest first."""
    with house.store_set.stores.reading(partition) as work:
        return work.notices.list(partition, who, NoticeQuery()).items[::-1]


def told(house: Installation, who: str) -> list[str]:
    return [one.event_type.value for one in notices(house, who)]


def deliveries(house: Installation) -> list[Delivery]:
    with house.store_set.stores.reading(None) as work:
        return work.deliveries.list(None, DeliveryQuery()).items[::-1]


class Refusing:
    """A channel that cannot reach some people; the others it leaves to the real one."""

    def __init__(self, *names: str) -> None:
        self.names = set(names)
        self.tried: list[str] = []

    def compose(self, telling: Telling, occasion: Occasion) -> Told | None:
        self.tried.append(telling.recipient_id)
        if telling.recipient_id in self.names:
            raise RuntimeError("the inbox is full")
        return None


def template(**more: Any) -> NoticeTemplate:
    given = {
        "id": "tpl",
        "event_type": EventType.TASK_CREATED,
        "business_type": "leave",
        "language": "en",
        "version": 3,
        "title": "To sign: {title}",
        "body": "{instanceTitle} of {starter}, {what}",
        "created_at": AT,
    }
    return NoticeTemplate(**{**given, **more})
