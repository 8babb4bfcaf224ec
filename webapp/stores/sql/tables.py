"""The tables: two sets, for tenants and for the platform, from one factory (spec 8.1, 8.8, 8.10, 25).

No foreign key crosses a database: what may lie in a tenant's own database has none. Columns are those that
lists filter, sort and show by; the document holds the whole model. Null columns that most rows leave empty have
partial indexes, so that a user task costs nothing in the index of due times; in MariaDB, which has none, whole ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Column, Computed, Index, Table, and_
from sqlalchemy import literal_column as literal

from webapp.engine.ports.stores import Partition
from webapp.stores.keywords import SORT_KEY_LENGTH
from webapp.stores.sql.columns import big, flag, instant, integer, long, text, wide
from webapp.stores.sql.dialects import long_bytes, ordinal_text
from webapp.stores.sql.keyword_index import brief, index_words
from webapp.stores.sql.notice_tables import NoticeTables
from webapp.stores.sql.table_factory import WORD_LENGTH


@dataclass(frozen=True)
class TableSet:
    """The tables of partitions that share a database: all tenants' (with ``tenant_id``) or the platform's."""

    tenant: bool
    definitions: Table
    instances: Table
    node_instances: Table
    bookmarks: Table
    follow_ups: Table
    task_records: Table
    task_copies: Table
    audit: Table
    audit_heads: Table
    idempotency: Table
    timer_firings: Table
    outbox: Table
    notices: Table
    deliveries: Table
    delivery_attempts: Table
    stored_signals: Table
    batches: Table
    batch_items: Table
    purge_marks: Table
    purge_runs: Table


class _Factory(NoticeTables):
    """Makes one set of tables."""

    def make(self) -> TableSet:
        return TableSet(
            tenant=self.tenant,
            definitions=self._definitions(),
            instances=self._instances(),
            node_instances=self._node_instances(),
            bookmarks=self._bookmarks(),
            follow_ups=self._follow_ups(),
            task_records=self._task_records(),
            task_copies=self._task_copies(),
            audit=self._audit(),
            audit_heads=self._audit_heads(),
            idempotency=self._idempotency(),
            timer_firings=self._timer_firings(),
            outbox=self._outbox(),
            notices=self._notices(),
            deliveries=self._deliveries(),
            delivery_attempts=self._delivery_attempts(),
            stored_signals=self._stored_signals(),
            batches=self._batches(),
            batch_items=self._batch_items(),
            purge_marks=self._purge_marks(),
            purge_runs=self._purge_runs(),
        )

    def _definitions(self) -> Table:
        table = self._table(
            "definitions",
            ["id"],
            text("id", required=True),
            big("revision"),
            text("name", required=True),
            integer("version"),
            wide("display_name", required=True),
            text("title_sort_key", required=True, length=SORT_KEY_LENGTH),
            wide("search_text", required=True),
            long("description"),
            text("category"),
            wide("startable_by"),
            text("status", required=True, length=WORD_LENGTH),
            integer("status_rank"),
            instant("created_at", required=True),
            text("created_by"),
            instant("updated_at"),
            text("updated_by"),
            instant("published_at"),
            text("published_by"),
            long("publish_note"),
            text("start_signal"),
            long("document", required=True),
        )
        unique = ["name", "tenant_id", "version"] if self.tenant else ["name", "version"]
        Index(f"uq_{table.name}_{'_'.join(unique)}", *(table.c[name] for name in unique), unique=True)
        # The latest version in a status, however many there are.
        self._index(table, "name", "status", "version", by_tenant=True)
        return table

    def _instances(self) -> Table:
        table = self._table(
            "instances",
            ["id"],
            text("id", required=True),
            big("revision"),
            big("sequence"),
            big("last_sequence"),
            text("definition_id", required=True),
            text("definition_name", required=True),
            integer("definition_version"),
            wide("title", required=True),
            text("title_sort_key", required=True, length=SORT_KEY_LENGTH),
            wide("search_text", required=True),
            text("status", required=True, length=WORD_LENGTH),
            integer("status_rank"),
            text("correlation_id"),
            text("starter_id"),
            text("requested_by"),
            text("parent_instance_id"),
            text("parent_node_instance_id"),
            text("root_instance_id", required=True),
            integer("depth"),
            instant("created_at", required=True),
            instant("started_at"),
            instant("ended_at"),
            long("fault"),
            text("fault_node_id"),
            text("fault_node_instance_id"),
            long("cancellation_reason"),
            text("outcome"),
            instant("scheduled_at"),
            text("command_id"),
            long("document", required=True),
        )
        self._index(table, "parent_instance_id", by_tenant=True, filled="parent_instance_id")
        self._index(table, "correlation_id", by_tenant=True, filled="correlation_id")
        self._index(table, "ended_at", by_tenant=True, filled="ended_at")
        # With the whole order of the list, so that a page far down is found in the index alone.
        age = ("created_at", "sequence", "id")
        self._covering(table, "newest", age, ["status", "parent_instance_id"])
        self._covering(table, "status", ["status", *age], ["parent_instance_id"])
        self._index(table, "starter_id", *age, by_tenant=True)
        self._index(table, "definition_name", "status", "definition_id", by_tenant=True)
        # For purging: ended roots in the order of their end, and the children of a tree.
        self._index(
            table, "status", "ended_at", "sequence", by_tenant=True, filled="ended_at", empty="parent_instance_id"
        )
        self._index(table, "root_instance_id", by_tenant=True, filled="parent_instance_id")
        index_words(table, "search_text")
        return table

    def _node_instances(self) -> Table:
        table = self._table(
            "node_instances",
            ["id"],
            text("id", required=True),
            big("sequence"),
            text("instance_id", required=True),
            text("node_id", required=True),
            text("status", required=True, length=WORD_LENGTH),
            instant("started_at", required=True),
            long("document", required=True),
        )
        self._index(table, "instance_id", "status")
        self._index(table, "instance_id", "sequence")
        return table

    def _bookmarks(self) -> Table:
        searched = brief("search_title", "search_instance_text")
        table = self._table(
            "bookmarks",
            ["id"],
            text("id", required=True),
            big("sequence"),
            text("instance_id"),
            text("root_instance_id"),
            text("node_id"),
            text("node_instance_id"),
            text("kind", required=True, length=WORD_LENGTH),
            text("key"),
            text("correlation_id"),
            instant("created_at", required=True),
            instant("due_at"),
            instant("original_due_at"),
            instant("available_at"),
            text("claim_token"),
            instant("claimed_until"),
            integer("failures"),
            text("worker_id"),
            text("lock_token"),
            instant("task_due_at"),
            integer("priority"),
            wide("title"),
            text("title_sort_key", required=True, length=SORT_KEY_LENGTH),
            wide("instance_title"),
            text("definition_name"),
            wide("definition_title"),
            text("starter_id"),
            text("instance_status", length=WORD_LENGTH),
            wide("search_title"),
            wide("search_instance_text"),
            text("claimed_by"),
            flag("claimable"),
            integer("signers_done"),
            integer("signers_total"),
            instant("opened_at"),
            long("document", required=True),
            Column("search_brief", ordinal_text(), Computed(searched, persisted=True)),
        )
        is_task = table.c.kind == literal("'UserTask'")
        self._index(table, "instance_id")
        # The key first: a poller asks for kinds alone, and must go by due time.
        self._index(table, "key", "kind", "created_at", where=table.c.kind != literal("'UserTask'"))
        state = ("instance_status", "available_at")
        shown = (*state, "claimed_by", "claimable", "task_due_at", "priority", "search_brief")
        age = ("created_at", "sequence", "id")
        self._covering(table, "inbox", ["key", *age], shown, is_task)
        self._covering(table, "tasks", ["priority", *age], [*state, "definition_name"], is_task)
        is_dated = and_(is_task, table.c.task_due_at.is_not(None))
        self._covering(table, "tasks_due", ["task_due_at", *age], state, is_dated)
        index_words(table, "search_title", "search_instance_text", where=is_task)
        self._index(table, "due_at", by_tenant=True, filled="due_at")
        if self.tenant:
            # One query claims what is due of all partitions of the database.
            self._index(table, "due_at", filled="due_at")
        self._index(table, "claim_token", filled="claim_token")
        return table

    def _follow_ups(self) -> Table:
        table = self._table(
            "follow_ups",
            ["id"],
            text("id", required=True),
            text("action", required=True),
            text("source_instance_id"),
            text("target_instance_id"),
            long("payload", required=True),
            instant("created_at", required=True),
            instant("due_at", required=True),
            text("claim_token"),
            instant("claimed_until"),
            integer("failures"),
        )
        self._index(table, "due_at")
        self._index(table, "claim_token", filled="claim_token")
        return table

    def _task_records(self) -> Table:
        table = self._table(
            "task_records",
            ["task_id", "round"],
            text("task_id", required=True),
            integer("round"),
            big("sequence"),
            text("instance_id", required=True),
            text("root_instance_id", required=True),
            text("node_id", required=True),
            text("node_instance_id", required=True),
            text("definition_name", required=True),
            wide("definition_title", required=True),
            wide("instance_title", required=True),
            text("starter_id"),
            wide("title", required=True),
            text("title_sort_key", required=True, length=SORT_KEY_LENGTH),
            wide("search_title", required=True),
            wide("search_instance_text", required=True),
            text("assignee_id", required=True),
            text("actor_id"),
            text("on_behalf_of"),
            flag("as_operator"),
            text("outcome"),
            long("comment"),
            integer("priority"),
            instant("task_due_at"),
            instant("created_at", required=True),
            instant("opened_at"),
            instant("ended_at"),
            text("end_reason"),
        )
        self._index(table, "instance_id")
        self._index(table, "assignee_id")
        ends = table.c.actor_id.is_not(None)
        self._covering(table, "done", ["actor_id", "ended_at", "sequence", "task_id", "round"], ["end_reason"], ends)
        return table

    def _task_copies(self) -> Table:
        table = self._table(
            "task_copies",
            ["task_id", "user_id"],
            text("task_id", required=True),
            text("user_id", required=True),
            text("instance_id", required=True),
            instant("created_at", required=True),
            instant("read_at"),
        )
        self._index(table, "user_id", "created_at")
        self._index(table, "instance_id")
        return table

    def _audit(self) -> Table:
        table = self._table(
            "audit",
            ["id"],
            text("id", required=True),
            big("sequence"),
            instant("at", required=True),
            text("actor_id"),
            text("on_behalf_of"),
            text("action", required=True),
            text("definition_id"),
            text("instance_id"),
            text("task_id"),
            text("node_id"),
            text("outcome"),
            long("comment"),
            long("reason"),
            text("request_id"),
            text("command_id"),
            long("before"),
            long("after"),
            big("seal_number", required=False),
            text("hash"),
        )
        self._index(table, "instance_id", filled="instance_id")
        self._index(table, "definition_id", empty="instance_id")
        # Rows leave the index when they are sealed, so it holds the last seconds' ones.
        self._index(table, "sequence", by_tenant=True, empty="seal_number")
        self._unique(table, "seal_number")
        return table

    def _audit_heads(self) -> Table:
        return self._table(
            "audit_heads",
            self._of_tenant("seal_number"),
            big("seal_number"),
            text("hash", required=True),
            instant("at", required=True),
        )

    def _idempotency(self) -> Table:
        table = self._table(
            "idempotency",
            self._of_tenant("scope"),
            text("scope", required=True),
            text("body_hash", required=True),
            integer("status"),
            long("headers", required=True),
            Column("body", long_bytes(), nullable=False),
            instant("created_at", required=True),
        )
        self._index(table, "created_at", by_tenant=True)
        return table

    def _timer_firings(self) -> Table:
        table = self._table(
            "timer_firings",
            self._of_tenant("definition_name", "scheduled_at"),
            text("definition_name", required=True),
            instant("scheduled_at", required=True),
            text("instance_id"),
            text("status", required=True, length=WORD_LENGTH),
            instant("fired_at", required=True),
            integer("failures"),
            long("fault"),
        )
        self._index(table, "scheduled_at", by_tenant=True)
        return table

    def _outbox(self) -> Table:
        table = self._table(
            "outbox",
            ["id"],
            text("id", required=True),
            big("sequence"),
            text("topic", required=True),
            text("instance_id"),
            instant("created_at", required=True),
            long("document", required=True),
            instant("waits_since"),
        )
        self._index(table, "created_at", "sequence")
        self._index(table, "waits_since", "sequence", "id", filled="waits_since")
        return table

    def _stored_signals(self) -> Table:
        table = self._table(
            "stored_signals",
            ["id"],
            text("id", required=True),
            text("name", required=True),
            text("correlation_id"),
            long("payload", required=True),
            instant("created_at", required=True),
            instant("expires_at", required=True),
        )
        self._index(table, "name", "created_at")
        self._index(table, "expires_at")
        return table

    def _batches(self) -> Table:
        table = self._table(
            "batches",
            ["id"],
            text("id", required=True),
            text("action", required=True),
            text("status", required=True, length=WORD_LENGTH),
            text("actor_id"),
            integer("total"),
            integer("done"),
            integer("failed"),
            instant("created_at", required=True),
            instant("ended_at"),
            long("document", required=True),
        )
        self._index(table, "created_at", by_tenant=True)
        self._index(table, "ended_at", by_tenant=True, filled="ended_at")
        return table

    def _batch_items(self) -> Table:
        table = self._table(
            "batch_items",
            ["batch_id", "sequence"],
            text("batch_id", required=True),
            big("sequence"),
            text("instance_id", required=True),
            text("status", required=True, length=WORD_LENGTH),
            instant("ended_at"),
            long("problem"),
        )
        self._index(table, "batch_id", "status", "sequence")
        return table

    def _purge_marks(self) -> Table:
        """Make the table of instances that are purged but for the rows that hang on them."""
        table = self._table(
            "purge_marks", ["id"], text("id", required=True), flag("has_children"), instant("marked_at", required=True)
        )
        self._index(table, "marked_at", by_tenant=True)
        return table

    def _purge_runs(self) -> Table:
        """Make the table of how far housekeeping has come: a partition's last run."""
        return self._table(
            "purge_runs",
            self._of_tenant("name"),
            text("name", required=True),
            instant("started_at", required=True),
            instant("moved_at", required=True),
            instant("ended_at"),
            instant("ended_before", required=True),
            big("instances"),
            big("removed_rows"),
        )


TENANT_SET = _Factory(tenant=True).make()
PLATFORM_SET = _Factory(tenant=False).make()
SETS = (TENANT_SET, PLATFORM_SET)


def table_set(partition: Partition) -> TableSet:
    """Return the tables that hold a partition's rows."""
    return PLATFORM_SET if partition is None else TENANT_SET
