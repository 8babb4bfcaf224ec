"""The unit of work in SQL, and the one write of a command: each kind of row one statement (spec 8.10)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from sqlalchemy import Engine

from webapp.engine.instances.model import WorkflowInstance
from webapp.engine.numbers import decode
from webapp.engine.ports.stores import DuplicateRecord, Partition, RevisionConflict, WriteSet
from webapp.stores import journal_rows, rows, write_sets
from webapp.stores.rows import Row, of_table
from webapp.stores.sql import bookmarks, follow_ups, instances, task_records
from webapp.stores.sql.accounts import SqlAccounts
from webapp.stores.sql.audit import SqlAudit
from webapp.stores.sql.bookmarks import SqlBookmarks
from webapp.stores.sql.database import Database, Transaction, scope
from webapp.stores.sql.definitions import SqlDefinitions
from webapp.stores.sql.follow_ups import SqlFollowUps
from webapp.stores.sql.idempotency import SqlIdempotency
from webapp.stores.sql.instances import SqlInstances
from webapp.stores.sql.maintenance import SqlMaintenance
from webapp.stores.sql.task_records import SqlTaskRecords


class SqlUnitOfWork:
    """One transaction; its stores run their statements on one connection."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    @cached_property
    def definitions(self) -> SqlDefinitions:
        """Definitions."""
        return SqlDefinitions(self._transaction)

    @cached_property
    def instances(self) -> SqlInstances:
        """Instances and node instances."""
        return SqlInstances(self._transaction)

    @cached_property
    def bookmarks(self) -> SqlBookmarks:
        """Bookmarks."""
        return SqlBookmarks(self._transaction)

    @cached_property
    def task_records(self) -> SqlTaskRecords:
        """Task records."""
        return SqlTaskRecords(self._transaction)

    @cached_property
    def follow_ups(self) -> SqlFollowUps:
        """Follow-ups."""
        return SqlFollowUps(self._transaction)

    @cached_property
    def audit(self) -> SqlAudit:
        """The audit trail."""
        return SqlAudit(self._transaction)

    @cached_property
    def idempotency(self) -> SqlIdempotency:
        """Stored answers."""
        return SqlIdempotency(self._transaction)

    def apply(self, write_set: WriteSet) -> None:
        """Write all that a command stores."""
        write_sets.check(write_set)
        partition = write_set.partition
        if write_set.instance is not None and not self._write_instance(write_set, write_set.instance):
            return
        foreign = self._foreign_columns(write_set)
        with self._transaction.together():
            if write_set.node_instances:
                self._write_nodes(write_set)
            self._write_bookmarks(write_set, foreign)
            self._write_tasks(write_set)
            self._write_follow_ups(write_set)
            self.audit.append(partition, write_set.audit)
            if write_set.idempotency is not None:
                self.idempotency.insert(partition, write_set.idempotency)

    def _write_instance(self, write_set: WriteSet, instance: WorkflowInstance) -> bool:
        """Write the row; False when this command already wrote it."""
        partition = write_set.partition
        statement = instances.statements(self._transaction.dialect, partition is not None)
        row = of_table(partition, rows.instance_row(instance))
        key = scope(partition, p_id=instance.id)
        if write_set.is_new:
            done = self._transaction.write_counted(statement.insert, row)
        else:
            row |= key | {"p_revision": write_set.expected_revision}
            done = self._transaction.write_counted(statement.update, row)
        if done:
            return True
        there = self._transaction.read(statement.written, key).first()
        if there is not None and (instance.command_id == there.command_id is not None or self._was_written(write_set)):
            return False
        if write_set.is_new:
            raise DuplicateRecord(f"instance {instance.id}")
        raise RevisionConflict(f"instance {instance.id} is not at revision {write_set.expected_revision}")

    def _was_written(self, write_set: WriteSet) -> bool:
        """Whether another command has changed the row since this one was committed: the trail still tells of it."""
        return any(self.audit.holds(write_set.partition, entry.id) for entry in write_set.audit[:1])

    def _write_nodes(self, write_set: WriteSet) -> None:
        partition = write_set.partition
        statement = instances.statements(self._transaction.dialect, partition is not None)
        nodes = write_sets.last_wins(write_set.node_instances)
        self._transaction.write(
            statement.save_nodes, [of_table(partition, rows.node_instance_row(node)) for node in nodes]
        )

    def _write_bookmarks(self, write_set: WriteSet, foreign: dict[str, Row]) -> None:
        partition, instance = write_set.partition, write_set.instance
        statement = bookmarks.statements(self._transaction.dialect, partition is not None)
        if instance is not None and write_sets.closes_instance(write_set):
            self._transaction.write(statement.delete_of_instance, scope(partition, p_instance_id=instance.id))
        elif write_set.deleted_bookmark_ids:
            self.bookmarks.delete(partition, write_set.deleted_bookmark_ids)
        follow = write_sets.columns_to_follow(write_set)
        if instance is not None and follow is not None:
            parameters = {f"p_{name}": value for name, value in follow.items()}
            self._transaction.write(statement.follow, scope(partition, p_instance_id=instance.id, **parameters))
        found = write_sets.bookmark_rows(write_set, foreign)
        if found:
            self._transaction.write(statement.save, [of_table(partition, row) for row in found])

    def _foreign_columns(self, write_set: WriteSet) -> dict[str, Row]:
        """Return what the bookmarks need of instances that the write set does not hold: rare."""
        ids = write_sets.foreign_instance_ids(write_set)
        if not ids:
            return {}
        partition = write_set.partition
        statement = instances.statements(self._transaction.dialect, partition is not None)
        texts = self._transaction.read(statement.columns, scope(partition, p_ids=ids)).scalars()
        found = (decode(text, WorkflowInstance) for text in texts)
        return {instance.id: rows.instance_columns(instance) for instance in found}

    def _write_tasks(self, write_set: WriteSet) -> None:
        partition = write_set.partition
        statement = task_records.statements(self._transaction.dialect, partition is not None)
        if write_set.task_records:
            unique = {(record.task_id, record.round): record for record in write_set.task_records}
            records = [of_table(partition, journal_rows.task_record_row(record)) for record in unique.values()]
            self._transaction.write(statement.save, records)
        if write_set.task_ends:
            ends = [
                scope(
                    partition,
                    p_task_id=end.task_id,
                    p_round=end.round,
                    **{f"p_{name}": value for name, value in journal_rows.task_end_values(end).items()},
                )
                for end in write_set.task_ends
            ]
            self._transaction.write(statement.end, ends)
        if write_set.task_copies:
            copies = [
                of_table(partition, journal_rows.task_copy_row(partition, copy)) for copy in write_set.task_copies
            ]
            self._transaction.write(statement.copy, copies)

    def _write_follow_ups(self, write_set: WriteSet) -> None:
        partition = write_set.partition
        statement = follow_ups.statements(self._transaction.dialect, partition is not None)
        if write_set.new_follow_ups:
            unique = write_sets.last_wins(write_set.new_follow_ups)
            values = [of_table(partition, journal_rows.follow_up_row(follow_up)) for follow_up in unique]
            self._transaction.write(statement.save, values)
        if write_set.deleted_follow_up_ids:
            keys = [scope(partition, p_id=follow_up_id) for follow_up_id in write_set.deleted_follow_up_ids]
            self._transaction.write(statement.delete, keys)


class SqlStores:
    """Opens units of work on one database that holds the platform's rows and every tenant's."""

    def __init__(self, engine: Engine) -> None:
        self._database = Database(engine)
        self.accounts = SqlAccounts(self._database)
        self.maintenance = SqlMaintenance(self._database)

    @contextmanager
    def reading(self, partition: Partition) -> Iterator[SqlUnitOfWork]:
        """Open a unit of work for reading; it never waits for a writer."""
        with self._database.reading() as transaction:
            yield SqlUnitOfWork(transaction)

    @contextmanager
    def writing(self, partition: Partition) -> Iterator[SqlUnitOfWork]:
        """Open a unit of work for writing: commits at the end, rolls back when the block raises."""
        with self._database.writing() as transaction:
            yield SqlUnitOfWork(transaction)
