"""One pass of the sender: hand on, claim while threads are free, send, give back what was not begun (spec 10)."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple, Protocol

import msgspec

from webapp.engine.clock import Clock
from webapp.engine.errors import LockTimeout, Unavailable
from webapp.engine.notifications.model import Delivery, DeliveryState
from webapp.engine.ports.locks import Leases
from webapp.engine.ports.notices import DeliveryStore
from webapp.engine.ports.partitions import PartitionDatabases, PolledDatabase
from webapp.engine.ports.stores import Partition
from webapp.services.attempts import Attempts, Parcel
from webapp.services.due_work import Crew
from webapp.services.fan_out import FanOut
from webapp.services.settings import ServiceSettings
from webapp.services.storage import Storage

log = logging.getLogger("waypost.deliveries")

CLAIMED_AT_ONCE = 20
MOST_IN_A_BUNDLE = 5_000
EMPTY_CLAIMS = 20
"""How many claims in a row may find only what waits for others, until the pass leaves it to the next one."""

WAITING_SECONDS = 60.0
"""How long what is claimed may wait for a free thread before it is given back."""

LOOK_SECONDS = 1.0
"""How often a pass looks for new work while its threads are busy."""


class SendReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a pass did: events handed on, attempts by how they ended, deliveries that were put off untried."""

    handed_on: int = 0
    sent: int = 0
    failed: int = 0
    dead: int = 0
    dropped: int = 0
    put_off: int = 0


class Sender(Protocol):
    """What a pass needs of the service that runs it."""

    storage: Storage
    leases: Leases
    attempts: Attempts
    fan_out: FanOut
    databases: PartitionDatabases
    clock: Clock
    settings: ServiceSettings

    def without(self, database: PolledDatabase) -> frozenset[Partition]:
        """Return the partitions whose rows in a database wait."""

    def turn(self, entry: Partition) -> AbstractContextManager[None]:
        """Have no other sender claim while the block does."""

    def visit(self, database: PolledDatabase, stopping: Callable[[], bool]) -> SendReport:
        """Send what is due in a separate database."""


class _End(NamedTuple):
    """What became of a job."""

    counts: Counter[str]
    of_visit: bool


class Pass:
    """A run over one database, and the visits to others that its threads make meanwhile."""

    def __init__(
        self,
        sender: Sender,
        crew: Crew,
        stopping: Callable[[], bool],
        database: PolledDatabase,
        visits: Iterable[PolledDatabase] = (),
    ) -> None:
        self._sender = sender
        self._crew = crew
        self._stopping = stopping
        self._database = database
        self._entry = database.entry
        self._token = sender.leases.token()
        self._visits = deque(visits)
        self._waiting: deque[tuple[Parcel, datetime]] = deque()
        self._running = self._visiting = 0
        # Filled by the threads of the crew; appending is atomic.
        self._finished: deque[_End] = deque()
        self._counts: Counter[str] = Counter()
        self._strangers: frozenset[Partition] = frozenset()

    def work(self) -> SendReport:
        """Work until nothing is left to claim and nothing runs."""
        try:
            while self._turn():
                pass
        finally:
            self._give_back([parcel for parcel, _ in self._waiting])
        return SendReport(**self._counts)

    def _turn(self) -> bool:
        """Take over, begin, claim or wait; False: all is done."""
        ended = self._collect()
        found = False
        if not self._stopping():
            self._begin()
            found = self._find()
        if self._running:
            if not found:
                self._crew.wait(LOOK_SECONDS)
            return True
        return not self._stopping() and bool(found or ended or self._waiting or self._visits)

    def _collect(self) -> bool:
        ended = False
        while self._finished:
            end = self._finished.popleft()
            self._counts.update(end.counts)
            self._running -= 1
            self._visiting -= end.of_visit
            ended = True
        return ended

    def _find(self) -> bool:
        """Hand on and claim if a thread is free; whether there was something."""
        if self._waiting or self._running >= self._crew.size:
            return False
        try:
            handed = self._sender.fan_out.run(self._entry, self._without(), lambda: self._sender.turn(self._entry))
            self._counts["handed_on"] += handed
            return self._claim() or handed > 0
        except (Unavailable, LockTimeout):
            if not self._running:
                raise
            log.warning("nothing could be claimed while other deliveries are sent", exc_info=True)
            return False

    def _claim(self) -> bool:
        """Claim; a claim that has put aside thousands that wait, and has come to none that does not, is made again."""
        for _ in range(EMPTY_CLAIMS):
            found = self._claimed()
            if found is None:
                return False
            if found:
                return bool(self._take_over(found))
        return False

    def _claimed(self) -> Sequence[Delivery] | None:
        """Make one claim; None: nothing is due."""
        sender, now, without = self._sender, self._sender.clock.now(), self._without()
        storage, entry, token = sender.storage, self._entry, self._token
        # Most looks find nothing: they must not take the write lock that SQLite has but one of.
        if not storage.read(entry, lambda work: work.deliveries.any_due(now, without)):
            return None
        until = now + timedelta(seconds=sender.settings.delivery_timeout_seconds + 2 * WAITING_SECONDS)
        with sender.turn(entry):
            return storage.write(entry, lambda work: _with_their_bundles(work.deliveries, now, token, until, without))

    def _take_over(self, found: Sequence[Delivery]) -> Sequence[Delivery]:
        own, now = self._own(found), self._sender.clock.now()
        self._waiting.extend((parcel, now) for parcel in _parcels(own))
        return own

    def _own(self, found: Sequence[Delivery]) -> list[Delivery]:
        """Return what belongs to this database, and give back for good what belongs to another."""
        entry_of = self._sender.databases.entry_of
        strange = [one for one in found if entry_of(one.tenant_id) != self._entry]
        if strange:
            self._strangers |= frozenset(one.tenant_id for one in strange)
            log.warning("the database of %s has deliveries of others, left alone", self._entry or "the platform")
            self._give_back([Parcel(tuple(strange))])
        return [one for one in found if one not in strange]

    def _without(self) -> frozenset[Partition]:
        return self._sender.without(self._database) | self._strangers

    def _begin(self) -> None:
        """Start what waits; one thread is kept for the platform's own database."""
        while self._running < self._crew.size and not self._stopping():
            if self._visits and (self._crew.size == 1 or self._visiting < self._crew.size - 1):
                self._start_visit(self._visits.popleft())
            elif self._waiting:
                parcel, claimed_at = self._waiting.popleft()
                if self._sender.clock.now() - claimed_at > timedelta(seconds=WAITING_SECONDS):
                    self._give_back([parcel])
                else:
                    self._start(partial(self._attempt, parcel))
            else:
                return

    def _start_visit(self, database: PolledDatabase) -> None:
        self._visiting += 1

        def visit() -> Counter[str]:
            report = self._sender.visit(database, self._stopping)
            return Counter({name: getattr(report, name) for name in SendReport.__struct_fields__})

        self._start(visit, of_visit=True)

    def _start(self, job: Callable[[], Counter[str]], *, of_visit: bool = False) -> None:
        self._running += 1

        def run() -> None:
            end = _End(Counter(), of_visit)
            try:
                end = _End(job(), of_visit)
            except Exception:
                # Above all: the end could not be written down. The claim runs out, and it is sent once more.
                log.exception("a delivery was left to its claim's end")
            finally:
                self._finished.append(end)

        self._crew.start(run)

    def _attempt(self, parcel: Parcel) -> Counter[str]:
        state = self._sender.attempts.make(parcel, self._token, self._stopping)
        return Counter({_NAMES[state]: len(parcel.deliveries)})

    def _give_back(self, parcels: Iterable[Parcel]) -> None:
        ids = [one for parcel in parcels for one in parcel.ids]
        if not ids:
            return
        try:
            self._sender.storage.write(self._entry, lambda work: work.deliveries.give_back(self._token, ids))
        except Unavailable:
            log.warning("claims were not given back and run out by themselves", exc_info=True)


def _with_their_bundles(
    deliveries: DeliveryStore, now: datetime, token: str, until: datetime, without: Collection[Partition]
) -> list[Delivery]:
    """Claim what is due, and of each bundle of which some was, what else is: a digest is one message."""
    found = list(deliveries.claim_due(now, CLAIMED_AT_ONCE, token, until, without))
    for bundle in dict.fromkeys(one.bundle for one in found if one.bundle):
        found += deliveries.claim_due(now, MOST_IN_A_BUNDLE, token, until, without, bundle=bundle)
    return found


_NAMES = {
    None: "put_off",
    DeliveryState.SENT: "sent",
    DeliveryState.FAILED: "failed",
    DeliveryState.DEAD: "dead",
    DeliveryState.DROPPED: "dropped",
}


def _parcels(found: Sequence[Delivery]) -> list[Parcel]:
    """Put together what goes out as one message, in the order in which it was claimed."""
    parcels: dict[tuple[str | None, ...], list[Delivery]] = {}
    for one in found:
        together = (one.tenant_id, one.endpoint_id, one.recipient_id, one.bundle) if one.bundle else (one.id,)
        parcels.setdefault(together, []).append(one)
    return [Parcel(tuple(parcel)) for parcel in parcels.values()]
