"""What the wave's tests of parents and children share: what is owed, and the news of an end."""

from __future__ import annotations

from typing import Any

from tests.engine.harness import Run
from webapp.engine.instances.model import InstanceStatus, WorkflowFault
from webapp.engine.numbers import JsonObject
from webapp.engine.runtime.child_operations import ChildEnd
from webapp.engine.runtime.commands import Wave


def owed(run: Run) -> list[tuple[str, str | None]]:
    """Return what the last wave owes, as (action, target)."""
    return [(one.action, one.target_instance_id) for one in run.last.write_set.new_follow_ups]


def asked(run: Run) -> list[JsonObject]:
    """Return the variables of each child that the last wave asks for."""
    return [one.payload["variables"] for one in run.last.write_set.new_follow_ups if one.action == "startChild"]


def child_ids(run: Run) -> list[str]:
    """Return the children that the node ``sub`` waits for."""
    found: list[str] = run.node("sub").state["__childInstanceIds"]
    return found


def tell(
    run: Run,
    child_id: str,
    status: InstanceStatus = InstanceStatus.COMPLETED,
    variables: JsonObject | None = None,
    **more: Any,
) -> Wave | None:
    """Tell the node ``sub`` how a child ended."""
    end = ChildEnd(
        child_id=child_id,
        node_instance_id=run.node("sub").id,
        status=status,
        variables=variables or {},
        fault=more.pop("fault", None),
        order=more.pop("order", None),
    )
    wave = run.world.engine.children.ended(run.snapshot(), run.compiled, end, run.command("childEnded", None))
    if wave is not None:
        run.apply(wave)
    return wave


DOOMED = WorkflowFault(
    code="WORKFLOW_UNEXPECTED_001", key="workflow.activity.exception", args={"text": "no"},
    inner=WorkflowFault(code="WORKFLOW_UNEXPECTED_001", key="workflow.fault.node", args={"text": "deep"}),
)  # fmt: skip
