"""A flow of one node under test: Start, the node, End."""

from __future__ import annotations

from typing import Any

from tests.engine.harness import Run, World
from tests.support.flows import END, START, flow, node
from webapp.engine.instances.model import InstanceStatus, WorkflowFault
from webapp.engine.numbers import JsonObject


def single(type_: str, properties: JsonObject | None = None, variables: JsonObject | None = None, **more: Any) -> Run:
    """Start an instance of Start, one node with the name "The node", End."""
    it = node("node", type_, properties, name="The node", **more)
    return World().start(flow("single", [START, it, END]), variables)


def fault_of(run: Run) -> WorkflowFault:
    """Return the fault of an instance that must be Faulted."""
    assert run.instance.status is InstanceStatus.FAULTED
    assert run.instance.fault is not None
    return run.instance.fault
