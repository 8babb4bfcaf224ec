"""ExternalTask: what it offers, and what a worker's result means (spec 4.19)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.engine.builtin.single import fault_of, single
from tests.engine.harness import World
from tests.support.flows import END, START, flow, node
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.numbers import JsonDecimal


def test_a_task_is_offered_under_its_topic_with_values_and_computed_ones_over_them() -> None:
    properties = {
        "Topic": "pay-{{ region }}",
        "Variables": {"currency": "EUR", "amount": 0},
        "VariableExpressions": {"amount": "net * 1.19"},
        "Retries": 5,
    }
    it = node("node", "ExternalTask", properties)
    run = World().start(
        flow("single", [START, it, END]), {"region": "eu", "net": JsonDecimal("100")}, correlation_id="ORDER-1"
    )
    task = run.only(BookmarkKind.EXTERNAL_TASK)
    assert (task.key, task.due_at, task.available_at, task.correlation_id) == ("pay-eu", None, None, "ORDER-1")
    assert task.payload == {"variables": {"currency": "EUR", "amount": JsonDecimal("119.00")}, "retries": 5}
    # A late worker learns from the id itself which instance the task was of.
    assert task.id == f"{run.instance.id}.{task.sequence}"


def test_the_worker_s_variables_are_outputs_and_its_outcome_the_label() -> None:
    run = single("ExternalTask", {"Topic": "pay"})
    run.resume(run.only(BookmarkKind.EXTERNAL_TASK), {"paid": True, "outcome": "ok"})
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.instance.variables == {"paid": True, "outcome": "ok"}
    assert run.node("node").outputs == {"paid": True, "outcome": "ok"}


def test_without_an_outcome_the_last_one_stays() -> None:
    run = single("ExternalTask", {"Topic": "pay"}, {"outcome": "approved"})
    run.resume(run.only(BookmarkKind.EXTERNAL_TASK), {"paid": True})
    assert run.instance.variables == {"outcome": "approved", "paid": True}
    assert run.node("node").outputs == {"paid": True}


@pytest.mark.parametrize("topic", ["", "  ", "{{ '' }}", None])
def test_a_blank_topic_is_a_fault(topic: object) -> None:
    fault = fault_of(single("ExternalTask", {"Topic": topic}))
    assert (fault.key, fault.args) == ("workflow.property.missing", {"name": "Topic"})


@pytest.mark.parametrize("retries", [0, -1, "3", JsonDecimal("1.5"), True, [3]])
def test_what_is_no_number_of_attempts_is_a_fault(retries: object) -> None:
    assert fault_of(single("ExternalTask", {"Topic": "pay", "Retries": retries})).key == "workflow.external.retries"


def test_values_that_are_no_object_are_a_fault() -> None:
    fault = fault_of(single("ExternalTask", {"Topic": "pay", "Variables": [1]}))
    assert (fault.key, fault.args["name"]) == ("workflow.property.type", "Variables")


def test_a_node_timeout_is_a_fault() -> None:
    run = single("ExternalTask", {"Topic": "pay"}, timeout_seconds=60)
    assert run.only(BookmarkKind.NODE_TIMEOUT).due_at == run.world.clock.now() + timedelta(seconds=60)
    run.world.clock.advance(60)
    run.due()
    assert fault_of(run).key == "workflow.node.timed_out"
    assert run.bookmarks == {}
