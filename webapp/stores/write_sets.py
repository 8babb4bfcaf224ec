"""What both sets of stores do with a write set before they write it: checks, last record wins, rows (spec 8.1, 8.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from webapp.engine.instances.model import InstanceStatus
from webapp.engine.ports.stores import WriteSet
from webapp.stores import rows
from webapp.stores.rows import Row


class _HasId(Protocol):
    id: str


Record = TypeVar("Record", bound=_HasId)

_CLOSED = frozenset([InstanceStatus.COMPLETED, InstanceStatus.CANCELED, InstanceStatus.TERMINATED])


def last_wins(records: Iterable[Record]) -> list[Record]:
    """Return the records, of those with one id only the last."""
    return list({record.id: record for record in records}.values())


def check(write_set: WriteSet) -> None:
    """Refuse records of another partition and an instance whose revision does not rise (programming errors)."""
    partition = write_set.partition
    instance = write_set.instance
    if instance is not None:
        rows.check_partition(partition, [instance])
        if not write_set.is_new and instance.revision <= write_set.expected_revision:
            raise ValueError(f"instance {instance.id}: revision {instance.revision} does not rise")
    for records in (
        write_set.node_instances,
        write_set.new_bookmarks,
        write_set.changed_bookmarks,
        write_set.task_records,
        write_set.new_follow_ups,
        write_set.audit,
        write_set.outbox,
        write_set.notices,
        write_set.deliveries,
        write_set.timer_firings,
    ):
        rows.check_partition(partition, records)


def check_all(write_sets: Sequence[WriteSet]) -> None:
    """Refuse besides write sets of several partitions, or two of one instance, in one write (programming errors)."""
    for write_set in write_sets:
        check(write_set)
    if len({write_set.partition for write_set in write_sets}) > 1:
        raise ValueError("write sets of several partitions")
    ids = [write_set.instance.id for write_set in write_sets if write_set.instance is not None]
    if len(set(ids)) < len(ids):
        raise ValueError("two write sets of one instance")


def foreign_instance_ids(write_set: WriteSet) -> list[str]:
    """Return the instances whose columns the bookmark rows need and the write set does not hold."""
    own = write_set.instance.id if write_set.instance is not None else None
    bookmarks = (*write_set.new_bookmarks, *write_set.changed_bookmarks)
    wanted = {bookmark.instance_id for bookmark in bookmarks} - {own, None}
    return sorted(instance_id for instance_id in wanted if instance_id is not None)


def bookmark_rows(write_set: WriteSet, foreign: Mapping[str, Row]) -> list[Row]:
    """Return the rows of new and changed bookmarks; *foreign* has the columns of other instances by id."""
    known = dict(foreign)
    if write_set.instance is not None:
        known[write_set.instance.id] = rows.instance_columns(write_set.instance)
    bookmarks = last_wins((*write_set.new_bookmarks, *write_set.changed_bookmarks))
    return [rows.bookmark_row(bookmark, known.get(bookmark.instance_id or "")) for bookmark in bookmarks]


def closes_instance(write_set: WriteSet) -> bool:
    """Whether the instance came to an end that keeps no waiting point: its bookmarks go with one statement.

    A Faulted instance keeps bookmarks of nodes that wait for a retry (spec 21, quirk 16); so does one that is not
    new to its end (a compensation may wait).
    """
    instance = write_set.instance
    return instance is not None and not write_set.is_new and write_set.columns_changed and instance.status in _CLOSED


def columns_to_follow(write_set: WriteSet) -> Row | None:
    """Return the columns that the instance's other bookmark rows must take over, or None (spec 8.4, 25)."""
    instance = write_set.instance
    if instance is None or write_set.is_new or not write_set.columns_changed or closes_instance(write_set):
        return None
    return rows.instance_columns(instance)
