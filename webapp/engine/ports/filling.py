"""Filling a database in bulk: what really happened once, written many times with other ids, times and words.

A :class:`Pattern` is an instance that the engine ran, with everything that a command stores of it. Ids, instants and
words in it are marks, so that a store can put other values in their places: each copy is what the engine would have
written for those values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

import msgspec

from webapp.engine.instances.bookmarks import Bookmark
from webapp.engine.instances.journal import AuditEntry, TaskRecord
from webapp.engine.instances.model import NodeInstance, WorkflowInstance
from webapp.engine.notifications.model import Notice


class Pattern(msgspec.Struct, frozen=True, kw_only=True):
    """One instance as the engine left it, and the marks in it.

    Every id that was made for it begins with ``id_prefix`` (24 characters of an id's 36). An instant of it is one of
    ``moments`` or up to 500 days later than one; moments lie 1,000 days apart, in rising order, on whole seconds.
    ``words`` are texts of small letters and digits, none within another, that occur nowhere else; a number may be
    one. Whatever is put in for a word must keep every title under 256 characters.
    """

    instance: WorkflowInstance
    node_instances: tuple[NodeInstance, ...] = ()
    bookmarks: tuple[Bookmark, ...] = ()
    task_records: tuple[TaskRecord, ...] = ()
    audit: tuple[AuditEntry, ...] = ()
    notices: tuple[Notice, ...] = ()
    id_prefix: str
    moments: tuple[datetime, ...]
    words: tuple[str, ...]


class Copy(NamedTuple):
    """What is put in for a pattern's marks: whole milliseconds, and words in the order of the pattern's."""

    pattern: int
    id_prefix: str
    moments: tuple[datetime, ...]
    words: tuple[str, ...]


class BulkStore(Protocol):
    """Writes copies of patterns, far faster than one command after the other."""

    def holds_instances(self, partition: str | None) -> bool:
        """Whether the partition has any instance."""

    def load(
        self,
        partition: str | None,
        patterns: Sequence[Pattern],
        copies: Iterable[Copy],
        told: Callable[[int], None],
    ) -> int:
        """Write the copies, all or none, and return how many rows that were; *told* hears of the copies so far.

        :raises webapp.engine.ports.stores.StoreFailure: the database cannot do it, or others use it and would have to
            wait for all of it (SQLite); nothing was written.
        """
