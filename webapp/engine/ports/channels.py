"""The channel port: how one message leaves the house (spec 10, Outbox and deliveries). Adding one is one class."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from webapp.engine.cancellation import CancellationToken
from webapp.engine.errors import Problem
from webapp.engine.notifications.model import ChannelKind, Endpoint
from webapp.engine.numbers import JsonObject


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One notice of a message: a digest has several. ``link``: an absolute URL, or None where the host is not known."""

    title: str
    body: str
    link: str | None = None


class OutgoingMessage(msgspec.Struct, frozen=True, kw_only=True):
    """What a channel sends: a person's notices (``parts``) or an event (``topic`` and ``data``).

    ``delivery_id``: stable over all attempts; of a digest the first one's. ``address``: the person's, None for an
    event. ``left_out``: how many notices of a long digest are not among the parts; the last part says so.
    """

    delivery_id: str
    endpoint: Endpoint
    address: str | None = None
    language: str = "en"
    subject: str = ""
    parts: Sequence[Part] = ()
    left_out: int = 0
    topic: str | None = None
    data: JsonObject | None = None
    instance_id: str | None = None
    sequence: int = 0
    occurred_at: datetime
    attempt: int = 1


class SendingFailed(Exception):
    """It did not go out, or nobody can say that it did.

    ``reason`` is for the attempts' list: no secret, no body, no full address. ``permanent``: trying again is of no use,
    the delivery is dead at once. ``retry_after``: seconds that the other side asks to wait.
    """

    def __init__(self, reason: str, *, permanent: bool = False, retry_after: float | None = None) -> None:
        self.reason = reason
        self.permanent = permanent
        self.retry_after = retry_after
        super().__init__(reason)


class Channel(Protocol):
    """One way out of the house."""

    @property
    def kind(self) -> ChannelKind:
        """Which one it is."""

    @property
    def ready(self) -> bool:
        """Whether its settings are there (e-mail needs a server): if not, nobody is offered it."""

    def check(self, endpoint: Endpoint) -> Sequence[Problem]:
        """Return what is wrong with an endpoint before it is stored: an address that is none, a missing secret."""

    def send(self, message: OutgoingMessage, cancellation: CancellationToken) -> str | None:
        """Send one message and return the other side's receipt, if it gives one.

        Returns only when the other side has taken it. The token is set when the time for the attempt is over or the
        process stops. :raises SendingFailed: it was not taken, or nobody can say.
        """
