"""What callbacks write by context.transaction() stands or falls with the wave (spec 3.22)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
from sqlalchemy import text

from tests.services.stores_that_fail import FailingStores, busy
from tests.services.test_commands import LostLeases
from tests.support.engine import ADMIN, Installation, actor, install
from tests.support.flows import END, START, edge, flow, node
from tests.support.stores import StoreSet, on_databases
from webapp.engine.activities.api import ActivityContext, ActivityOutcome, Complete, Fault
from webapp.engine.descriptors import ActivityDescriptor, Category, Editor, Kind, PropertyDescriptor
from webapp.engine.errors import CONFLICT_BOOKMARK, UNEXPECTED, Conflict, Unavailable
from webapp.engine.instances.model import InstanceStatus, WorkflowFault
from webapp.engine.numbers import JsonObject
from webapp.services.answers import Answer, KeyedRequest

INSERT = text("INSERT INTO app_orders (id, instance_id) VALUES (:id, :instance_id)")


class Ledger:
    """An activity of an application: writes a row, then ends as its property ``Then`` says."""

    def __init__(self) -> None:
        self.descriptor = ActivityDescriptor(
            type="TestLedger",
            category=Category.CUSTOM,
            icon="x",
            custom=True,
            properties=(PropertyDescriptor(name="Then", editor=Editor.TEXT, kind=Kind.LITERAL, type="string"),),
        )
        self.meddle: Callable[[], None] = lambda: None
        self.runs = 0

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Write the row."""
        self.runs += 1
        row = {"id": context.node_id, "instance_id": context.instance_id}
        context.transaction().execute(INSERT, row)
        self.meddle()
        then = context.literal("Then")
        if then == "raise":
            raise RuntimeError("after the row")
        if then == "fault":
            return Fault(fault=WorkflowFault(code=UNEXPECTED, key="workflow.activity.exception", args={"text": "no"}))
        if then == "long":
            return Complete(label="x" * 1000)
        return Complete()


@dataclass
class Shop:
    """An installation whose application has a table in the same database."""

    house: Installation
    ledger: Ledger

    def rows(self) -> list[str]:
        """Return the rows that were committed."""
        engine = self.house.store_set.engine
        assert engine is not None
        with engine.connect() as connection:
            return list(connection.execute(text("SELECT id FROM app_orders ORDER BY id")).scalars())

    def flow(self, *nodes: JsonObject, edges: list[JsonObject] | None = None) -> None:
        """Publish a flow of these nodes between start and end."""
        self.house.publish(flow("shop", [START, *nodes, END], edges))


@contextmanager
def opened(stores: StoreSet, **more: Any) -> Iterator[Shop]:
    """An installation with the application's table, dropped afterwards."""
    assert stores.engine is not None
    with stores.engine.begin() as connection:
        connection.execute(text("CREATE TABLE app_orders (id VARCHAR(50) PRIMARY KEY, instance_id VARCHAR(50))"))
    ledger = Ledger()
    yield Shop(install(stores, activities=(ledger,), **more), ledger)
    with stores.engine.begin() as connection:
        connection.execute(text("DROP TABLE app_orders"))


@pytest.fixture
def shop(stores: StoreSet) -> Iterator[Shop]:
    """A shop."""
    with opened(stores) as made:
        yield made


ASK = node("ask", "UserTask", {"Assignees": ["u1"]})


@on_databases
def test_rows_and_wave_commit_together(shop: Shop) -> None:
    seen: list[list[str]] = []
    shop.ledger.meddle = lambda: seen.append(shop.rows())
    shop.flow(node("a", "TestLedger"), node("b", "TestLedger"))
    instance = shop.house.start("shop")
    assert seen == [[], []]
    assert shop.rows() == ["a", "b"]
    assert shop.house.instance(instance.id).status is InstanceStatus.COMPLETED


@on_databases
@pytest.mark.parametrize("then", ["raise", "fault", "long"])
def test_a_callback_that_fails_is_undone_alone(shop: Shop, then: str) -> None:
    shop.flow(
        node("a", "TestLedger"),
        node("b", "TestLedger", {"Then": then}, continue_on_error=True),
        node("c", "TestLedger"),
    )
    instance = shop.house.start("shop")
    assert shop.house.path(instance.id) == ["start", "a", "b", "c", "end"]
    assert shop.rows() == ["a", "c"]


@on_databases
def test_an_instance_that_faults_keeps_what_its_other_nodes_wrote(shop: Shop) -> None:
    shop.flow(node("a", "TestLedger"), node("b", "TestLedger", {"Then": "raise"}))
    instance = shop.house.start("shop")
    assert instance.status is InstanceStatus.FAULTED
    assert shop.rows() == ["a"]
    shop.house.services.instances.retry(ADMIN, instance.id)
    assert shop.rows() == ["a"]


@on_databases
def test_a_statement_that_fails_is_the_nodes_fault_and_spares_the_wave(shop: Shop) -> None:
    shop.flow(
        node("a", "TestLedger"),
        node("again", "TestLedger", continue_on_error=True),
        edges=[edge("start", "a"), edge("a", "again"), edge("again", "end")],
    )
    shop.house.start("shop")
    assert shop.rows() == ["a", "again"]
    second = shop.house.start("shop")
    assert second.status is InstanceStatus.FAULTED
    assert second.fault_node_id == "a"
    assert shop.rows() == ["a", "again"]


@on_databases
def test_a_refused_command_leaves_no_row(shop: Shop) -> None:
    shop.flow(ASK, node("a", "TestLedger"))
    shop.house.start("shop")
    task = shop.house.task("u1")

    def interrupt() -> None:
        raise KeyboardInterrupt

    shop.ledger.meddle = interrupt
    with pytest.raises(KeyboardInterrupt):
        shop.house.services.inbox.complete(actor("u1"), task.id, "approved")
    assert shop.rows() == []
    shop.ledger.meddle = lambda: None
    shop.house.services.inbox.complete(actor("u1"), task.id, "approved")
    assert shop.rows() == ["a"]


@on_databases
def test_a_wave_that_wrote_and_lost_is_a_conflict_and_is_not_run_again(stores: StoreSet) -> None:
    with opened(replace(stores, leases=LostLeases(stores.leases))) as shop:
        shop.flow(ASK, node("a", "TestLedger"))
        instance = shop.house.start("shop")
        task = shop.house.task("u1")
        other = install(replace(stores, leases=LostLeases(stores.leases)), activities=(Ledger(),))

        original = shop.house.engine.complete_task

        def first_the_other(*args: Any, **more: Any) -> Any:
            # Read before, so that this wave works on a revision that stands no more.
            other.services.instances.cancel(ADMIN, instance.id, "in between")
            return original(*args, **more)

        shop.house.engine.complete_task = first_the_other  # type: ignore[method-assign]  # to meddle between read and wave
        with pytest.raises(Conflict) as refused:
            shop.house.services.inbox.complete(actor("u1"), task.id, "approved")
        assert refused.value.code == CONFLICT_BOOKMARK
        assert (shop.ledger.runs, shop.rows()) == (1, [])


@on_databases
def test_a_commit_whose_answer_was_lost_is_settled_by_the_commands_id(stores: StoreSet) -> None:
    broken = FailingStores(stores.stores)
    with opened(replace(stores, stores=broken)) as shop:
        shop.flow(ASK, node("a", "TestLedger"))
        instance = shop.house.start("shop")
        broken.after = [busy()]
        shop.house.decide("u1", "approved")
        assert (shop.ledger.runs, shop.rows()) == (1, ["a"])
        assert shop.house.instance(instance.id).status is InstanceStatus.COMPLETED


@on_databases
def test_a_transaction_that_cannot_begin_is_no_fault_of_the_node(stores: StoreSet) -> None:
    broken = FailingStores(stores.stores)
    with opened(replace(stores, stores=broken)) as shop:
        shop.flow(ASK, node("a", "TestLedger"))
        instance = shop.house.start("shop")
        task = shop.house.task("u1")
        broken.before = [busy() for _ in range(5)]
        with pytest.raises(Unavailable):
            shop.house.services.inbox.complete(actor("u1"), task.id, "approved")
        assert shop.house.instance(instance.id).status is InstanceStatus.RUNNING
        broken.before = [busy() for _ in range(4)]
        shop.house.services.inbox.complete(actor("u1"), task.id, "approved")
        assert shop.rows() == ["a"]


@on_databases
def test_it_joins_the_transaction_of_an_answer(shop: Shop) -> None:
    shop.flow(node("a", "TestLedger"))
    asked = KeyedRequest(method="POST", path="/x", key="k", body=b"")

    def run(fails: bool) -> Answer:
        shop.house.start("shop")
        if fails:
            raise RuntimeError("no answer")
        return Answer(status=201, headers={}, body=b"")

    with pytest.raises(RuntimeError):
        shop.house.services.answers.once(ADMIN, asked, lambda: run(True))
    assert shop.rows() == []
    for _ in range(2):
        shop.house.services.answers.once(ADMIN, asked, lambda: run(False))
    assert (shop.rows(), shop.ledger.runs) == (["a"], 2)


class Rota:
    """A provider of assignees that notes in the application's table whom it named."""

    rule_type = "Rota"

    def validate(self, rule: Any, check: Any) -> Sequence[Any]:
        """Accept any rule."""
        return ()

    def resolve(self, resolution: Any) -> Sequence[str]:
        """Name the next one."""
        connection = resolution.transaction()
        connection.execute(INSERT, {"id": "u7", "instance_id": resolution.instance_id})
        if resolution.rule.values == ("nobody",):
            raise RuntimeError("no one on duty")
        return ["u7"]


@on_databases
@pytest.mark.parametrize(("value", "rows"), [("somebody", ["u7"]), ("nobody", [])])
def test_an_assignee_provider_writes_in_the_wave_too(stores: StoreSet, value: str, rows: list[str]) -> None:
    with opened(stores) as shop:
        shop.house.engine.assignee_providers["Rota"] = Rota()
        shop.flow(node("ask", "UserTask", {"AssigneeRules": [{"type": "Rota", "values": [value]}]}))
        shop.house.start("shop")
        assert shop.rows() == rows


@pytest.mark.parametrize("stores", ["memory"], indirect=True)
def test_without_a_database_it_is_a_fault_that_says_so(stores: StoreSet) -> None:
    house = install(stores, activities=(Ledger(),))
    house.publish(flow("shop", [START, node("a", "TestLedger"), END]))
    instance = house.start("shop")
    assert instance.fault is not None
    assert instance.fault.key == "workflow.transaction.no_database"


def test_no_builtin_activity_begins_a_transaction(stores: StoreSet) -> None:
    broken = FailingStores(stores.stores)
    house = install(replace(stores, stores=broken))
    house.publish(flow("plain", [START, node("s", "SetVariable", {"Values": {"a": 1}}), ASK, END]))
    broken.writes = 0
    house.start("plain")
    assert broken.writes == 1
