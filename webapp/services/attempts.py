"""One attempt: what is claimed becomes a message, goes through its channel, and its end is written down (spec 10).

Nothing of it happens inside a transaction but the writing down. What several deliveries of a digest have in common is
the message; each has its own attempt and its own end.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from random import SystemRandom
from typing import NamedTuple

from msgspec import structs

from webapp.engine.clock import Clock
from webapp.engine.errors import OperationCancelled
from webapp.engine.notifications.model import (
    AttemptOutcome,
    ChannelKind,
    Delivery,
    DeliveryAttempt,
    DeliveryState,
    Endpoint,
)
from webapp.engine.ports.channels import Channel, OutgoingMessage, Part, SendingFailed
from webapp.engine.ports.stores import Partition, UnitOfWork
from webapp.messages.catalog import Catalog
from webapp.services import delivery_reasons as reasons
from webapp.services.decision_links import DecisionLinks
from webapp.services.delivery_times import AttemptTime, is_last, wait_after
from webapp.services.directory import AccountDirectory
from webapp.services.endpoint_copy import EndpointCopy
from webapp.services.notice_texts import spoken
from webapp.services.settings import ServiceSettings
from webapp.services.storage import Storage

log = logging.getLogger("waypost.deliveries")

MOST_PARTS = 200
"""How many notices of a digest are told one by one; the others are counted, and are in the list of notifications."""

WAITS_SECONDS = 30.0
"""How long a delivery rests whose endpoint is disabled or whose channel is not set up, until it is looked at again."""

_random = SystemRandom()


class Parcel(NamedTuple):
    """Deliveries that go out as one message: one, or those of a bundle."""

    deliveries: tuple[Delivery, ...]

    @property
    def first(self) -> Delivery:
        """The one whose id the message bears."""
        return self.deliveries[0]

    @property
    def partition(self) -> Partition:
        """Whose it is."""
        return self.first.tenant_id

    @property
    def ids(self) -> list[str]:
        """The ids of all."""
        return [one.id for one in self.deliveries]


class Result(NamedTuple):
    """How an attempt ended for all of a parcel. ``state`` None: it failed, and each one's number decides."""

    state: DeliveryState | None
    receipt: str | None = None
    error: str | None = None
    retry_after: float | None = None


class Attempts:
    """Makes attempts. *chance* spreads the waits between them: a number from 0 to 1."""

    def __init__(
        self,
        *,
        storage: Storage,
        channels: Sequence[Channel],
        endpoints: EndpointCopy,
        directory: AccountDirectory,
        links: DecisionLinks,
        catalog: Catalog,
        clock: Clock,
        settings: ServiceSettings,
        chance: Callable[[], float] = _random.random,
    ) -> None:
        self._storage = storage
        self._channels: Mapping[ChannelKind, Channel] = {channel.kind: channel for channel in channels}
        self._endpoints = endpoints
        self._directory = directory
        self._links = links
        self._catalog = catalog
        self._clock = clock
        self._settings = settings
        self._chance = chance

    def refresh(self) -> None:
        """Read anew what an attempt looks up and is older than a few seconds."""
        self._endpoints.refresh()
        self._directory.refresh()

    def make(self, parcel: Parcel, token: str, stopping: Callable[[], bool]) -> DeliveryState | None:
        """Make an attempt and write its end down; return it, None where the parcel was put off untried.

        :raises Unavailable: the end could not be written: the claim runs out, and the message is sent once more.
        """
        endpoint = self._endpoint(parcel.first)
        if endpoint is None:
            return self._settle(parcel, token, Result(DeliveryState.DEAD, error=reasons.ENDPOINT_DELETED))
        channel = self._channels.get(endpoint.kind)
        waits = self._waits_for(endpoint, channel)
        if channel is None or waits is not None:
            self._put_off(parcel, token, waits or reasons.CHANNEL_NOT_READY)
            return None
        if self._is_for_nobody(parcel):
            return self._settle(parcel, token, Result(DeliveryState.DROPPED, error=reasons.ACCOUNT_DISABLED))
        worn_out, left = self._without_worn_out(parcel)
        if worn_out is not None:
            self._settle(worn_out, token, Result(DeliveryState.DEAD, error=reasons.PROCESS_LOST))
        if left is None:
            return DeliveryState.DEAD
        return self._attempt(left, endpoint, channel, token, stopping)

    def _attempt(
        self, parcel: Parcel, endpoint: Endpoint, channel: Channel, token: str, stopping: Callable[[], bool]
    ) -> DeliveryState:
        began, begun_at = time.monotonic(), self._clock.now()
        result = self._send(channel, self.message(parcel, endpoint), stopping)
        return self._settle(parcel, token, result, begun_at, int((time.monotonic() - began) * 1000))

    def message(self, parcel: Parcel, endpoint: Endpoint) -> OutgoingMessage:
        """Return what goes out: an event, or a person's notices."""
        first = parcel.first
        made = OutgoingMessage(
            delivery_id=first.id,
            endpoint=endpoint,
            address=first.address,
            language=first.content.language,
            instance_id=first.instance_id,
            sequence=first.sequence,
            occurred_at=first.created_at,
            attempt=first.attempts,
        )
        if first.topic is not None:
            return structs.replace(made, topic=first.topic, data=first.content.data)
        told, count, language = parcel.deliveries[:MOST_PARTS], len(parcel.deliveries), spoken(first.content.language)
        parts = [Part(title=one.content.title, body=one.content.body, link=self._links.url(one)) for one in told]
        left_out = count - len(told)
        if left_out:
            more = self._catalog.text("deliveries.digest.more", {"count": left_out}, language)
            base = self._settings.base_url
            parts.append(Part(title=more, body="", link=f"{base.rstrip('/')}/notifications" if base else None))
        subject = parts[0].title
        if count > 1:
            subject = self._catalog.text("deliveries.digest.subject", {"count": count}, language)
        return structs.replace(made, parts=parts, left_out=left_out, subject=subject)

    def _endpoint(self, delivery: Delivery) -> Endpoint | None:
        """Return where it goes; what the copy does not know may be younger than it."""
        found = self._endpoints.find(delivery.tenant_id, delivery.endpoint_id)
        return found or self._endpoints.now().find(delivery.tenant_id, delivery.endpoint_id)

    def _waits_for(self, endpoint: Endpoint, channel: Channel | None) -> str | None:
        if not endpoint.enabled:
            return reasons.ENDPOINT_DISABLED
        if endpoint.unreadable:
            return reasons.SECRET_UNREADABLE
        return reasons.CHANNEL_NOT_READY if channel is None or not channel.ready else None

    def _is_for_nobody(self, parcel: Parcel) -> bool:
        who = parcel.first.recipient_id
        return who is not None and bool(self._directory.disabled(parcel.partition, [who]))

    def _without_worn_out(self, parcel: Parcel) -> tuple[Parcel | None, Parcel | None]:
        """Part a parcel into those whose last try of a round was lost with its process, and all others.

        Nobody was there to say that it was the last one: whatever ends its process each time would be tried for ever.
        """
        most, partition = self._settings.delivery_attempts, parcel.partition
        ids = [one.id for one in parcel.deliveries if one.attempts > 1 and is_last(one.attempts - 1, most)]
        if not ids:
            return None, parcel

        def last_was_lost(work: UnitOfWork) -> set[str]:
            last = {one: [*work.deliveries.attempts(partition, one)][-1:] for one in ids}
            return {one for one, found in last.items() if found and found[0].outcome is AttemptOutcome.LOST}

        lost = self._storage.read(partition, last_was_lost)
        parts = (
            [one for one in parcel.deliveries if one.id in lost],
            [one for one in parcel.deliveries if one.id not in lost],
        )
        worn_out, left = (Parcel(tuple(part)) if part else None for part in parts)
        return worn_out, left

    def _send(self, channel: Channel, message: OutgoingMessage, stopping: Callable[[], bool]) -> Result:
        allowed = AttemptTime(self._settings.delivery_timeout_seconds, stopping)
        try:
            return Result(DeliveryState.SENT, receipt=channel.send(message, allowed))
        except SendingFailed as failed:
            state = DeliveryState.DEAD if failed.permanent else None
            return Result(state, error=failed.reason, retry_after=failed.retry_after)
        except OperationCancelled:
            return Result(None, error=reasons.NO_ANSWER)
        except Exception:
            # Whatever it is: the others go on, and this one comes again. Its text may hold a secret.
            log.exception("the channel %s failed", channel.kind, extra={"deliveryId": message.delivery_id})
            return Result(None, error=reasons.FAILED_INSIDE)

    def _put_off(self, parcel: Parcel, token: str, reason: str) -> None:
        until = self._clock.now() + timedelta(seconds=WAITS_SECONDS)
        self._storage.write(
            parcel.partition, lambda work: work.deliveries.give_back(token, parcel.ids, until=until, reason=reason)
        )

    def _settle(
        self, parcel: Parcel, token: str, result: Result, begun_at: datetime | None = None, duration_ms: int = 0
    ) -> DeliveryState:
        now = self._clock.now()
        wait = self._wait(parcel, result)
        ends = [self._ended(one, result, now, wait) for one in parcel.deliveries]
        attempts = [
            DeliveryAttempt(
                delivery_id=one.id,
                number=one.attempts,
                started_at=begun_at or now,
                duration_ms=duration_ms,
                outcome=AttemptOutcome.SENT if result.state is DeliveryState.SENT else AttemptOutcome.FAILED,
                error=result.error,
            )
            for one in ends
        ]

        pairs = list(zip(ends, attempts, strict=True))
        settled = self._storage.write(
            parcel.partition, lambda work: work.deliveries.settle_all(parcel.partition, pairs, token)
        )
        if settled < len(pairs):
            log.warning("delivery %s took longer than its claim held", parcel.first.id)
        _tell(ends, result)
        return ends[0].state

    def _wait(self, parcel: Parcel, result: Result) -> timedelta:
        """Return how long all of a parcel wait for the next attempt: what was a bundle stays one."""
        most = self._settings.delivery_attempts
        tries = max((one.attempts - 1) % most + 1 for one in parcel.deliveries)
        return timedelta(seconds=wait_after(tries, self._chance(), result.retry_after))

    def _ended(self, one: Delivery, result: Result, now: datetime, wait: timedelta) -> Delivery:
        state = result.state
        if state is None:
            last = is_last(one.attempts, self._settings.delivery_attempts)
            state = DeliveryState.DEAD if last else DeliveryState.FAILED
        comes_again = state is DeliveryState.FAILED
        return structs.replace(
            one,
            state=state,
            receipt=result.receipt,
            last_error=result.error,
            next_attempt_at=now + wait if comes_again else one.next_attempt_at,
            ended_at=None if comes_again else now,
        )


def _tell(ends: Sequence[Delivery], result: Result) -> None:
    """Log what did not go out, a digest in one line: neither address nor content."""
    for state in sorted({one.state for one in ends} - {DeliveryState.SENT}):
        several = [one for one in ends if one.state is state]
        one = several[0]
        facts = {"deliveryId": one.id, "endpointId": one.endpoint_id, "attempt": one.attempts, "state": state}
        if len(several) > 1:
            facts["deliveries"] = len(several)
        log.warning("a delivery did not go out: %s", result.error, extra=facts)
