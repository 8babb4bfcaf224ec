"""One recipient or listener that fails rolls the whole command back, after all were tried (spec 10)."""

from __future__ import annotations

import logging

import pytest

from tests.services.notified import Refusing, begin, emma, staffed, told
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet
from webapp.engine.errors import Unexpected
from webapp.engine.instances.journal import Event
from webapp.engine.instances.model import InstanceStatus, WorkflowInstance
from webapp.engine.ports.listeners import Listeners


def test_one_recipient_that_fails_rolls_the_whole_command_back_after_all_were_tried(
    stores: StoreSet, caplog: pytest.LogCaptureFixture
) -> None:
    channel = Refusing("u2", "u3")
    house = staffed(stores, "u1", "u2", "u3", "u4", notice_channel=channel)
    many = {"Assignees": ["u1", "u2", "u3", "u4"]}
    house.publish(flow("approval", [START, node("ask", "UserTask", many), END]))
    with pytest.raises(Unexpected) as raised:
        house.start("approval", by=emma())
    assert (raised.value.key, raised.value.params) == ("services.notices.failed", {"count": 2})
    assert channel.tried == ["u1", "u2", "u3", "u4"]
    assert [house.tasks(name) for name in ("u1", "u4")] == [[], []]
    assert told(house, "u1") == []

    channel.names.clear()
    instance = house.start("approval", by=emma())
    channel.names.add("emma")
    before = house.instance(instance.id)
    with pytest.raises(Unexpected):
        house.decide("u1", "approved")
    assert house.instance(instance.id).revision == before.revision
    assert len(house.tasks("u1")) == 1


class Hearing:
    """A listener that notes what it hears, and fails at one topic."""

    def __init__(self, name: str, heard: list[tuple[str, str]], failing: str | None = None) -> None:
        self.name = name
        self.events = heard
        self.failing = failing

    def heard(self, event: Event, instance: WorkflowInstance) -> None:
        self.events.append((self.name, event.topic.removeprefix("workflow.")))
        if event.topic == self.failing:
            raise RuntimeError(f"{self.name} fails")


def test_listeners_hear_in_the_order_of_registration_by_kind(stores: StoreSet) -> None:
    heard: list[tuple[str, str]] = []
    house = staffed(
        stores,
        listeners=Listeners(
            workflow=[Hearing("w", heard)],
            execution=[Hearing("x", heard)],
            task=[Hearing("t1", heard), Hearing("t2", heard)],
        ),
    )
    begin(house)
    assert heard == [
        ("x", "instance.started"), ("w", "instance.started"),
        ("x", "node.executing"), ("w", "node.executing"),
        ("x", "node.executed"), ("w", "node.executed"),
        ("x", "node.executing"), ("w", "node.executing"),
        ("t1", "task.created"), ("t2", "task.created"), ("w", "task.created"),
        ("x", "node.executed"), ("w", "node.executed"),
    ]  # fmt: skip


def test_what_a_listener_raises_is_logged_and_fails_the_command(
    stores: StoreSet, caplog: pytest.LogCaptureFixture
) -> None:
    listener = Hearing("t", [], failing="workflow.task.completed")
    house = staffed(stores, listeners=Listeners(task=[listener]))
    instance = begin(house)
    with caplog.at_level(logging.ERROR, "waypost.notices"), pytest.raises(RuntimeError, match="t fails"):
        house.decide("u1", "approved")
    assert "the listener Hearing failed" in caplog.text
    assert house.instance(instance.id).status is InstanceStatus.RUNNING
    assert told(house, "emma") == []
    assert len(house.tasks("u1")) == 1
    listener.failing = None
    house.decide("u1", "approved")
    assert told(house, "emma") == ["TaskCompleted", "InstanceCompleted"]
