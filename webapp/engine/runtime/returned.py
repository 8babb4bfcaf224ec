"""What an activity of the application leaves behind, looked at before the wave believes it (spec 3.4, 3.11).

Outputs, state and payloads are stored as JSON: what is none fails the node that made it, never the write of the wave.
"""

from __future__ import annotations

from webapp.engine.activities.api import ActivityOutcome, Complete, Fault, Suspend
from webapp.engine.errors import UNEXPECTED, VALIDATION_INPUT, InputInvalid
from webapp.engine.instances.model import NodeInstance, WorkflowFault
from webapp.engine.json_input import CHARACTER, check_json, item_path, member_path
from webapp.engine.numbers import JsonObject


def checked(outcome: ActivityOutcome, node_instance: NodeInstance, before: JsonObject) -> ActivityOutcome:
    """Return the outcome, or a fault when it or the state is no JSON; the state is then what it was *before*."""
    try:
        check_json(node_instance.state, "state")
        if isinstance(outcome, Complete | Suspend):
            check_json(outcome.outputs, "outputs")
        if isinstance(outcome, Complete):
            label: object = outcome.label
            if label is not None and not isinstance(label, str):
                return _refused(node_instance, before, f"label: {type(label).__name__}")
        if isinstance(outcome, Suspend):
            for index, request in enumerate(outcome.bookmarks):
                check_json(request.payload, member_path(item_path("bookmarks", index), "payload"))
    except InputInvalid as invalid:
        first = invalid.problems[0]
        if first.key == CHARACTER and first.path.startswith("outputs"):
            # The variables refuse it themselves, and say so in words of their own.
            return outcome
        cause = WorkflowFault(code=VALIDATION_INPUT, key=first.key, args=first.params)
        return _refused(node_instance, before, first.path, cause)
    except Exception as error:
        return _refused(node_instance, before, str(error) or type(error).__name__)
    return outcome


def _refused(node_instance: NodeInstance, before: JsonObject, text: str, cause: WorkflowFault | None = None) -> Fault:
    node_instance.state = before
    fault = WorkflowFault(code=UNEXPECTED, key="workflow.activity.not_json", args={"text": text}, inner=cause)
    return Fault(fault=fault)
