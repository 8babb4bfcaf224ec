"""What children cost the business database, counted; a flow without them pays nothing for them."""

from __future__ import annotations

from tests.services.subflows import ASKING, DOUBLE, cancel, children_of, parent
from tests.services.test_statements import watched
from tests.support.engine import Installation, actor, install
from tests.support.stores import StoreSet, on_databases
from webapp.engine.instances.model import InstanceStatus


def warm(stores: StoreSet) -> Installation:
    house = install(stores)
    for document in (
        DOUBLE,
        ASKING,
        parent(name="once", DefinitionName="double", Variables={"item": 1}),
        parent(name="waits", DefinitionName="asking", Variables={"item": 1}),
        parent("ForEach", name="each", DefinitionName="asking", ItemsExpression="numbers", Parallel=True),
    ):
        house.publish(document)
    house.start("once")
    cancel(house, house.start("waits").id)
    cancel(house, house.start("each", {"numbers": [1]}).id)
    return house


@on_databases
def test_a_child_from_its_start_to_its_parents_end_costs_a_bounded_number(stores: StoreSet) -> None:
    house = warm(stores)
    with watched(stores) as seen:
        started = house.start("once")
    assert house.instance(started.id).status is InstanceStatus.COMPLETED
    # Parent: header, instance, nodes, bookmark, trail, follow-up. Child: claim, parent, itself, header, four rows, a
    # second look, its row gone. Parent again: claim, parent, child, and five rows; read once more for the answer.
    assert len(seen.reads) <= 10, seen.reads
    assert len(seen.writes) <= 20, seen.writes
    # Parent, claim, child, second look, claim, parent.
    assert seen.commits == 6


@on_databases
def test_each_further_child_costs_the_same(stores: StoreSet) -> None:
    house = warm(stores)
    costs = []
    for number in (1, 2, 12):
        with watched(stores) as seen:
            house.start("each", {"numbers": list(range(number))})
        costs.append(len(seen.texts))
    one, two, twelve = costs
    each = two - one
    assert twelve == one + 11 * each
    assert each <= 14


@on_databases
def test_the_end_of_one_child_of_twenty_costs_what_that_of_one_costs(stores: StoreSet) -> None:
    house = warm(stores)
    costs = []
    for number in (2, 20):
        started = house.start("each", {"numbers": list(range(number))})
        mine = {child.id for child in children_of(house, started.id)}
        task = next(one for one in house.tasks("u1") if one.instance_id in mine)
        with watched(stores) as seen:
            house.services.inbox.complete(actor("u1"), task.id, "approved")
        costs.append(len(seen.texts))
    assert costs[0] == costs[1]
    assert costs[0] <= 22


@on_databases
def test_a_cancel_without_children_looks_for_none(stores: StoreSet) -> None:
    house = warm(stores)
    house.publish({**ASKING, "name": "alone"})
    started = house.start("alone", {"item": 1})
    with watched(stores) as seen:
        cancel(house, started.id)
    assert not [text for text in seen.texts if "follow_ups" in text or "parent_instance_id =" in text]
