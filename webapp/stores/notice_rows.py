"""Notices, deliveries, attempts and their settings: models to columns and columns to models, as in ``rows``.

Columns that are empty for most rows say which rows count: ``inbox_of`` is the recipient of a notice that the inbox
shows, ``due_at`` the next attempt of a delivery that is still to be sent (empty, too, while it stands aside for an
earlier one of its line), ``open_line`` the line of one that others
wait for. Every change of a delivery's state sets them anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from webapp.engine.notifications.model import (
    OPEN_STATES,
    AttemptOutcome,
    Delivery,
    DeliveryAttempt,
    DeliveryState,
    Endpoint,
    Notice,
    NoticePreferences,
    NoticeTemplate,
)
from webapp.engine.numbers import decode
from webapp.engine.ports.stores import Partition
from webapp.stores.rows import Columns, Row, document, pick

NOTICE_OVERLAY = ("read_at", "link_used_at")
"""Columns of a notice that the store changes without rewriting its document."""

DELIVERY_OVERLAY = ("attempts", "next_attempt_at", "receipt", "last_error", "ended_at")
"""The same of a delivery, besides its state."""

SETTLED_STATES = (DeliveryState.SENT, DeliveryState.DROPPED)
"""Nothing more becomes of such a delivery unless somebody asks for it: it may be purged."""

RETRIED_STATES = (DeliveryState.DEAD, DeliveryState.DROPPED, DeliveryState.FAILED)
DROPPED_STATES = (*OPEN_STATES, DeliveryState.DEAD)
"""Those that an administrator may try again, and those that can be marked as settled."""


def notice_row(notice: Notice) -> Row:
    """Return the columns of a notice."""
    return {
        "id": notice.id,
        "tenant_id": notice.tenant_id,
        "sequence": notice.sequence,
        "inbox_of": notice.recipient_id if notice.in_inbox else None,
        "type": notice.type.value,
        "instance_id": notice.instance_id,
        "task_id": notice.task_id,
        "created_at": notice.created_at,
        "read_at": notice.read_at,
        "link_used_at": notice.link_used_at,
        "document": document(notice),
    }


def notice(row: Columns) -> Notice:
    """Return a notice from its document and the columns that may have moved on since."""
    found = decode(row["document"], Notice)
    for name in NOTICE_OVERLAY:
        setattr(found, name, row[name])
    return found


def delivery_row(delivery: Delivery) -> Row:
    """Return the columns of a delivery, unclaimed."""
    return {
        "id": delivery.id,
        "tenant_id": delivery.tenant_id,
        "sequence": delivery.sequence,
        "line": delivery.line,
        "endpoint_id": delivery.endpoint_id,
        "recipient_id": delivery.recipient_id,
        "topic": delivery.topic,
        "instance_id": delivery.instance_id,
        "bundle": delivery.bundle,
        "attempts": delivery.attempts,
        "created_at": delivery.created_at,
        "attempted_at": None,
        "claim_token": None,
        "claimed_until": None,
        "document": document(delivery),
        **outcome_columns(delivery),
    }


def outcome_columns(delivery: Delivery) -> Row:
    """Return the columns that an attempt's end changes."""
    return {
        **state_columns(delivery.state, delivery.line, delivery.next_attempt_at),
        "receipt": delivery.receipt,
        "last_error": delivery.last_error,
        "ended_at": delivery.ended_at,
    }


def state_columns(state: DeliveryState, line: str, next_attempt_at: datetime) -> Row:
    """Return the columns that follow from a delivery's state."""
    is_open = state in OPEN_STATES
    return {
        "state": state.value,
        "next_attempt_at": next_attempt_at,
        "due_at": next_attempt_at if is_open else None,
        "open_line": line if is_open or state is DeliveryState.DEAD else None,
    }


def delivery(row: Columns) -> Delivery:
    """Return a delivery from its document and the columns that may have moved on since."""
    found = decode(row["document"], Delivery)
    for name in DELIVERY_OVERLAY:
        setattr(found, name, row[name])
    found.state = DeliveryState(row["state"])
    return found


def attempt_row(partition: Partition, attempt: DeliveryAttempt) -> Row:
    """Return the columns of an attempt."""
    return {
        "delivery_id": attempt.delivery_id,
        "tenant_id": partition,
        "number": attempt.number,
        "started_at": attempt.started_at,
        "duration_ms": attempt.duration_ms,
        "outcome": attempt.outcome.value,
        "error": attempt.error,
    }


def lost_attempt_row(partition: Partition, claimed: Mapping[str, object]) -> Row:
    """Return the columns of the attempt that a delivery's last claim was for; how long it took, nobody knows."""
    return {
        "delivery_id": claimed["id"],
        "tenant_id": partition,
        "number": claimed["attempts"],
        "started_at": claimed["attempted_at"],
        "duration_ms": 0,
        "outcome": AttemptOutcome.LOST.value,
        "error": None,
    }


def attempt(row: Columns) -> DeliveryAttempt:
    """Return an attempt."""
    return pick(DeliveryAttempt, row, outcome=AttemptOutcome(row["outcome"]))


def template_row(template: NoticeTemplate) -> Row:
    """Return the columns of a template's version; a key must not be null, so no category is an empty text."""
    return {
        "id": template.id,
        "scope": template.tenant_id or "",
        "event_type": template.event_type.value,
        "business_type": template.business_type or "",
        "language": template.language,
        "version": template.version,
        "document": document(template),
    }


def preferences_row(preferences: NoticePreferences) -> Row:
    """Return the columns of a person's preferences."""
    return {
        "scope": preferences.tenant_id or "",
        "user_id": preferences.user_id,
        "revision": preferences.revision,
        "document": document(preferences),
    }


def endpoint_row(endpoint: Endpoint) -> Row:
    """Return the columns of an endpoint."""
    return {
        "id": endpoint.id,
        "scope": endpoint.tenant_id or "",
        "name": endpoint.name,
        "revision": endpoint.revision,
        "document": document(endpoint),
    }
