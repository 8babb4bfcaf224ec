"""Deliveries for administrators: what went out, attempt by attempt, and what is done where it did not (spec 10, 11)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from msgspec import structs

from webapp.accounts.model import Actor
from webapp.accounts.permissions import NOTIFICATIONS_ADMIN
from webapp.engine.clock import Clock, IdSource
from webapp.engine.errors import InputInvalid, NotFound
from webapp.engine.instances.journal import AuditEntry
from webapp.engine.notifications.model import Delivery, DeliveryAttempt, DeliveryState
from webapp.engine.ports.notices import DeliveryQuery, DeliveryStore
from webapp.engine.ports.queries import Page, check_page
from webapp.engine.ports.stores import Partition, UnitOfWork
from webapp.services.access import NOT_FOUND, require
from webapp.services.masking import masked_handle
from webapp.services.storage import Storage

MOST_AT_ONCE = 1_000
SENT_HOURS = 24
"""How far back what was sent is counted."""

Change = Callable[[DeliveryStore, Partition, Sequence[str], datetime], int]


class DeliveryService:
    """The use cases of deliveries. *left* is told that something is due now."""

    def __init__(self, *, storage: Storage, clock: Clock, ids: IdSource, left: Callable[[Partition], None]) -> None:
        self._storage = storage
        self._clock = clock
        self._ids = ids
        self._left = left

    def list(self, actor: Actor, query: DeliveryQuery) -> Page[Delivery]:
        """Return a page of the partition's deliveries, newest first, people's addresses masked."""
        require(actor, NOTIFICATIONS_ADMIN)
        check_page("instances", query.paging, ())
        page = self._storage.read(actor.partition, lambda work: work.deliveries.list(actor.partition, query))
        return Page([_shown(one) for one in page.items], page.total)

    def get(self, actor: Actor, delivery_id: str) -> tuple[Delivery, Sequence[DeliveryAttempt]]:
        """Return a delivery and its attempts, the first one first. :raises NotFound: the partition has none such."""
        require(actor, NOTIFICATIONS_ADMIN)

        def ask(work: UnitOfWork) -> tuple[Delivery | None, Sequence[DeliveryAttempt]]:
            found = work.deliveries.find(actor.partition, delivery_id)
            return found, () if found is None else work.deliveries.attempts(actor.partition, delivery_id)

        found, attempts = self._storage.read(actor.partition, ask)
        if found is None:
            raise NotFound("services.delivery.not_found", code=NOT_FOUND, params={"id": delivery_id})
        return _shown(found), attempts

    def counts(self, actor: Actor) -> dict[str, int]:
        """Return the number of deliveries of each state; of those that are sent, the last day's."""
        require(actor, NOTIFICATIONS_ADMIN)
        since = self._clock.now() - timedelta(hours=SENT_HOURS)
        found = self._storage.read(actor.partition, lambda work: work.deliveries.counts(actor.partition, since))
        return {state.value: found.get(state.value, 0) for state in DeliveryState}

    def retry(self, actor: Actor, delivery_ids: Sequence[str]) -> int:
        """Have dead, dropped and failed deliveries sent now, each with a whole round of attempts; return how many."""
        return self._change(actor, "retryDeliveries", delivery_ids, _retry)

    def drop(self, actor: Actor, delivery_ids: Sequence[str]) -> int:
        """Mark deliveries that did not go out as settled, so that their lines go on; return how many."""
        return self._change(actor, "dropDeliveries", delivery_ids, _drop)

    def replay(self, actor: Actor, delivery_ids: Sequence[str]) -> int:
        """Have deliveries that were sent sent once more, under the same ids; return how many."""
        return self._change(actor, "replayDeliveries", delivery_ids, _replay)

    def _change(self, actor: Actor, action: str, delivery_ids: Sequence[str], change: Change) -> int:
        require(actor, NOTIFICATIONS_ADMIN)
        chosen = list(dict.fromkeys(delivery_ids))
        if not 1 <= len(chosen) <= MOST_AT_ONCE:
            params = {"count": len(chosen), "max": MOST_AT_ONCE}
            raise InputInvalid("services.delivery.ids", path="ids", params=params)
        partition, now, entry_id = actor.partition, self._clock.now(), self._ids.new()
        done = 0

        def write(work: UnitOfWork) -> int:
            nonlocal done
            done = change(work.deliveries, partition, chosen, now)
            if done:
                after = {"deliveries": done, "ids": chosen[:100]}
                work.audit.append(partition, [_entry(actor, entry_id, action, now, after)])
            return done

        def settled(work: UnitOfWork) -> int | None:
            return done if done and work.audit.holds(partition, entry_id) else None

        changed = self._storage.write(partition, write, settled=settled)
        if changed:
            self._tell(partition)
        return changed

    def _tell(self, partition: Partition) -> None:
        """Wake the sender after the commit: a call with an idempotency key commits later than this returns."""
        scope = self._storage.scopes.current
        if scope is None:
            self._left(partition)
        else:
            scope.afterwards(lambda: self._left(partition))


def _retry(store: DeliveryStore, partition: Partition, ids: Sequence[str], at: datetime) -> int:
    return store.retry(partition, ids, at)


def _drop(store: DeliveryStore, partition: Partition, ids: Sequence[str], at: datetime) -> int:
    return store.drop(partition, ids, at)


def _replay(store: DeliveryStore, partition: Partition, ids: Sequence[str], at: datetime) -> int:
    return store.replay(partition, ids, at)


def _shown(delivery: Delivery) -> Delivery:
    return structs.replace(delivery, address=masked_handle(delivery.address))


def _entry(actor: Actor, entry_id: str, action: str, at: datetime, after: dict[str, object]) -> AuditEntry:
    return AuditEntry(
        id=entry_id,
        tenant_id=actor.partition,
        at=at,
        actor_id=actor.name,
        action=action,
        request_id=actor.request_id,
        after=after,
    )
