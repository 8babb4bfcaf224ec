"""Fault (spec 4.16)."""

from __future__ import annotations

import pytest

from tests.engine.builtin.single import fault_of, single
from webapp.engine.errors import UNEXPECTED
from webapp.engine.instances.model import InstanceStatus, NodeStatus


def test_a_fault_carries_its_message() -> None:
    found = fault_of(single("Fault", {"Message": "No {{what}}"}, {"what": "paper"}))
    assert (found.code, found.key, found.args) == (UNEXPECTED, "workflow.fault.node", {"text": "No paper"})


@pytest.mark.parametrize("message", [None, "", " "])
def test_a_fault_without_a_message_names_its_node(message: str | None) -> None:
    assert fault_of(single("Fault", {"Message": message})).args == {"text": "The node"}


def test_nothing_flows_on_after_a_fault_that_continues() -> None:
    run = single("Fault", continue_on_error=True)
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.path == ["start", "node"]
    assert run.node("node").status is NodeStatus.FAULTED
    assert run.instance.variables["outcome"] == "error"
