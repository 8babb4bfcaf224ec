"""``audit verify``: whether a trail is as it was sealed, and where it is not (spec 13)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum

import msgspec

from webapp.engine.errors import Unavailable
from webapp.engine.instances.seals import GENESIS, AuditHead, TrailRow, chain_hash
from webapp.engine.ports.partitions import PartitionDatabases, belonging
from webapp.engine.ports.seals import Unsealed
from webapp.engine.ports.stores import Partition
from webapp.services.storage import Storage, answered

BATCH = 1_000
COUNTED = 1_000_000


class Break(StrEnum):
    """What became of the first row that is not as it was sealed."""

    CHANGED = "changed"
    MISSING = "missing"
    INSERTED = "inserted"
    REORDERED = "reordered"
    REWRITTEN = "rewritten"
    """The chain fits together, and yet it is another than the one that the head was of: all from some row on is new."""


class BrokenAt(msgspec.Struct, frozen=True, kw_only=True):
    """The first row that is not as it was sealed: its number, its id as far as there is one, and what happened.

    ``since``: a rewritten chain was as it is now up to this number at least.
    """

    kind: Break
    number: int
    row_id: str | None = None
    since: int | None = None


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a partition's trail: rows and heads that were checked, the newest head, rows without a seal."""

    partition: Partition
    rows: int
    heads: int
    head: AuditHead | None
    unsealed: Unsealed
    broken: BrokenAt | None

    @property
    def is_whole(self) -> bool:
        """Whether nothing was changed, taken out, put in or moved."""
        return self.broken is None


class UnreadableRow(Exception):
    """There is a row that the database itself cannot read any more, such as a text that is none."""


class AuditService:
    """Checks trails; it only reads, a thousand rows at a time, and nobody waits for it."""

    def __init__(self, storage: Storage, databases: PartitionDatabases) -> None:
        self._storage = storage
        self._databases = databases

    def partitions(self) -> list[Partition]:
        """Return the partitions that have a trail, the platform first. :raises Unavailable: a database cannot tell."""
        found: list[Partition] = []
        for database in answered(self._databases.polled):
            there = self._storage.read(database.entry, lambda work: work.seals.partitions())
            found += belonging(self._databases, database, there)
        return found

    def verify(self, partition: Partition, noted: AuditHead | None = None) -> Verification:
        """Check the partition's chain and its heads.

        *noted* is a head that somebody has kept outside of the database: it counts like those inside.
        """
        # Before the rows: what is sealed while they are read is left out.
        newest = self._storage.read(partition, lambda work: work.seals.newest_head(partition))
        reached = self._reached(partition, newest)
        check = _Check(self, partition, reached, noted)
        broken = check.first_break()
        unsealed = self._storage.read(partition, lambda work: work.seals.backlog(partition, COUNTED))
        return Verification(
            partition=partition, rows=check.rows, heads=check.heads, head=newest, unsealed=unsealed, broken=broken
        )

    def _reached(self, partition: Partition, newest: AuditHead | None) -> int:
        """Return how far the heads say that the chain has come; what is no number there counts for nothing."""
        if newest is None:
            return 0
        if _number(newest) != _NO_NUMBER:
            return newest.seal_number
        return max((head.seal_number for head in self.head_list(partition) if _number(head) != _NO_NUMBER), default=0)

    def rows(self, partition: Partition, after: int) -> Iterator[TrailRow]:
        """Yield sealed rows with numbers above *after*, in batches. :raises UnreadableRow: it is the next one."""
        while found := self._rows(partition, after):
            yield from found
            after = found[-1].seal_number or 0

    def _rows(self, partition: Partition, after: int) -> Sequence[TrailRow]:
        try:
            return self._sealed(partition, after, BATCH)
        except Unavailable:
            # One among them may be such that no batch with it can be read.
            return self._next_row(partition, after)

    def _next_row(self, partition: Partition, after: int) -> Sequence[TrailRow]:
        try:
            return self._sealed(partition, after, 1)
        except Unavailable as refused:
            # Asked something else: if that cannot be answered either, it is not the row.
            self._storage.read(partition, lambda work: work.seals.newest_head(partition))
            raise UnreadableRow from refused

    def _sealed(self, partition: Partition, after: int, limit: int) -> Sequence[TrailRow]:
        return self._storage.read(partition, lambda work: work.seals.sealed(partition, after, limit))

    def newest_number(self, partition: Partition) -> int:
        """Return how far the newest head has come now."""
        return self._reached(partition, self._storage.read(partition, lambda work: work.seals.newest_head(partition)))

    def head_list(self, partition: Partition) -> Iterator[AuditHead]:
        """Yield the heads by number, in batches."""
        after = 0
        while found := self._heads(partition, after):
            yield from found
            after = found[-1].seal_number

    def _heads(self, partition: Partition, after: int) -> Sequence[AuditHead]:
        return self._storage.read(partition, lambda work: work.seals.heads(partition, after, BATCH))


class _Check:
    """One walk along a chain."""

    def __init__(self, audit: AuditService, partition: Partition, reached: int, noted: AuditHead | None) -> None:
        self._audit = audit
        self._partition = partition
        self._reached = reached
        self._noted = noted
        self.rows = self.heads = 0

    def first_break(self) -> BrokenAt | None:
        """Walk up to the newest head, or to the first row that is not as it was sealed."""
        try:
            return self._walk()
        except UnreadableRow:
            return BrokenAt(kind=Break.CHANGED, number=self.rows + 1)

    def _walk(self) -> BrokenAt | None:
        heads = self._all_heads()
        head, proven, previous = next(heads, None), 0, GENESIS
        for row in self._audit.rows(self._partition, 0):
            number = _number(row)
            if number > self._reached:
                break
            if number != self.rows + 1:
                return BrokenAt(kind=Break.MISSING, number=self.rows + 1)
            if row.hash is None or not _leads(previous, number, row, row.hash):
                return self._explained(row, previous)
            self.rows, previous = number, row.hash
            while head is not None and head.seal_number == number:
                if head.hash != row.hash:
                    return BrokenAt(kind=Break.REWRITTEN, number=number, row_id=row.id, since=proven)
                self.heads, proven, head = self.heads + 1, number, next(heads, None)
        if head is not None:
            return BrokenAt(kind=Break.MISSING, number=self.rows + 1)
        return self._beyond()

    def _all_heads(self) -> Iterator[AuditHead]:
        noted = self._noted
        for head in self._audit.head_list(self._partition):
            if _number(head) > self._reached:
                break
            if noted is not None and noted.seal_number <= head.seal_number:
                yield noted
                noted = None
            yield head
        if noted is not None:
            yield noted

    def _beyond(self) -> BrokenAt | None:
        """Return a row that has a number although no head ever came so far."""
        last = None
        for row in self._audit.rows(self._partition, self._reached):
            last = row
            break
        if last is None:
            return None
        heads = self._audit.newest_number(self._partition)
        if _number(last) <= heads:
            return None
        number = last.seal_number if isinstance(last.seal_number, int) else heads + 1
        return BrokenAt(kind=Break.INSERTED, number=number, row_id=last.id)

    def _explained(self, row: TrailRow, previous: str) -> BrokenAt:
        """Say what became of a row whose hash is not that of its content."""
        number = row.seal_number or 0
        kind, before = Break.CHANGED, row.hash
        for other in self._audit.rows(self._partition, number):
            at = _number(other)
            if at > self._reached:
                break
            if _leads(previous, number, other, row.hash, other.hash):
                # That one belongs here. So this one belongs there, or nowhere.
                fits = any(_leads(link or GENESIS, at, row, row.hash, other.hash) for link in (before, other.hash))
                kind = Break.REORDERED if fits else Break.INSERTED
                break
            before = other.hash
        return BrokenAt(kind=kind, number=number, row_id=row.id)


_NO_NUMBER = 2**63
"""Stands for what is no number, where a row's number was; it comes after every number, as SQLite has it."""


def _number(row: TrailRow | AuditHead) -> int:
    return row.seal_number if isinstance(row.seal_number, int) else _NO_NUMBER


def _leads(previous: str, number: int, row: TrailRow, *hashes: str | None) -> bool:
    """Whether a row that has that number and follows *previous* has one of these hashes."""
    try:
        return chain_hash(previous, number, row) in hashes
    except (TypeError, ValueError):
        # There is something in it that was never written there, such as no date.
        return False
