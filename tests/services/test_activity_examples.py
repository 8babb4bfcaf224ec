"""The examples of the help pages: each is a definition without problems that runs as its page says."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tests.support.engine import ADMIN, Installation, actor, install
from tests.support.http_client import FakeHttp, json_response
from tests.support.stores import memory_stores
from webapp.engine.activities.registry import ActivityRegistry
from webapp.engine.builtin import BUILTIN
from webapp.engine.builtin.http import HttpActivity
from webapp.engine.instances.model import WorkflowInstance
from webapp.engine.numbers import encode
from webapp.services.external_tasks import TopicRequest
from webapp.services.views import InstanceOverview
from webapp.web.activity_examples import Example, Step, example_of

TYPES = [descriptor.type for descriptor in ActivityRegistry(BUILTIN).descriptors()]


def example(activity_type: str) -> Example:
    found = example_of(activity_type)
    assert found is not None
    return found


class Run:
    """One example in stores of its own."""

    def __init__(self, shown: Example) -> None:
        self.shown = shown
        answer = shown.answer
        script = () if answer is None else (json_response(encode(answer.body).decode(), answer.status),)
        self.client = FakeHttp(*script)
        self.house: Installation = install(memory_stores(), activities=[HttpActivity(self.client)])
        self.house.account("manager", "user")
        for other in shown.others:
            self.house.publish(other)
        self.house.publish(shown.definition)

    def play(self) -> InstanceOverview:
        """Start it, let happen what happens, and return what a reader sees at the end."""
        if not self.shown.is_started_by_signal:
            self.house.start(self.shown.definition["name"], self.shown.start, correlation_id=self.shown.correlation_id)
        for step in self.shown.steps:
            self.take(step)
        return self.house.services.monitor.overview(ADMIN, self.instance.id)

    @property
    def instance(self) -> WorkflowInstance:
        found = [
            one
            for one in self.house.services.instances.query(ADMIN).items
            if one.definition_name == self.shown.definition["name"]
        ]
        assert len(found) == 1
        return self.house.instance(found[0].id)

    def take(self, step: Step) -> None:
        house = self.house
        if step.signal is not None:
            house.services.signals.publish(ADMIN, step.signal, step.payload, self.shown.correlation_id)
        elif step.background:
            house.elapse(0)
        elif step.wait is not None:
            house.elapse(float(step.wait))
        elif step.decide is not None:
            assert step.by is not None
            house.decide(step.by, step.decide)
        else:
            assert step.work is not None
            worker, asked = actor("printer", "worker"), [TopicRequest(topic=step.work, lock_seconds=30)]
            (task,) = house.services.external_tasks.fetch_and_lock(worker, "printer", asked, 1).items
            house.services.external_tasks.complete(worker, task.id, "printer", step.payload)


def told(overview: InstanceOverview, run: Run) -> dict[str, Any]:
    instance = overview.instance
    fault = instance.fault
    return {
        "status": instance.status.value,
        "path": list(dict.fromkeys(run.house.path(instance.id))),
        "taken": sorted(overview.taken_transition_ids),
        "variables": instance.variables,
        "canceled": [node for node, state in overview.node_states.items() if state.state == "canceled"],
        "outcome": instance.outcome,
        "reason": instance.cancellation_reason,
        "fault": None if fault is None else str(fault.args["text"]),
    }


@pytest.mark.parametrize("activity_type", TYPES)
def test_an_example_runs_as_its_page_says(activity_type: str, caplog: pytest.LogCaptureFixture) -> None:
    run = Run(example(activity_type))
    with caplog.at_level(logging.DEBUG, "waypost.flow"):
        overview = run.play()
    end = run.shown.end
    assert told(overview, run) == {
        "status": end.status,
        "path": end.path,
        "taken": sorted(end.taken),
        "variables": end.variables,
        "canceled": end.canceled,
        "outcome": end.outcome,
        "reason": end.reason,
        "fault": end.fault,
    }
    lines = [record.getMessage() for record in caplog.records if record.name == "waypost.flow"]
    assert len(lines) == len(run.shown.log)
    assert all(text in line for text, line in zip(run.shown.log, lines, strict=True))
    published = [
        {"eventName": data["eventName"], "payload": data["payload"]}
        for data in run.house.publisher.of("workflow.custom")
    ]
    assert published == [{"eventName": one.event_name, "payload": one.payload} for one in run.shown.events]
    assert len(run.client.requests) == (0 if run.shown.answer is None else 1)


@pytest.mark.parametrize("activity_type", TYPES)
def test_an_example_is_about_its_activity_and_has_no_problems(activity_type: str) -> None:
    shown = example(activity_type)
    house = Run(shown).house
    for document in (shown.definition, *shown.others):
        assert not any("name" in node for node in document["nodes"])
        draft = house.services.catalog.create(ADMIN, {**document, "name": f"{document['name']}-again"})
        assert house.services.catalog.validate(ADMIN, draft.id) == []
    assert activity_type in {node["activityType"] for node in shown.definition["nodes"]}


def test_what_is_no_built_in_activity_has_no_example() -> None:
    assert example_of("Own") is None
    assert example_of("../leave-request") is None
