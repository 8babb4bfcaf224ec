"""ForEach in the wave: the work list, what it asks for and when, what it keeps (spec 3.15, 4.14)."""

from __future__ import annotations

from tests.engine.builtin.single import fault_of
from tests.engine.harness import Run, World
from tests.engine.subflows import DOOMED, asked, child_ids, owed, tell
from tests.support.flows import END, START, flow, node
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.numbers import JsonObject


def started(properties: JsonObject, variables: JsonObject) -> Run:
    each = node("sub", "ForEach", {"DefinitionName": "child", "ItemsExpression": "items", **properties})
    return World().start(flow("parent", [START, each, END]), variables)


def test_one_child_at_a_time_each_with_its_item_and_number() -> None:
    run = started({"ResultVariable": "r"}, {"items": ["a", "b", "c"]})
    for number, item in enumerate("abc"):
        assert asked(run) == [{"item": item, "index": number}]
        tell(run, child_ids(run)[-1], variables={"said": item})
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.instance.variables["r"] == [{"said": "a"}, {"said": "b"}, {"said": "c"}]
    assert len(child_ids(run)) == 3


def test_all_at_once_in_one_wave() -> None:
    run = started({"Parallel": True, "ItemVariableName": "it"}, {"items": [7, 8]})
    assert asked(run) == [{"it": 7, "index": 0}, {"it": 8, "index": 1}]
    first, second = child_ids(run)
    tell(run, second)
    assert owed(run) == []
    tell(run, first)
    assert run.instance.status is InstanceStatus.COMPLETED


def test_an_end_that_is_told_twice_counts_once() -> None:
    run = started({"Parallel": True}, {"items": [1, 2]})
    first, _ = child_ids(run)
    tell(run, first)
    revision = run.instance.revision
    tell(run, first)
    assert (run.instance.revision, run.instance.status) == (revision, InstanceStatus.RUNNING)


def test_the_first_failure_cancels_only_those_that_have_not_ended() -> None:
    run = started({"Parallel": True}, {"items": [1, 2, 3, 4]})
    first, second, third, fourth = child_ids(run)
    tell(run, third)
    tell(run, second, InstanceStatus.FAULTED, fault=DOOMED)
    assert fault_of(run).inner == DOOMED
    assert owed(run) == [("operateChild", first), ("operateChild", fourth)]


def test_a_list_that_changed_meanwhile_is_the_one_it_began_with() -> None:
    """The node keeps its items: what the variables become while it waits is no matter."""
    run = started({}, {"items": [1, 2]})
    run.instance.variables["items"] = [9, 9, 9]
    tell(run, *child_ids(run))
    assert asked(run) == [{"item": 2, "index": 1}]


def test_a_reattached_list_orders_a_retry_of_what_has_not_completed() -> None:
    run = started({"Parallel": True, "ResultVariable": "r"}, {"items": [1, 2, 3]})
    first, second, third = child_ids(run)
    tell(run, first, variables={"n": 1})
    tell(run, second, InstanceStatus.FAULTED)
    run.retry()
    assert owed(run) == [("retryChild", second), ("retryChild", third), ("recheckChildren", run.instance.id)]
    orders = {one.target_instance_id: one.id for one in run.last.write_set.new_follow_ups}
    # The old news of both is on its way still: it does not count.
    for stale, status in ((second, InstanceStatus.FAULTED), (third, InstanceStatus.CANCELED)):
        tell(run, stale, status)
        assert run.instance.status is InstanceStatus.RUNNING
    tell(run, second, variables={"n": 2}, order=orders[second])
    tell(run, third, variables={"n": 3})
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.instance.variables["r"] == [{"n": 1}, {"n": 2}, {"n": 3}]
