"""Who sees the parent and the children of an instance (spec 11, 12, 6.7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.flows.conftest import site_over
from tests.services.subflows import ASKING, DOUBLE, child_of, crash, parent, recover
from tests.support.engine import ADMIN, Installation, actor
from tests.support.stores import StoreSet
from webapp.accounts.permissions import ADMINISTRATOR
from webapp.engine.errors import Denied, InputInvalid
from webapp.engine.instances.model import InstanceStatus
from webapp.services.queries import InstanceQuery, Paging, TaskQuery


def test_children_come_oldest_first_in_windows(house: Installation) -> None:
    house.publish(ASKING)
    house.publish(parent("ForEach", DefinitionName="asking", ItemsExpression="names", Parallel=True))
    started = house.start("parent", {"names": ["a", "b", "c"]}).id
    page = house.services.instances.children(ADMIN, started)
    assert page.total == 3
    items = [house.instance(one.id).variables["item"] for one in page.items]
    assert items == ["a", "b", "c"]
    window = house.services.instances.children(ADMIN, started, Paging(offset=2, limit=5))
    assert ([one.id for one in window.items], window.total) == ([page.items[2].id], 3)
    with pytest.raises(InputInvalid):
        house.services.instances.children(ADMIN, started, Paging(limit=0))


def test_a_parent_is_found_from_its_child_by_who_may_read_it(house: Installation) -> None:
    house.publish(ASKING)
    house.publish(parent(DefinitionName="asking", Variables={"item": 1}))
    started = house.start("parent", by=actor("starter"))
    child = child_of(house, started.id)
    instances = house.services.instances
    found = instances.parent(ADMIN, child)
    assert found is not None
    assert found.id == started.id
    assert instances.parent(ADMIN, found) is None
    # The starter reads both; the assignee has a part in the child alone.
    assert instances.parent(actor("starter"), child) is not None
    assert [one.id for one in instances.children(actor("starter"), started.id).items] == [child.id]
    assert instances.get(actor("u1"), child.id).id == child.id
    assert instances.parent(actor("u1"), child) is None
    with pytest.raises(Denied):
        instances.children(actor("u1"), started.id)


def test_children_over_rest(stores: StoreSet, tmp_path: Path) -> None:
    site = site_over(stores, tmp_path)
    site.account("admin", "administrator")
    admin = site.caller("admin")
    for document in (ASKING, parent(DefinitionName="asking", Variables={"item": 1})):
        made = admin.post("/definitions", document).expect(201)
        admin.post(f"/definitions/{made['id']}/publish").expect(200)
    started = admin.post("/instances", {"name": "parent"}).expect(201)
    (child,) = admin.get(f"/instances?parentId={started['id']}").expect(200)["items"]
    assert (child["parentInstanceId"], child["status"], child["definitionName"]) == (started["id"], "Running", "asking")
    assert admin.get(f"/instances/{child['id']}").expect(200)["rootInstanceId"] == started["id"]
    admin.post(f"/instances/{child['id']}/cancel").expect(200)
    faulted = admin.get(f"/instances/{started['id']}").expect(200)
    assert (faulted["status"], faulted["fault"]["key"]) == ("Faulted", "workflow.child.canceled")
    assert faulted["fault"]["message"] == "The sub-workflow asking was canceled."
    again = admin.post(f"/instances/{started['id']}/retry", {"restart": True}).expect(200)
    assert again["status"] == "Running"
    children = admin.get(f"/instances?parentId={started['id']}&status=Running").expect(200)["items"]
    assert len(children) == 1


def test_the_overview_names_parent_and_children(house: Installation) -> None:
    house.publish(ASKING)
    house.publish(parent(DefinitionName="asking", Variables={"item": 1}))
    started = house.start("parent", by=actor("starter"))
    child = child_of(house, started.id)
    top = house.services.monitor.overview(ADMIN, started.id)
    assert (top.parent, [one.id for one in top.children.items], top.children.total) == (None, [child.id], 1)
    below = house.services.monitor.overview(ADMIN, child.id)
    assert below.parent is not None
    assert (below.parent.id, below.children.items) == (started.id, [])
    # Whoever has but the child's task does not learn of the parent.
    assert house.services.monitor.overview(actor("u1"), child.id).parent is None


def test_a_call_answers_with_the_instance_as_its_follow_ups_left_it(house: Installation) -> None:
    house.publish(DOUBLE)
    house.publish(parent(DefinitionName="double", Variables={"item": 1}))
    assert house.start("parent").status is InstanceStatus.COMPLETED
    house.publish(parent(name="failing", DefinitionName="nowhere"))
    faulted = house.start("failing")
    assert faulted.status is InstanceStatus.FAULTED
    house.publish({**DOUBLE, "name": "nowhere"})
    retried = house.services.instances.retry(ADMIN, faulted.id)
    assert (retried.status, retried.fault is None) == (InstanceStatus.FAULTED, False)
    assert retried.fault is not None
    assert retried.fault.inner is not None
    # It was started this time, and has no item to double.
    assert retried.fault.inner.key == "workflow.property.failed"


def test_a_family_stays_in_its_partition(house: Installation) -> None:
    """Children start, end, fail, are retried and canceled where their parent is, also by the poller."""
    house.account("boss", ADMINISTRATOR, partition="acme")
    boss = actor("boss", ADMINISTRATOR, partition="acme")
    instances, inbox = house.services.instances, house.services.inbox
    # The same name in the platform's own partition is no child of anybody here.
    house.publish(ASKING)
    house.publish(parent(DefinitionName="asking", Variables={"item": 1}), by=boss)
    failed = house.start("parent", by=boss)
    assert failed.fault is not None
    assert failed.fault.inner is not None
    assert failed.fault.inner.code == "WORKFLOW_NOTFOUND_001"
    house.publish(ASKING, by=boss)
    crash(house)
    instances.retry(boss, failed.id)
    recover(house)
    house.elapse(1)
    (child,) = instances.children(boss, failed.id).items
    assert instances.query(ADMIN, InstanceQuery(parent_instance_id=failed.id)).items == []
    (task,) = inbox.query(boss, TaskQuery(assignee="u1")).items
    inbox.complete(actor("u1", partition="acme"), task.id, "approved")
    assert instances.get(boss, child.id).status is InstanceStatus.COMPLETED
    assert instances.get(boss, failed.id).status is InstanceStatus.COMPLETED
    other = house.start("parent", by=boss)
    instances.cancel(boss, other.id)
    assert [one.status for one in instances.children(boss, other.id).items] == [InstanceStatus.CANCELED]
