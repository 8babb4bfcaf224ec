"""Idempotency keys: a command and its answer are stored in one transaction, and answered once (spec 11, Amendments)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from typing import TypeVar

import msgspec

from webapp.accounts.model import Actor
from webapp.engine.clock import Clock
from webapp.engine.ports.stores import IdempotencyRecord, Partition, StoreFailure, UnitOfWork
from webapp.services.commands import Commands
from webapp.services.scopes import HeldLeases, Lease, undone_on_failure
from webapp.services.settings import ServiceSettings
from webapp.services.storage import Storage, answered, unavailable

T = TypeVar("T")

Block = Callable[[UnitOfWork], object]


class KeyReused(Exception):
    """The key came before, with another body."""


class KeyedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What makes a request the same: method, path with query, the client's key, and the hash of the body."""

    method: str
    path: str
    key: str
    body: bytes

    def scope(self, actor: Actor) -> str:
        """Return the hash that stands for who calls what by which key."""
        caller = f"token:{actor.token_id}" if actor.token_id else f"account:{actor.account_id}"
        parts = (actor.partition or "", caller, self.method, self.path, self.key)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    @property
    def body_hash(self) -> str:
        """The hash of the body as it came."""
        return hashlib.sha256(self.body).hexdigest()


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer as it goes over the wire."""

    status: int
    headers: dict[str, str]
    body: bytes


class AnswerService:
    """Answers a request with a key once, and afterwards with what was answered."""

    def __init__(self, *, storage: Storage, commands: Commands, clock: Clock, settings: ServiceSettings) -> None:
        self._storage = storage
        self._commands = commands
        self._clock = clock
        self._settings = settings

    def once(self, actor: Actor, request: KeyedRequest, run: Callable[[], Answer], *, several: bool = False) -> Answer:
        """Return the stored answer, or that of *run*, stored with what its command writes.

        *several*: what runs consists of several transactions, and its answer is stored after them. A *run* that
        raises stores nothing. What follows the commit (children, poller) is not in the answer, so that the one that
        is replayed is the one that was given.

        :raises KeyReused: the key came with another body in the last 24 hours.
        :raises LockTimeout: the first request with this key still runs.
        """
        scope, partition = request.scope(actor), actor.partition
        with self._commands.locked(f"idem:{scope}"):
            stored = self._find(partition, scope)
            if stored is not None:
                if stored.body_hash != request.body_hash:
                    raise KeyReused
                return Answer(status=stored.status, headers=stored.headers, body=stored.body)
            if several:
                answer = run()
                record = self._record(scope, request, answer)
                self._storage.write(partition, lambda work: work.idempotency.insert(partition, record))
                return answer
            own = AnswerScope(self._storage, partition, scope)
            with own, self._storage.scopes.entered(own):
                answer = run()
                own.commit(self._record(scope, request, answer))
        # Not under the key's lease: what follows takes others, and the same request sent again must not wait for it.
        self._storage.scopes.tell(own.tells)
        return answer

    def _find(self, partition: Partition, scope: str) -> IdempotencyRecord | None:
        not_before = self._clock.now() - timedelta(hours=self._settings.idempotency_hours)
        return self._storage.read(partition, lambda work: work.idempotency.find(partition, scope, not_before))

    def _record(self, scope: str, request: KeyedRequest, answer: Answer) -> IdempotencyRecord:
        return IdempotencyRecord(
            scope=scope,
            body_hash=request.body_hash,
            status=answer.status,
            headers=answer.headers,
            body=answer.body,
            created_at=self._clock.now(),
        )


class AnswerScope:
    """One command whose transaction stays open until its answer is known.

    The blocks are kept, so that a write that fails in passing is applied again, as it is without a scope: the wave
    is not run again for it.
    """

    read_only = False

    def __init__(self, storage: Storage, partition: Partition, seed: str) -> None:
        self._storage = storage
        self._partition = partition
        self._seed: str | None = seed
        self._blocks: list[Block] = []
        self._repeatable = True
        self._leases = HeldLeases()
        self._transaction = ExitStack()
        self._work: UnitOfWork | None = None
        self.tells: list[Callable[[], None]] = []

    def __enter__(self) -> None:
        """Begin; the transaction begins with the first write."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Roll back what was not committed, then let go of the leases."""
        try:
            if self._work is not None:
                self._roll_back()
        finally:
            self._leases.release()

    def read(self, partition: Partition, block: Callable[[UnitOfWork], T]) -> T:
        """Read, in the transaction when there is one."""
        work = self._work
        return self._storage.own_read(partition, block) if work is None else answered(lambda: block(work))

    def write(self, partition: Partition, block: Callable[[UnitOfWork], T]) -> T:
        """Write in the transaction; the first block is tried again as any write is."""
        work = self._work
        if work is not None:
            result = answered(lambda: self._next(work, block))
        else:
            result = self._storage.until_it_holds(lambda: self._first(partition, block))
        self._blocks.append(block)
        return result

    def _next(self, work: UnitOfWork, block: Callable[[UnitOfWork], T]) -> T:
        with undone_on_failure(work):
            return block(work)

    def open(self, partition: Partition) -> UnitOfWork:
        """Begin the transaction for somebody who writes by himself: then it cannot be repeated.

        :raises StoreFailure: it cannot be begun.
        """
        self._repeatable = False
        if self._work is None:
            self._storage.passing_over(lambda: self._begin(partition))
        assert self._work is not None  # noqa: S101  # just begun
        return self._work

    def hold(self, name: str, lease: Lease) -> None:
        """Take a lease, before anything is written."""
        if self._work is not None and name not in self._leases:
            # Who holds that lease may wait for this very transaction.
            raise RuntimeError(f"{name}: a request that runs several commands stores its answer after them")
        self._leases.hold(name, lease)

    def afterwards(self, tell: Callable[[], None]) -> None:
        """Note what is done after the commit."""
        self.tells.append(tell)

    def take_instance_id(self) -> str | None:
        """Return an id made of the request's key: a start that is sent again means the same instance (3.22)."""
        seed, self._seed = self._seed, None
        if seed is None:
            return None
        digest = bytearray(hashlib.sha256(f"instance\0{seed}".encode()).digest()[:16])
        digest[6] = digest[6] & 0x0F | 0x80
        digest[8] = digest[8] & 0x3F | 0x80
        text = digest.hex()
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def commit(self, record: IdempotencyRecord) -> None:
        """Store the answer with what was written, and commit. :raises Unavailable: the store cannot do it."""
        partition = self._partition

        def insert(work: UnitOfWork) -> None:
            work.idempotency.insert(partition, record)

        if self._work is None:
            self._storage.own_write(partition, insert)
            return
        try:
            insert(self._work)
            self._end()
        except StoreFailure as failure:
            self._roll_back()
            if not failure.transient:
                raise unavailable(failure) from failure
            self._again(record, failure)

    def _again(self, record: IdempotencyRecord, first: StoreFailure) -> None:
        """Settle whether the commit was made, by the answer it stores; if not, write everything once more."""

        def block(work: UnitOfWork) -> bool:
            there = work.idempotency.find(self._partition, record.scope, record.created_at)
            if there is not None and there.body_hash == record.body_hash:
                return True
            if self._repeatable:
                for repeated in self._blocks:
                    repeated(work)
                work.idempotency.insert(self._partition, record)
            return self._repeatable

        if not self._storage.own_write(self._partition, block):
            raise unavailable(first) from first

    def _first(self, partition: Partition, block: Callable[[UnitOfWork], T]) -> T:
        work = self._begin(partition)
        try:
            return block(work)
        except BaseException:
            self._roll_back()
            raise

    def _begin(self, partition: Partition) -> UnitOfWork:
        self._work = self._transaction.enter_context(self._storage.stores.writing(partition))
        return self._work

    def _end(self) -> None:
        self._work = None
        self._transaction.close()

    def _roll_back(self) -> None:
        self._work = None
        stack, self._transaction = self._transaction, ExitStack()
        error = _RolledBack()
        try:
            stack.__exit__(_RolledBack, error, None)
        except _RolledBack:
            return
        except StoreFailure:
            # The connection is gone, and its transaction with it.
            return


class _RolledBack(Exception):
    """Ends a unit of work without its commit."""
