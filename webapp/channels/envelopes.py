"""What programs get, from a webhook as from a broker: one document for events and for people's notices (spec 10)."""

from __future__ import annotations

from typing import Any

import msgspec

from webapp.engine.ports.channels import OutgoingMessage

NOTICE_TOPIC = "workflow.notice"
"""The topic of what was meant for a person."""


def topic(message: OutgoingMessage) -> str:
    """Return the event's topic, or that of notices."""
    return message.topic or NOTICE_TOPIC


def envelope(message: OutgoingMessage) -> bytes:
    """Return the document: ``{id, topic, tenantId, instanceId, sequence, occurredAt, data}``, JSON in UTF-8.

    ``tenantId`` is the endpoint's, which is the instance's: an endpoint gets what happens in its own partition only.
    Of a notice ``data`` is ``{recipient, language, subject, parts: [{title, body, link}]}``. The same delivery makes
    the same bytes at each attempt.
    """
    document: dict[str, Any] = {
        "id": message.delivery_id,
        "topic": topic(message),
        "tenantId": message.endpoint.tenant_id,
        "instanceId": message.instance_id,
        "sequence": message.sequence,
        "occurredAt": message.occurred_at,
        "data": _notice(message) if message.topic is None else message.data or {},
    }
    return msgspec.json.encode(document)


def _notice(message: OutgoingMessage) -> dict[str, Any]:
    return {
        "recipient": message.address,
        "language": message.language,
        "subject": message.subject,
        "parts": [{"title": part.title, "body": part.body, "link": part.link} for part in message.parts],
    }
