"""Webhooks: a signed POST of one JSON document (spec 10)."""

from __future__ import annotations

from collections.abc import Sequence

from webapp.channels.envelopes import envelope
from webapp.channels.posting import Posting
from webapp.channels.signatures import DELIVERY_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, signature
from webapp.engine.cancellation import CancellationToken
from webapp.engine.errors import Problem
from webapp.engine.notifications.model import ChannelKind, Endpoint
from webapp.engine.ports.channels import OutgoingMessage

SHORTEST_SECRET = 16


class WebhookChannel:
    """Posts events and notices; any answer of 2xx means taken, a redirect does not."""

    kind = ChannelKind.WEBHOOK
    ready = True

    def __init__(self, posting: Posting) -> None:
        self._posting = posting

    def check(self, endpoint: Endpoint) -> Sequence[Problem]:
        """Return what is wrong with the address or the secret, which is what the receiver knows us by."""
        problems = list(self._posting.check(endpoint))
        if len(endpoint.secret or "") < SHORTEST_SECRET:
            problems.append(Problem(path="secret", key="channel.secret_short", params={"minimum": SHORTEST_SECRET}))
        return problems

    def send(self, message: OutgoingMessage, cancellation: CancellationToken) -> str | None:
        """Post the document and return the answer's status."""
        endpoint, body = message.endpoint, envelope(message)
        timestamp = int(self._posting.clock.now().timestamp())
        headers = {
            DELIVERY_HEADER: message.delivery_id,
            TIMESTAMP_HEADER: str(timestamp),
            SIGNATURE_HEADER: signature(endpoint.secret or "", timestamp, body),
        }
        response = self._posting.post(endpoint, body, cancellation, headers=headers)
        return self._posting.accepted(endpoint, response)
