"""Subscribed events are rows of the command's transaction, in the order of spec 9.1 (3.11, 8.10)."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.services.stores_that_fail import FailingStores, gone
from tests.support.channels import FakeChannel
from tests.support.engine import ADMIN, Installation, actor, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet
from webapp.accounts.permissions import ADMINISTRATOR
from webapp.channels.envelopes import envelope
from webapp.engine.errors import Unavailable
from webapp.engine.instances.journal import OutboxEntry
from webapp.engine.ports.messaging import TopicPatterns
from webapp.engine.runtime.jumping import Jump
from webapp.engine.runtime.migration import Migration
from webapp.services.endpoints import EndpointSettings

APPROVAL = flow("approval", [START, node("ask", "UserTask", {"Assignees": ["u1"]}), END])
WAIT_AND_APPROVE = [
    "workflow.instance.started",
    "workflow.node.executing",
    "workflow.node.executed",
    "workflow.node.executing",
    "workflow.task.created",
    "workflow.node.executed",
]
DECIDE_AND_END = [
    "workflow.node.executing",
    "workflow.node.executed",
    "workflow.node.executing",
    "workflow.node.executed",
    "workflow.instance.completed",
    "workflow.task.completed",
]


def outbox(house: Installation) -> Sequence[OutboxEntry]:
    with house.store_set.stores.reading(None) as work:
        return work.outbox.read(1000)


def test_nothing_is_written_while_nobody_subscribes(stores: StoreSet) -> None:
    house = install(stores)
    house.publish(APPROVAL)
    house.start("approval")
    assert outbox(house) == []
    assert house.publisher.topics() == WAIT_AND_APPROVE


def test_everything_told_stands_there_in_its_order_with_its_data(stores: StoreSet) -> None:
    house = install(stores, subscriptions=TopicPatterns(["*"]))
    house.publish(APPROVAL)
    instance = house.start("approval", correlation_id="c-1")
    house.store_set.clock.advance(60)
    house.decide("u1", "approved", comment="fine")

    entries = outbox(house)
    assert [entry.topic for entry in entries] == [*WAIT_AND_APPROVE, *DECIDE_AND_END]
    assert [entry.data for entry in entries] == [event.data for event in house.publisher.events]
    assert {entry.instance_id for entry in entries} == {instance.id}
    numbers = [entry.sequence for entry in entries]
    assert numbers == sorted(set(numbers))
    assert house.instance(instance.id).last_sequence == numbers[-1]
    assert entries[-1].data["comment"] == "fine"
    assert entries[0].data["instance"]["correlationId"] == "c-1"


@pytest.mark.parametrize(
    ("patterns", "kept"),
    [
        (["workflow.instance.*"], ["workflow.instance.started"]),
        (["workflow.task.created"], ["workflow.task.created"]),
        (["workflow.task"], []),
        (["workflow.task.*", "workflow.instance.started"], ["workflow.instance.started", "workflow.task.created"]),
    ],
)
def test_a_subscription_names_a_topic_or_its_beginning(stores: StoreSet, patterns: list[str], kept: list[str]) -> None:
    house = install(stores, subscriptions=TopicPatterns(patterns))
    house.publish(APPROVAL)
    house.start("approval")
    assert [entry.topic for entry in outbox(house)] == kept


def test_what_was_not_committed_is_not_in_the_outbox(stores: StoreSet) -> None:
    broken = FailingStores(stores.stores)
    house = install(replace(stores, stores=broken), subscriptions=TopicPatterns(["*"]))
    house.publish(APPROVAL)
    house.start("approval")
    before = len(outbox(house))
    task = house.task("u1")
    broken.before = [gone()]
    with pytest.raises(Unavailable):
        house.services.inbox.complete(actor("u1"), task.id, "approved")
    assert len(outbox(house)) == before == len(WAIT_AND_APPROVE)


def test_subscriptions_that_fail_do_not_fail_the_command(stores: StoreSet, caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def wants(self, partition: str | None, topic: str) -> bool:
            raise RuntimeError("the table of subscriptions is gone")

    house = install(stores, subscriptions=Broken())
    house.publish(APPROVAL)
    with caplog.at_level(logging.ERROR, "waypost.outbox"):
        instance = house.start("approval")
    assert house.instance(instance.id, ADMIN).status == "Running"
    assert outbox(house) == []
    assert "events are not kept" in caplog.text


LIFE = flow(
    "life",
    [
        START,
        node("tell", "PublishEvent", {"EventName": "ordered", "Payload": {"n": 1}}),
        node("ask", "UserTask", {"Assignees": ["u1"]}),
        node("flaky", "TestFlaky", {"SucceedOnAttempt": 2}),
        END,
    ],
)


def test_the_events_of_a_whole_life_stand_in_their_order(stores: StoreSet) -> None:
    house = install(stores, subscriptions=TopicPatterns(["*"]))
    house.publish(LIFE)
    instance = house.start("life")
    services, clock = house.services, house.store_set.clock
    for act in (
        lambda: services.inbox.transfer(ADMIN, house.task("u1").id, "u2"),
        lambda: services.operations.suspend(ADMIN, instance.id, "a pause"),
        lambda: services.operations.resume(ADMIN, instance.id),
        lambda: services.inbox.complete(actor("u2"), house.task("u2").id, "approved"),
        lambda: services.instances.retry(ADMIN, instance.id),
    ):
        clock.advance(1)
        act()

    told = [entry.topic.removeprefix("workflow.") for entry in outbox(house)]
    visit = ["node.executing", "node.executed"]
    assert told == [
        "instance.started",
        *visit,
        "node.executing", "custom", "node.executed",
        "node.executing", "task.created", "node.executed",
        "task.transferred",
        "instance.suspended",
        "instance.resumed",
        *visit,
        "node.executing", "node.faulted", "instance.faulted", "task.completed",
        "instance.resumed",
        *visit,
        *visit,
        "instance.completed",
    ]  # fmt: skip
    custom = next(entry for entry in outbox(house) if entry.topic == "workflow.custom")
    assert custom.data["payload"] == {"n": 1}
    assert [entry.data for entry in outbox(house)] == [event.data for event in house.publisher.events]


HANDLED = flow(
    "handled",
    [
        START,
        node("ask", "UserTask", {"Assignees": ["u1", "u2"], "RemindAfterSeconds": 60}),
        node("sign", "UserTask", {"Assignees": ["u3"]}),
        END,
    ],
)


def test_what_people_and_operators_do_stands_in_its_order(stores: StoreSet) -> None:
    house = install(stores, subscriptions=TopicPatterns(["*"]))
    house.publish(HANDLED)
    services, clock = house.services, house.store_set.clock
    first = house.start("handled")
    clock.advance(1)
    second = house.start("handled")
    house.publish(HANDLED)
    task = next(one for one in house.tasks("u1") if one.instance_id == first.id)
    clock.advance(30)
    services.operations.terminate(ADMIN, second.id, "not needed")
    for act in (
        lambda: services.inbox.claim(actor("u1"), task.id),
        lambda: services.inbox.release(actor("u1"), task.id),
        lambda: services.inbox.urge(ADMIN, task.id, "please"),
        lambda: services.housekeeping.run_timers(),
        lambda: services.operations.migrate(ADMIN, first.id, 2, Migration()),
        lambda: services.operations.jump(ADMIN, first.id, Jump(to_node_id="sign")),
        lambda: services.instances.cancel(ADMIN, first.id, "enough"),
    ):
        clock.advance(31)
        act()

    def told_of(instance_id: str) -> list[str]:
        found = [one for one in outbox(house) if one.instance_id == instance_id]
        assert [one.sequence for one in found] == sorted(one.sequence for one in found)
        return [one.topic.removeprefix("workflow.") for one in found]

    wait = ["node.executing", "task.created", "node.executed"]
    begin = ["instance.started", "node.executing", "node.executed", "node.executing", *["task.created"] * 2]
    assert told_of(second.id) == [*begin, "node.executed", "instance.terminated"]
    assert told_of(first.id) == [
        *begin, "node.executed",
        "task.claimed",
        "task.released",
        *["task.urged"] * 2,
        *["task.reminded"] * 2,
        "instance.migrated",
        "instance.jumped", *wait,
        "instance.canceled",
    ]  # fmt: skip
    assert [entry.data for entry in outbox(house)] == [event.data for event in house.publisher.events]


def test_an_endpoint_hears_of_its_own_partition_only_and_tells_its_tenant(stores: StoreSet) -> None:
    channel = FakeChannel()
    house = install(stores, channels=[channel])
    others = actor("ada", ADMINISTRATOR, partition="t1")
    wanted = EndpointSettings(name="hook", address="https://example.org/in", topics=["workflow.instance.started"])
    for by in (ADMIN, others):
        house.services.endpoints.create(by, channel.kind, wanted)
    house.publish(APPROVAL, by=others)
    started = house.start("approval", by=others)
    assert house.services.sending.send_due().sent == 1
    (message,) = channel.taken
    # What programs get as tenantId is the endpoint's: it cannot be another than the instance's.
    assert (message.instance_id, json.loads(envelope(message))["tenantId"]) == (started.id, "t1")
