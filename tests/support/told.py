"""Notices and deliveries as they stand after commands, written straight into the stores."""

from __future__ import annotations

from typing import Any, cast

from tests.support.web import Site
from webapp.engine.notifications.model import (
    AttemptOutcome,
    ChannelKind,
    Delivery,
    DeliveryAttempt,
    DeliveryContent,
    DeliveryState,
    EventType,
    Notice,
    NoticeType,
)
from webapp.engine.ports.stores import Stores, WriteSet


def tell(site: Site, recipient: str, title: str, **changes: Any) -> Notice:
    """Write a notice to an account; by default of a new task of an instance that is called like it."""
    members: dict[str, Any] = {
        "id": site.installation.new_id(),
        "recipient_id": recipient,
        "event_type": EventType.TASK_CREATED,
        "type": NoticeType.APPROVAL,
        "title": title,
        "body": f"Body of {title}",
        "language": "en",
        "instance_id": f"instance-{title}",
        "instance_title": f"Request of {title}",
        "definition_name": "leave",
        "origin": "origin",
        "occurrence": 0,
        "metadata": {},
        "created_at": site.clock.now(),
        **changes,
    }
    members.setdefault("code", f"workflow.{members['event_type']}")
    notice = Notice(**members)
    _write(site, WriteSet(partition=notice.tenant_id, notices=[notice]))
    return notice


def owe(site: Site, title: str, *, endpoint: str = "hook", **changes: Any) -> Delivery:
    """Write a delivery to an endpoint; by default one that waits to be sent."""
    members: dict[str, Any] = {
        "id": site.installation.new_id(),
        "line": title,
        "kind": ChannelKind.WEBHOOK,
        "endpoint_id": endpoint,
        "recipient_id": "employee",
        "next_attempt_at": site.clock.now(),
        "created_at": site.clock.now(),
        "content": DeliveryContent(title=title, body=f"Body of {title}"),
        **changes,
    }
    delivery = Delivery(**members)
    _write(site, WriteSet(partition=delivery.tenant_id, deliveries=[delivery]))
    return delivery


def attempted(site: Site, delivery: Delivery, error: str | None, *, state: DeliveryState) -> None:
    """Claim a delivery that is due, and settle one attempt of it; *error* None: it was taken."""
    now, outcome = site.clock.now(), AttemptOutcome.SENT if error is None else AttemptOutcome.FAILED
    with _stores(site).writing(delivery.tenant_id) as work:
        (claimed,) = work.deliveries.claim_due(now, 1, "test-token", now)
        assert claimed.id == delivery.id
        claimed.state, claimed.last_error, claimed.ended_at = state, error, now
        attempt = DeliveryAttempt(
            delivery_id=claimed.id,
            number=claimed.attempts,
            started_at=now,
            duration_ms=1_250,
            outcome=outcome,
            error=error,
        )
        assert work.deliveries.settle(claimed.tenant_id, claimed, attempt, "test-token")


def _stores(site: Site) -> Stores:
    return cast("Stores", site.installation.stores)


def _write(site: Site, write_set: WriteSet) -> None:
    with _stores(site).writing(write_set.partition) as work:
        work.apply(write_set)
