"""Messages as the sender gives them to a channel, and what channels need beside them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from webapp.channels.addresses import AddressPolicy
from webapp.channels.http_calls import HttpCalls
from webapp.channels.posting import Posting
from webapp.engine.cancellation import CancellationToken, Deadline
from webapp.engine.clock import Clock, SystemClock
from webapp.engine.notifications.model import ChannelKind, Endpoint
from webapp.engine.ports.channels import OutgoingMessage, Part

OCCURRED = datetime(2026, 7, 16, 8, 0, tzinfo=UTC)
LOCAL = AddressPolicy(["127.0.0.0/8"])
LINK = "https://flow.example.org/d/tok-en_1"
TASK = Part(title="New task: Leave of Anna", body="Anna asks for 3 days.\nPlease decide.", link=LINK)


def endpoint(kind: ChannelKind, address: str = "", secret: str | None = None, **options: Any) -> Endpoint:
    """Return an endpoint of the tenant ``north``."""
    return Endpoint(
        id=f"endpoint-{kind}",
        tenant_id="north",
        kind=kind,
        name="Finance",
        address=address,
        secret=secret,
        options=options,
        created_at=OCCURRED,
        updated_at=OCCURRED,
    )


def notice(to: Endpoint, *parts: Part, address: str | None = None, **more: Any) -> OutgoingMessage:
    """Return a person's notices; without parts it is that of one task."""
    told = parts or (TASK,)
    given = {"subject": told[0].title, "instance_id": "i-1", "sequence": 7, **more}
    return OutgoingMessage(delivery_id="d-1", endpoint=to, address=address, parts=told, occurred_at=OCCURRED, **given)


def event(to: Endpoint, **data: Any) -> OutgoingMessage:
    """Return an event of a topic."""
    return OutgoingMessage(
        delivery_id="d-2",
        endpoint=to,
        topic="workflow.task.created",
        data={"taskId": "t-1", **data},
        instance_id="i-1",
        sequence=8,
        occurred_at=OCCURRED,
    )


def posting(clock: Clock | None = None, policy: AddressPolicy = LOCAL) -> Posting:
    """Return what posts to this machine, as the registry makes it."""
    return Posting(HttpCalls(policy, max_bytes=1000, follow=False), policy, clock or SystemClock())


def soon(seconds: float = 20) -> CancellationToken:
    """Return a token for an attempt that ends long before."""
    return Deadline(SystemClock(), seconds)


def split(request: str) -> tuple[str, dict[str, str], str]:
    """Return a request's first line, its headers by lower-case name, and its body."""
    head, _, body = request.partition("\r\n\r\n")
    first, *lines = head.split("\r\n")
    return first, {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}, body


def document(request: str) -> Any:
    """Return the JSON that was posted."""
    return json.loads(split(request)[2])
