"""The ports of notices and deliveries: rows of a partition's own database (spec 10, 8.10).

What is settled for all of an installation, templates, preferences and endpoints, is kept with the accounts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from webapp.engine.notifications.model import (
    Delivery,
    DeliveryAttempt,
    DeliveryState,
    Endpoint,
    EventType,
    Notice,
    NoticePreferences,
    NoticeTemplate,
    NoticeType,
)
from webapp.engine.ports.queries import Page, Paging

Partition = str | None


class NoticeQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which notices of a recipient: newest first (createdAt, sequence, id); those that are in the inbox only."""

    unread: bool = False
    type: NoticeType | None = None
    instance_id: str | None = None
    paging: Paging = Paging()


class DeliveryQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which deliveries: newest first (createdAt, sequence, id)."""

    states: Sequence[DeliveryState] = ()
    endpoint_id: str | None = None
    instance_id: str | None = None
    recipient_id: str | None = None
    topic: str | None = None
    paging: Paging = Paging()


class NoticeStore(Protocol):
    """Notices; written by ``apply`` only, where an id that is there already stays as it is.

    What is listed, counted and marked as read are those that are in the inbox.
    """

    def find(self, partition: Partition, notice_id: str) -> Notice | None:
        """Return the notice, or None."""

    def list(self, partition: Partition, recipient_id: str, query: NoticeQuery) -> Page[Notice]:
        """Return a page of the recipient's notices and the total."""

    def latest(self, partition: Partition, recipient_id: str, most: int) -> Sequence[Notice]:
        """Return the newest that the recipient has not read, at most *most*; nothing is counted."""

    def unread(self, partition: Partition, recipient_id: str, most: int = 100) -> int:
        """Return how many the recipient has not read, at most *most*: for the bell."""

    def mark_read(self, partition: Partition, recipient_id: str, notice_ids: Sequence[str], at: datetime) -> int:
        """Mark the recipient's notices as read; return how many were not."""

    def mark_all_read(self, partition: Partition, recipient_id: str, until: datetime, at: datetime) -> int:
        """Mark what was told until then as read; return how many were not."""

    def mark_task_read(self, partition: Partition, recipient_id: str, task_id: str, at: datetime) -> int:
        """Mark the notices of a task as read, because the recipient opened it; return how many were not."""

    def use_link(self, partition: Partition, notice_id: str, at: datetime) -> bool:
        """Note that the notice's link was used; False when it was before: one conditional update."""

    def purge(self, partition: Partition, before: datetime, limit: int) -> int:
        """Delete at most *limit* notices older than *before*, the oldest first; return their number."""


class DeliveryStore(Protocol):
    """Deliveries and their attempts; ids that are there already stay as they are."""

    def insert(self, partition: Partition, deliveries: Sequence[Delivery]) -> None:
        """Insert deliveries: what the outbox's events become, with the deletion of those in one transaction."""

    def any_due(self, now: datetime, without: Collection[Partition] = ()) -> bool:
        """Whether ``claim_due`` would find something now; a read."""

    def next_due(self, without: Collection[Partition] = ()) -> datetime | None:
        """Return the earliest time at which something unclaimed, the first of its line, may be sent, or None."""

    def claim_due(
        self,
        now: datetime,
        limit: int,
        token: str,
        until: datetime,
        without: Collection[Partition] = (),
        bundle: str | None = None,
    ) -> Sequence[Delivery]:
        """Claim what may be sent now, of all partitions of this database but those in *without*, and return it.

        Due, unclaimed (or claimed until a time that is past), open, and the first of its line that is open or dead;
        or behind such ones that are of the same bundle, so that a digest goes out as a whole. In a line the order is
        sequence, then id. A claim that was never settled leaves a ``lost`` attempt behind. Each becomes ``sending``
        and its attempts rise by one. *bundle*: only what is of that bundle, and behind what this token has claimed of
        it. Order: nextAttemptAt, then sequence, then id. On PostgreSQL and MariaDB it passes
        over rows that another process is claiming. What it meets that waits behind another it may put aside until its
        turn comes; where thousands wait, it may find less than there is, and the next claim goes on.
        """

    def settle(self, partition: Partition, delivery: Delivery, attempt: DeliveryAttempt, token: str) -> bool:
        """Write how an attempt ended and free the claim; False when the claim is another's by now: nothing is written.

        Of the delivery these are written: state, nextAttemptAt, receipt, lastError, endedAt.
        """

    def settle_all(self, partition: Partition, ends: Sequence[tuple[Delivery, DeliveryAttempt]], token: str) -> int:
        """Do as ``settle`` for each that the token still has, and return their number: the parts of a digest."""

    def give_back(
        self, token: str, delivery_ids: Sequence[str], until: datetime | None = None, reason: str | None = None
    ) -> int:
        """Free claims of deliveries that were not tried: the attempt is not counted; return their number.

        *until*: they may not be sent before then, and *reason*, their lastError, says why.
        """

    def release_claims(self, token_prefix: str) -> int:
        """Free every claim whose token begins so (a process that is gone); return their number.

        The attempts become ``lost`` ones, the deliveries ``failed`` and due as they were.
        """

    def claim_tokens(self) -> Sequence[str]:
        """Return the distinct tokens of claims, sorted."""

    def list(self, partition: Partition, query: DeliveryQuery) -> Page[Delivery]:
        """Return a page and the total."""

    def counts(self, partition: Partition, sent_since: datetime) -> dict[str, int]:
        """Return the number of deliveries by state, those sent that ended since then only; absent means 0."""

    def find(self, partition: Partition, delivery_id: str) -> Delivery | None:
        """Return the delivery, or None."""

    def attempts(self, partition: Partition, delivery_id: str) -> Sequence[DeliveryAttempt]:
        """Return its attempts, the first one first."""

    def retry(self, partition: Partition, delivery_ids: Sequence[str], at: datetime) -> int:
        """Make dead, dropped or failed deliveries pending and due; their attempts go on counting. Return how many."""

    def drop(self, partition: Partition, delivery_ids: Sequence[str], at: datetime) -> int:
        """Mark open or dead deliveries that nobody has claimed as settled; their lines go on. Return how many."""

    def replay(self, partition: Partition, delivery_ids: Sequence[str], at: datetime) -> int:
        """Make sent deliveries pending and due again, under the same ids. Return how many."""

    def put_back_stranded(self, partition: Partition, limit: int) -> int:
        """Make at most *limit* deliveries due again that a claim has put aside and that wait for nothing.

        Settling and dropping hand over to the next of the line; this is for what a hand has done to the rows.
        Return their number.
        """

    def purge(self, partition: Partition, before: datetime, limit: int) -> int:
        """Delete at most *limit* settled deliveries (sent, dropped) that ended before, with their attempts."""


class EndpointStore(Protocol):
    """Endpoints of all partitions, in the platform's database. Each method is a transaction of its own."""

    def endpoints(self) -> Sequence[Endpoint]:
        """Return the endpoints of all partitions, by name, then id (for the process's copy)."""

    def endpoint(self, partition: Partition, endpoint_id: str) -> Endpoint | None:
        """Return the endpoint, or None."""

    def insert_endpoint(self, endpoint: Endpoint) -> None:
        """Store an endpoint. :raises webapp.engine.ports.stores.DuplicateRecord: the partition has one of that name."""

    def replace_endpoint(self, endpoint: Endpoint, expected_revision: int) -> None:
        """Replace an endpoint. :raises webapp.engine.ports.stores.RevisionConflict: it is gone or another's."""

    def delete_endpoint(self, partition: Partition, endpoint_id: str, expected_revision: int) -> None:
        """Delete an endpoint. :raises webapp.engine.ports.stores.RevisionConflict: it is gone or another's."""


class NoticeSettingsStore(EndpointStore, Protocol):
    """Templates and preferences of all partitions beside the endpoints, in the platform's database.

    Each method is a transaction of its own.
    """

    def templates(self) -> Sequence[NoticeTemplate]:
        """Return the highest version of each text of all partitions (for the process's copy)."""

    def template_versions(
        self, partition: Partition, event_type: EventType, business_type: str | None, language: str
    ) -> Sequence[NoticeTemplate]:
        """Return all versions of one text, the newest first."""

    def add_template(self, template: NoticeTemplate) -> None:
        """Store a version. :raises webapp.engine.ports.stores.DuplicateRecord: the version is taken."""

    def all_preferences(self) -> Sequence[NoticePreferences]:
        """Return the preferences of all partitions (for the process's copy)."""

    def preferences(self, partition: Partition, user_id: str) -> NoticePreferences | None:
        """Return a person's preferences, or None when nothing was chosen."""

    def save_preferences(self, preferences: NoticePreferences, expected_revision: int) -> None:
        """Store a person's preferences (0: the first time).

        :raises webapp.engine.ports.stores.RevisionConflict: the revision is not the expected one.
        """
