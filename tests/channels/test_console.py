"""Events on the log."""

from __future__ import annotations

import logging

import pytest

from webapp.channels.console import ConsolePublisher
from webapp.engine.instances.journal import Event

EVENTS = [
    Event(topic="workflow.instance.started", data={"id": "i"}),
    Event(topic="workflow.instance.completed", data={"id": "i"}),
]


def test_events_are_told_in_their_order_to_who_listens(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="waypost.events"):
        ConsolePublisher().publish("north", EVENTS)
    assert [record.__dict__["topic"] for record in caplog.records] == [event.topic for event in EVENTS]
    assert {record.__dict__["partition"] for record in caplog.records} == {"north"}


def test_nobody_listening_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="waypost.events"):
        ConsolePublisher().publish(None, EVENTS)
    assert caplog.records == []
