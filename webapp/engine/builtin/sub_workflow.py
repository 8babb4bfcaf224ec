"""SubWorkflow: runs another definition as a child instance, and waits for it or not (spec 3.15, 4.13)."""

from __future__ import annotations

from webapp.engine.activities.api import ActivityContext, ActivityOutcome, Complete, ResumeInput, Suspend
from webapp.engine.activities.subflows import (
    child,
    child_fault,
    definition_name,
    members,
    news,
    version,
    wait_for_children,
)
from webapp.engine.descriptors import (
    DEFINITION_PROPERTIES,
    ActivityDescriptor,
    Category,
    Editor,
    PropertyDescriptor,
    variables_properties,
)
from webapp.engine.instances.model import InstanceStatus

REQUEST = "request"


class SubWorkflowActivity:
    """Nothing of the child reaches the parent's variables but the result, under its name."""

    descriptor = ActivityDescriptor(
        type="SubWorkflow",
        category=Category.SUBFLOW,
        icon="boxes",
        outcomes=("completed", "faulted", "canceled", "terminated"),
        waits=True,
        properties=(
            *DEFINITION_PROPERTIES,
            PropertyDescriptor(name="WaitForCompletion", editor=Editor.SWITCH, type="boolean", default=True),
            PropertyDescriptor(name="FailOnChildFault", editor=Editor.SWITCH, type="boolean", default=True),
            *variables_properties("data"),
            PropertyDescriptor(name="ResultVariable", editor=Editor.TEXT, section="data", example="result"),
        ),
    )

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Ask for the child; without waiting the node is done with that."""
        name, number = definition_name(context), version(context)
        variables = {**members(context, "Variables"), **context.evaluate_each("VariableExpressions")}
        asked = child(name, number, variables)
        if context.literal("WaitForCompletion", True) is False:
            return Complete(children=(asked,))
        # Kept for a retry that has to start the child anew: the variables may have changed by then.
        context.state[REQUEST] = {"name": name, "version": number, "variables": variables}
        return Suspend(bookmarks=(wait_for_children(context),), children=(asked,))

    def resume(self, context: ActivityContext, resume: ResumeInput) -> ActivityOutcome:
        """Go on with what became of the child; a time that is over is a fault."""
        ended = news(context, resume)
        request = context.state[REQUEST]
        if ended.restart:
            again = child(request["name"], request["version"], request["variables"], replaces=ended.child_id)
            return Suspend(bookmarks=(wait_for_children(context),), children=(again,))
        if ended.status is not InstanceStatus.COMPLETED and context.literal("FailOnChildFault", True) is not False:
            raise child_fault(ended.status, ended.child_id, request["name"], ended.fault)
        result = context.literal("ResultVariable")
        outputs = {result: ended.variables} if isinstance(result, str) and result.strip() else {}
        return Complete(outputs=outputs, label=ended.status.value.lower())
