"""Operating instances: suspend, resume, terminate over the stores, and who may (spec 3.13, 3.22, 6.7)."""

from __future__ import annotations

import pytest

from tests.support.engine import ADMIN, Installation, actor
from tests.support.flows import END, START, flow, node
from webapp.accounts.permissions import OPERATOR, USER
from webapp.engine.errors import CONFLICT_BOOKMARK, CONFLICT_DEFINITION, Conflict, Denied, InputInvalid, NotFound
from webapp.engine.instances.model import InstanceStatus
from webapp.services.operation_views import InstanceRights, Jump, Migration
from webapp.services.queries import TaskQuery

WAITING = flow("waiting", [START, node("ask", "UserTask", {"Assignees": ["u1"]}), END], owners=["olga"])
BOSS = actor("boss", OPERATOR)


def test_the_tasks_of_a_suspended_instance_leave_the_inboxes_and_come_back(house: Installation) -> None:
    house.publish(WAITING)
    instance = house.start("waiting")
    task = house.task("u1")
    house.services.operations.suspend(BOSS, instance.id, reason="Audit")
    stored = house.instance(instance.id)
    assert (stored.status, stored.suspended_by, stored.suspension_reason) == (
        InstanceStatus.SUSPENDED,
        "boss",
        "Audit",
    )
    assert house.tasks("u1") == []
    with pytest.raises(Conflict) as refused:
        house.services.inbox.complete(actor("u1"), task.id, "approved")
    assert refused.value.code == CONFLICT_BOOKMARK
    house.services.operations.resume(BOSS, instance.id)
    assert house.services.inbox.query(ADMIN, TaskQuery(assignee="u1")).items[0].id == task.id
    house.decide("u1", "approved")
    assert house.instance(instance.id).status is InstanceStatus.COMPLETED
    actions = [entry.action for entry in house.services.instances.history(ADMIN, instance.id).items]
    assert actions == ["start", "suspend", "resume", "complete"]


def test_terminate_leaves_nothing_that_waits(house: Installation) -> None:
    house.publish(WAITING)
    instance = house.start("waiting")
    ended = house.services.operations.terminate(BOSS, instance.id, reason="Duplicate")
    assert (ended.status, ended.cancellation_reason) == (InstanceStatus.TERMINATED, "Duplicate")
    assert house.bookmarks(instance.id) == []
    assert house.services.operations.terminate(BOSS, instance.id).revision == ended.revision


@pytest.mark.parametrize(
    ("name", "role", "allowed"), [("boss", OPERATOR, True), ("olga", USER, True), ("admin", USER, False)]
)
def test_operators_and_owners_operate(house: Installation, name: str, role: str, allowed: bool) -> None:
    house.publish(WAITING)
    instance = house.start("waiting")
    somebody = actor(name, role)
    operations = house.services.operations
    for operation in (operations.suspend, operations.resume, operations.terminate):
        if allowed:
            operation(somebody, instance.id)
        else:
            with pytest.raises(Denied):
                operation(somebody, instance.id)


TWO = flow(
    "two",
    [
        START,
        node("first", "UserTask", {"Assignees": ["u1"]}),
        node("second", "UserTask", {"Assignees": ["u2"]}),
        END,
    ],
)


def test_a_jump_over_the_stores(house: Installation) -> None:
    house.publish(TWO)
    instance = house.start("two")
    jump = Jump(to_node_id="second", variables={"skipped": True}, reason="Absent")
    report = house.services.operations.plan_jump(BOSS, instance.id, jump)
    assert (report.canceled_node_ids, report.task_ids) == (["first"], [house.task("u1").id])
    assert house.instance(instance.id) == instance
    moved = house.services.operations.jump(BOSS, instance.id, jump)
    assert moved.variables["skipped"] is True
    assert house.tasks("u1") == []
    house.decide("u2", "approved")
    assert house.instance(instance.id).status is InstanceStatus.COMPLETED
    assert house.publisher.topics().count("workflow.instance.completed") == 1


def test_a_migrated_instance_goes_on_and_its_rows_follow(house: Installation) -> None:
    house.publish(TWO)
    instance = house.start("two")
    first, _, second, end = TWO["nodes"]
    renamed = node("only", "UserTask", {"Assignees": ["u9"]})
    house.publish({**flow("two", [first, renamed, second, end]), "displayName": "Two again"})
    operations, wanted = house.services.operations, Migration(node_mapping={"first": "only"})
    assert [problem.path for problem in operations.plan_migration(BOSS, instance.id, 2, Migration()).problems] == [
        "nodeMapping.first"
    ]
    with pytest.raises(InputInvalid):
        operations.migrate(BOSS, instance.id, 2, Migration())
    migrated = operations.migrate(BOSS, instance.id, 2, wanted)
    assert (migrated.definition_version, migrated.definition_title) == (2, "Two again")
    task = house.task("u1")
    assert (task.node_id, task.definition_title) == ("only", "Two again")
    with house.store_set.stores.reading(None) as work:
        (record,) = work.task_records.by_instance(None, instance.id)
    assert (record.node_id, record.definition_title) == ("only", "Two again")
    assert house.path(instance.id) == ["start", "only"]
    house.decide("u1", "approved")
    house.decide("u2", "approved")
    assert house.instance(instance.id).status is InstanceStatus.COMPLETED
    assert house.path(instance.id) == ["start", "only", "second", "end"]


def test_which_versions_an_instance_may_be_migrated_to(house: Installation) -> None:
    house.publish(TWO)
    instance = house.start("two")
    second = house.publish({**TWO, "displayName": "Two again"})
    operations = house.services.operations
    with pytest.raises(NotFound):
        operations.migrate(BOSS, instance.id, 3, Migration())
    with pytest.raises(InputInvalid) as same:
        operations.migrate(BOSS, instance.id, 1, Migration())
    assert [problem.path for problem in same.value.problems] == ["version"]
    house.services.catalog.disable(ADMIN, second.id)
    with pytest.raises(Conflict) as refused:
        operations.migrate(BOSS, instance.id, 2, Migration())
    assert refused.value.code == CONFLICT_DEFINITION


def test_variables_over_the_stores(house: Installation) -> None:
    house.publish(TWO)
    instance = house.start("two", {"a": 1, "b": 2})
    house.services.operations.update_variables(BOSS, instance.id, values={"a": 3}, removed=["b"])
    assert house.instance(instance.id).variables == {"a": 3}


def test_the_rights_say_what_is_possible_now(house: Installation) -> None:
    house.publish(TWO)
    starter = actor("sam")
    instance = house.start("two", by=starter)
    operations = house.services.operations
    rights = operations.rights(BOSS, instance)
    assert (rights.suspend, rights.resume, rights.cancel, rights.jump, rights.retry) == (True, False, True, True, False)
    assert operations.rights(starter, instance) == InstanceRights(withdraw=True)
    stopped = operations.suspend(BOSS, instance.id)
    rights = operations.rights(BOSS, stopped)
    assert (rights.suspend, rights.resume, rights.jump, rights.migrate) == (False, True, False, True)
    ended = operations.terminate(BOSS, instance.id)
    assert operations.rights(BOSS, ended) == operations.rights(starter, ended) == InstanceRights()


def test_an_instance_of_another_partition_is_not_there(house: Installation) -> None:
    house.publish(WAITING)
    instance = house.start("waiting")
    for operation in (house.services.operations.suspend, house.services.operations.terminate):
        with pytest.raises(NotFound):
            operation(actor("boss", OPERATOR, partition="other"), instance.id)


def test_a_purge_deletes_what_ended_and_says_how_many(house: Installation) -> None:
    house.publish(WAITING)
    for _ in range(3):
        house.services.instances.cancel(ADMIN, house.start("waiting").id)
    running = house.start("waiting")
    now, operations = house.store_set.clock.now(), house.services.operations
    assert operations.purge(BOSS, ended_before=now, limit=2) == 2
    assert operations.purge(BOSS, ended_before=now, statuses=[InstanceStatus.COMPLETED]) == 0
    assert operations.purge(actor("olga"), ended_before=now, definition_name="waiting") == 1
    assert [one.id for one in house.services.instances.query(ADMIN).items] == [running.id]


@pytest.mark.parametrize("limit", [0, 1001, -1])
def test_a_purge_has_its_limits(house: Installation, limit: int) -> None:
    with pytest.raises(InputInvalid) as refused:
        house.services.operations.purge(BOSS, ended_before=house.store_set.clock.now(), limit=limit)
    assert [problem.path for problem in refused.value.problems] == ["limit"]


def test_who_may_purge(house: Installation) -> None:
    house.publish(WAITING)
    house.publish(TWO)
    now, olga = house.store_set.clock.now(), actor("olga")
    for name in (None, "two", "nothing"):
        with pytest.raises(Denied):
            house.services.operations.purge(olga, ended_before=now, definition_name=name)
    with pytest.raises(InputInvalid) as refused:
        house.services.operations.purge(BOSS, ended_before=now, statuses=[InstanceStatus.RUNNING])
    assert [problem.path for problem in refused.value.problems] == ["statuses[0]"]
