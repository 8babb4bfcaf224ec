"""How many statements a call sends to the business database: the budgets of the product, counted.

Not counted: BEGIN, COMMIT, SAVEPOINT, settings of the connection, leases, and what the first call of a process reads
once (accounts for the directory, the definition).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from sqlalchemy import event

from tests.support.engine import ADMIN, Installation, actor, install
from tests.support.flows import END, START, edge, flow, node
from tests.support.stores import StoreSet, on_databases
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.model import InstanceStatus, WorkflowInstance
from webapp.engine.notifications.model import ChannelKind, Endpoint
from webapp.engine.ports.stores import WriteSet
from webapp.services.queries import Paging, Sort, TaskQuery
from webapp.stores.sql import SqlStores

_VERB = re.compile(r"\s*(\w+)")
_UNCOUNTED = ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "PRAGMA", "SET", "SHOW")


@dataclass
class Statements:
    """What was sent to the database while it was watched."""

    texts: list[str] = field(default_factory=list)
    commits: int = 0

    @property
    def reads(self) -> list[str]:
        """The SELECTs."""
        return [text for text in self.texts if _verb(text) in ("SELECT", "WITH")]

    @property
    def writes(self) -> list[str]:
        """The others."""
        return [text for text in self.texts if text not in self.reads]


def _verb(text: str) -> str:
    found = _VERB.match(text)
    return found.group(1).upper() if found else ""


@contextmanager
def watched(stores: StoreSet) -> Iterator[Statements]:
    """Collect the statements on the business database."""
    seen = Statements()

    def before(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, executemany: bool) -> None:
        if _verb(statement) not in _UNCOUNTED and " leases" not in statement:
            seen.texts.append(statement)

    def committed(connection: Any) -> None:
        seen.commits += 1

    assert stores.engine is not None
    assert isinstance(stores.stores, SqlStores)
    # What SQLite's index of keywords takes over now and then belongs to no command in particular.
    database = stores.stores.database
    upkeep, database.before_commit = database.before_commit, None
    event.listen(stores.engine, "before_cursor_execute", before)
    event.listen(stores.engine, "commit", committed)
    try:
        yield seen
    finally:
        database.before_commit = upkeep
        event.remove(stores.engine, "before_cursor_execute", before)
        event.remove(stores.engine, "commit", committed)


TEN_NODES = flow(
    "ten",
    [START, *(node(f"n{number}", "SetVariable", {"Values": {f"v{number}": number}}) for number in range(8)), END],
)
APPROVAL = flow("approval", [START, node("ask", "UserTask", {"Assignees": ["u1"]}), END])
TWO_STEPS = flow(
    "two", [START, node("ask", "UserTask", {"Assignees": ["u1"]}), node("next", "UserTask", {"Assignees": ["u2"]}), END]
)
FORK = flow(
    "fork",
    [
        START,
        node("split", "Parallel"),
        *(node(f"ask{number}", "UserTask", {"Assignees": [f"u{number}"]}) for number in range(10)),
        node("join", "Join"),
        END,
    ],
    [
        edge("start", "split"),
        *(edge("split", f"ask{number}") for number in range(10)),
        *(edge(f"ask{number}", "join") for number in range(10)),
        edge("join", "end"),
    ],
)


def _warm(stores: StoreSet, *documents: dict[str, Any]) -> Installation:
    house = install(stores)
    for document in documents:
        house.publish(document)
        instance = house.start(document["name"])
        if instance.status is InstanceStatus.RUNNING:
            house.services.instances.cancel(ADMIN, instance.id)
    return house


@on_databases
def test_ten_nodes_straight_through_are_three_writes_in_one_transaction(stores: StoreSet) -> None:
    house = _warm(stores, TEN_NODES)
    with watched(stores) as seen:
        instance = house.start("ten")
    assert instance.status is InstanceStatus.COMPLETED
    assert len(house.nodes(instance.id)) == 10
    assert len(seen.writes) == 3, seen.writes
    assert seen.commits == 1
    # The header of the latest published version: read at every start.
    assert len(seen.reads) == 1, seen.reads


@on_databases
def test_completing_a_task_is_three_reads_and_five_writes_at_most(stores: StoreSet) -> None:
    house = _warm(stores, APPROVAL)
    house.start("approval")
    task = house.task("u1")
    with watched(stores) as seen:
        done = house.services.inbox.complete(actor("u1"), task.id, "approved", comment="fine", variables={"x": 1})
    assert done.instance_status is InstanceStatus.COMPLETED
    assert len(seen.reads) <= 3, seen.reads
    assert len(seen.writes) <= 5, seen.writes
    assert seen.commits == 1


@on_databases
def test_creating_the_next_task_costs_two_writes_more(stores: StoreSet) -> None:
    house = _warm(stores, TWO_STEPS)
    house.start("two")
    task = house.task("u1")
    with watched(stores) as seen:
        house.services.inbox.complete(actor("u1"), task.id, "approved")
    assert house.task("u2").node_id == "next"
    assert len(seen.reads) <= 3, seen.reads
    assert len(seen.writes) <= 7, seen.writes


@on_databases
def test_ten_tasks_cost_as_many_statements_as_one(stores: StoreSet) -> None:
    house = _warm(stores, APPROVAL, FORK)
    with watched(stores) as one:
        house.start("approval")
    with watched(stores) as ten:
        house.start("fork")
    assert len(house.tasks("u9")) == 1
    assert len(ten.texts) == len(one.texts)


@on_databases
def test_notices_are_one_statement_more_and_their_deliveries_another(stores: StoreSet) -> None:
    """Nobody above has an account, so nobody was told: with accounts each kind of row is one statement (spec 8.10)."""
    at = stores.clock.now()
    mail = Endpoint(id="email", kind=ChannelKind.EMAIL, name="E-mail", for_notices=True, created_at=at, updated_at=at)
    house = install(stores, built_in=lambda partition: [mail])
    for document in (APPROVAL, FORK):
        house.publish(document)
        house.start(document["name"])
    with watched(stores) as silent:
        house.start("fork")
    for number in range(10):
        house.account(f"u{number}")
    house.start("approval")
    with watched(stores) as told:
        house.start("fork")
    assert len(told.reads) == len(silent.reads)
    assert len(told.writes) == len(silent.writes) + 1
    for number in range(10, 13):
        house.account(f"m{number}", email=f"m{number}@here.example")
    many = {"Assignees": ["m10", "m11", "m12"]}
    house.publish(flow("mailed", [START, node("ask", "UserTask", many), END]))
    house.start("mailed")
    with watched(stores) as mailed:
        house.start("mailed")
    assert len(mailed.writes) == len(told.writes) + 1
    assert [text.split()[2].strip('"') for text in mailed.writes if "deliver" in text or "notices" in text] == [
        "platform_notices",
        "platform_deliveries",
    ]
    assert mailed.commits == 1


@on_databases
def test_an_inbox_page_is_rows_total_and_names_without_a_document(stores: StoreSet) -> None:
    house = install(stores)
    for person in range(100):
        house.account(f"u{person}", display_name=f"Person {person}")
    _fill_inboxes(stores, people=100, each=200)
    reader = actor("u7")
    query = TaskQuery(
        definition_name="filled",
        keyword="Task 1",
        paging=Paging(sorts=(Sort("priority", descending=True), Sort("title")), limit=50),
    )
    # Rows, total, names; where the whole inbox is gone through for its order, the rows tell the total.
    for asked, total, statements in ((TaskQuery(paging=Paging(limit=50)), 200, 3), (query, 111, 2)):
        with watched(stores) as seen:
            page = house.services.inbox.query(reader, asked)
            names = house.services.accounts.names(reader, {row.starter_id or "" for row in page.items})
        assert (len(page.items), page.total) == (50, total)
        assert names["u7"] == "Person 7"
        assert len(seen.texts) == statements, seen.texts
        assert not [text for text in seen.texts if "document" in text], seen.texts


def _fill_inboxes(stores: StoreSet, *, people: int, each: int) -> None:
    """Store *each* open tasks of *people* users, as twenty thousand starts would have left them."""
    at = stores.clock.now()
    for person in range(people):
        instance = WorkflowInstance(
            id=f"instance-{person:04}",
            revision=1,
            definition_id="filled-1",
            definition_name="filled",
            definition_version=1,
            definition_title="Filled",
            title=f"Request {person}",
            starter_id=f"u{person}",
            root_instance_id=f"instance-{person:04}",
            created_at=at,
            started_at=at,
        )
        tasks = [
            Bookmark(
                id=f"task-{person:04}-{number:04}",
                instance_id=instance.id,
                root_instance_id=instance.id,
                node_id="ask",
                node_instance_id=f"node-{person:04}",
                kind=BookmarkKind.USER_TASK,
                key=f"u{person}",
                created_at=at + timedelta(seconds=number),
                title=f"Task {number}",
                sequence=number,
            )
            for number in range(each)
        ]
        write_set = WriteSet(partition=None, instance=instance, is_new=True, new_bookmarks=tasks)
        with stores.stores.writing(None) as work:
            work.apply(write_set)
