"""The one write of a command, or of several at once: each kind of row one statement (spec 8.10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webapp.engine.instances.journal import TaskCopy, TaskEnd, TaskMove
from webapp.engine.instances.model import WorkflowInstance
from webapp.engine.numbers import decode
from webapp.engine.ports.signals import SignalTaken
from webapp.engine.ports.stores import DuplicateRecord, RevisionConflict, WriteSet
from webapp.stores import journal_rows, notice_rows, rows, write_sets
from webapp.stores.rows import Row, of_table
from webapp.stores.sql import bookmarks, external_tasks, follow_ups, instances, journal, notices, task_records
from webapp.stores.sql.audit import SqlAudit
from webapp.stores.sql.batches import SqlBatches
from webapp.stores.sql.bookmarks import SqlBookmarks
from webapp.stores.sql.database import Transaction, scope
from webapp.stores.sql.deliveries import SqlDeliveries
from webapp.stores.sql.idempotency import SqlIdempotency
from webapp.stores.sql.signals import SqlSignals

WriteSets = Sequence[WriteSet]


class Writing:
    """Writes into one transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def write(self, sets: WriteSets) -> None:
        """Write all that these commands store; they are of one partition, and each of another instance."""
        if not sets:
            return
        write_sets.check_all(sets)
        partition = sets[0].partition
        if not self._write_instances(sets):
            return
        for one in sets:
            self._change_locks(one)
            self._take_signals(one)
        ends = [end for one in sets for end in one.batch_ends]
        if ends:
            SqlBatches(self._transaction).end_items(partition, ends)
        foreign = self._foreign_columns(sets)
        with self._transaction.last():
            self._write_nodes(sets)
            self._write_bookmarks(sets, foreign)
            self._write_tasks(sets)
            self._write_follow_ups(sets)
            self._write_journal(sets)
            self._write_notices(sets)
            for one in sets:
                if one.idempotency is not None:
                    SqlIdempotency(self._transaction).insert(partition, one.idempotency)

    # --- instances --------------------------------------------------------------------------

    def _write_instances(self, sets: WriteSets) -> bool:
        """Write the rows; False when these commands already wrote them."""
        changed = [(one, one.instance) for one in sets if one.instance is not None]
        updated = [(one, instance) for one, instance in changed if not one.is_new]
        added = [(one, instance) for one, instance in changed if one.is_new]
        if len(updated) > 1:
            if not self._update_many(updated):
                return False
            updated = []
        return all(self._write_instance(one, instance) for one, instance in (*updated, *added))

    def _write_instance(self, write_set: WriteSet, instance: WorkflowInstance) -> bool:
        """Write the row; False when this command already wrote it."""
        partition = write_set.partition
        statement = instances.statements(self._transaction.dialect, partition is not None)
        row = of_table(partition, rows.instance_row(instance))
        if write_set.is_new:
            done = self._transaction.write_once(statement.insert, row)
        else:
            row |= scope(partition, p_id=instance.id, p_revision=write_set.expected_revision)
            done = self._transaction.write_counted(statement.update, row)
        if done or self._is_written(write_set, instance):
            return bool(done)
        if write_set.is_new:
            raise DuplicateRecord(f"instance {instance.id}")
        raise RevisionConflict(f"instance {instance.id} is not at revision {write_set.expected_revision}")

    def _update_many(self, changed: Sequence[tuple[WriteSet, WorkflowInstance]]) -> bool:
        """Update many rows; False when these commands already wrote them, in the one transaction they were in."""
        partition = changed[0][0].partition
        statement = instances.statements(self._transaction.dialect, partition is not None)
        values = []
        for one, instance in changed:
            row = of_table(partition, rows.instance_row(instance))
            row |= scope(partition, p_id=instance.id, p_revision=one.expected_revision)
            values.append(row)
        done = self._transaction.write_many_counted(statement.update, statement.update_many, values)
        if done == len(changed):
            return True
        if done == 0 and self._is_written(*changed[0]):
            return False
        raise RevisionConflict(f"{len(changed) - done} of {len(changed)} instances are not at the revision read")

    def _is_written(self, write_set: WriteSet, instance: WorkflowInstance) -> bool:
        partition = write_set.partition
        statement = instances.statements(self._transaction.dialect, partition is not None)
        there = self._transaction.read(statement.written, scope(partition, p_id=instance.id)).first()
        if there is None:
            return False
        if instance.command_id == there.command_id is not None:
            return True
        # Another command may have changed the row since this one was committed: the trail still tells of it.
        audit = SqlAudit(self._transaction)
        return any(audit.holds(partition, entry.id) for entry in write_set.audit[:1])

    # --- what is rare -----------------------------------------------------------------------

    def _take_signals(self, write_set: WriteSet) -> None:
        for signal_id in write_set.taken_signal_ids:
            if not SqlSignals(self._transaction).discard(write_set.partition, signal_id):
                raise SignalTaken(signal_id)

    def _change_locks(self, write_set: WriteSet) -> None:
        partition = write_set.partition
        for change in write_set.lock_changes:
            parameters = scope(
                partition,
                p_id=change.bookmark_id,
                p_expected=change.expected_token,
                p_worker=change.worker_id,
                p_token=change.lock_token,
                p_available_at=change.available_at,
            )
            if not self._transaction.write_counted(external_tasks.change_lock(partition is not None), parameters):
                raise RevisionConflict(f"the lock of bookmark {change.bookmark_id} is another")

    def _foreign_columns(self, sets: WriteSets) -> dict[str, Row]:
        """Return what the bookmarks need of instances that their write sets do not hold: rare."""
        ids = sorted({instance_id for one in sets for instance_id in write_sets.foreign_instance_ids(one)})
        if not ids:
            return {}
        partition = sets[0].partition
        statement = instances.statements(self._transaction.dialect, partition is not None)
        texts = self._transaction.read(statement.columns, scope(partition, p_ids=ids)).scalars()
        found = (decode(text, WorkflowInstance) for text in texts)
        return {instance.id: rows.instance_columns(instance) for instance in found}

    # --- one statement a table --------------------------------------------------------------

    def _write_nodes(self, sets: WriteSets) -> None:
        partition = sets[0].partition
        nodes = write_sets.last_wins(node for one in sets for node in one.node_instances)
        if not nodes:
            return
        statement = instances.statements(self._transaction.dialect, partition is not None)
        found = [of_table(partition, rows.node_instance_row(node)) for node in nodes]
        self._transaction.write_all(statement.save_nodes, statement.save_many_nodes, found)

    def _write_bookmarks(self, sets: WriteSets, foreign: dict[str, Row]) -> None:
        partition = sets[0].partition
        statement = bookmarks.statements(self._transaction.dialect, partition is not None)
        closed: list[Mapping[str, Any]] = []
        gone: list[str] = []
        following: list[Mapping[str, Any]] = []
        saved: list[Row] = []
        for one in sets:
            if one.instance is not None and write_sets.closes_instance(one):
                closed.append(scope(partition, p_instance_id=one.instance.id))
            else:
                gone += one.deleted_bookmark_ids
            follow = write_sets.columns_to_follow(one)
            if one.instance is not None and follow is not None:
                parameters = {f"p_{name}": value for name, value in follow.items()}
                following.append(scope(partition, p_instance_id=one.instance.id, **parameters))
            saved += write_sets.bookmark_rows(one, foreign)
        if closed:
            self._transaction.write(statement.delete_of_instance, closed)
        if gone:
            SqlBookmarks(self._transaction).delete(partition, gone)
        if following:
            self._transaction.write(statement.follow, following)
        if saved:
            self._transaction.write(statement.save, [of_table(partition, row) for row in saved])

    def _write_tasks(self, sets: WriteSets) -> None:
        partition = sets[0].partition
        statement = task_records.statements(self._transaction.dialect, partition is not None)
        records = {(record.task_id, record.round): record for one in sets for record in one.task_records}
        if records:
            found = [of_table(partition, journal_rows.task_record_row(record)) for record in records.values()]
            self._transaction.write(statement.save, found)
        ends: list[TaskEnd] = [end for one in sets for end in one.task_ends]
        if ends:
            self._transaction.write(
                statement.end,
                [
                    scope(
                        partition,
                        p_task_id=end.task_id,
                        p_round=end.round,
                        **{f"p_{name}": value for name, value in journal_rows.task_end_values(end).items()},
                    )
                    for end in ends
                ],
            )
        moves: list[TaskMove] = [move for one in sets for move in one.task_moves]
        if moves:
            self._transaction.write(
                statement.move,
                [
                    scope(
                        partition,
                        p_task_id=move.task_id,
                        p_node_id=move.node_id,
                        p_definition_title=move.definition_title,
                    )
                    for move in moves
                ],
            )
        copies: list[TaskCopy] = [copy for one in sets for copy in one.task_copies]
        if copies:
            values = [of_table(partition, journal_rows.task_copy_row(partition, copy)) for copy in copies]
            self._transaction.write(statement.copy, values)

    def _write_journal(self, sets: WriteSets) -> None:
        partition = sets[0].partition
        SqlAudit(self._transaction).append(partition, [entry for one in sets for entry in one.audit])
        statement = journal.statements(partition is not None)
        outbox = [entry for one in sets for entry in one.outbox]
        if outbox:
            values = [of_table(partition, journal_rows.outbox_row(entry)) for entry in outbox]
            self._transaction.write(statement.save_outbox, values)
        firings = [firing for one in sets for firing in one.timer_firings]
        if firings:
            values = [of_table(partition, journal_rows.timer_firing_row(firing)) for firing in firings]
            self._transaction.write(statement.save_firings, values)

    def _write_notices(self, sets: WriteSets) -> None:
        partition = sets[0].partition
        told = [of_table(partition, notice_rows.notice_row(one)) for each in sets for one in each.notices]
        statement = notices.statements(self._transaction.dialect, partition is not None)
        self._transaction.write_all(statement.save, statement.save_many, told)
        SqlDeliveries(self._transaction).insert(partition, [one for each in sets for one in each.deliveries])

    def _write_follow_ups(self, sets: WriteSets) -> None:
        partition = sets[0].partition
        statement = follow_ups.statements(self._transaction.dialect, partition is not None)
        added = write_sets.last_wins(owed for one in sets for owed in one.new_follow_ups)
        if added:
            values = [of_table(partition, journal_rows.follow_up_row(owed)) for owed in added]
            self._transaction.write(statement.save, values)
        done = [scope(partition, p_id=follow_up_id) for one in sets for follow_up_id in one.deleted_follow_up_ids]
        if done:
            self._transaction.write(statement.delete, done)
