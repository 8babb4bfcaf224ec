"""The registry of activities (spec 4, 14)."""

from __future__ import annotations

import pytest

from tests.engine.harness import Resuming, Scripted
from webapp.engine.activities.registry import ActivityRegistry
from webapp.engine.builtin import BUILTIN
from webapp.engine.builtin.log import LogActivity


def test_an_activity_is_found_by_its_type() -> None:
    registry = ActivityRegistry(BUILTIN)
    (log,) = [one for one in BUILTIN if one.descriptor.type == "Log"]
    assert registry.get("Log") is log
    assert registry.descriptor("Log") is LogActivity.descriptor
    assert registry.get("log") is None
    assert registry.descriptor("Script") is None


def test_two_classes_for_one_type_are_a_mistake_of_configuration() -> None:
    registry = ActivityRegistry(BUILTIN)
    with pytest.raises(ValueError, match=r"'Log' is registered for LogActivity and for Scripted"):
        registry.register(Scripted(type_name="Log"))


def test_the_same_class_again_replaces_its_object() -> None:
    registry = ActivityRegistry([Scripted(type_name="Work")])
    newer = Scripted(type_name="Work")
    registry.register(newer)
    assert registry.get("Work") is newer


def test_custom_activities_come_last_in_their_own_order() -> None:
    registry = ActivityRegistry([Scripted(type_name="B"), *BUILTIN, Resuming(type_name="A")])
    assert [descriptor.type for descriptor in registry.descriptors()][-3:] == ["Compensate", "B", "A"]
