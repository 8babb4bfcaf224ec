"""ForEach: runs a child instance for each item of a list, one after the other or all at once (spec 3.15, 4.14).

The n-th child in ``__childInstanceIds`` is the n-th item's. The children are a work list: each end resumes the node,
which starts the next; nothing recurs.
"""

from __future__ import annotations

from webapp.engine.activities.api import (
    ActivityContext,
    ActivityFault,
    ActivityOutcome,
    ChildRequest,
    Complete,
    ResumeInput,
    Suspend,
)
from webapp.engine.activities.subflows import (
    CHILDREN,
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
    Kind,
    PropertyDescriptor,
    variables_properties,
)
from webapp.engine.errors import UNEXPECTED
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.numbers import JsonObject, JsonValue, copy_json

NAME = "definitionName"
ITEMS = "items"
RESULTS = "results"
"""In the node's state: the variables of the children that are done, by the item's position (a JSON name)."""
INDEX = "index"
DEFAULT_ITEM_VARIABLE = "item"


class ForEachActivity:
    """Its result is the list of the children's variables, in the order of the items."""

    descriptor = ActivityDescriptor(
        type="ForEach",
        category=Category.SUBFLOW,
        icon="repeat",
        waits=True,
        properties=(
            *DEFINITION_PROPERTIES,
            PropertyDescriptor(
                name="ItemsExpression", editor=Editor.EXPRESSION, kind=Kind.EXPRESSION, type="array", example="lines"
            ),
            PropertyDescriptor(name="Parallel", editor=Editor.SWITCH, type="boolean", default=False),
            PropertyDescriptor(name="FailFast", editor=Editor.SWITCH, type="boolean", default=True),
            PropertyDescriptor(
                name="ItemVariableName", editor=Editor.TEXT, default=DEFAULT_ITEM_VARIABLE, section="data"
            ),
            *variables_properties("data"),
            PropertyDescriptor(name="ResultVariable", editor=Editor.TEXT, section="data", example="results"),
        ),
    )

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Ask for the first child, or for all of them; without items the node is done."""
        # A blank definition is a fault even when there is nothing to do (spec 4.14).
        context.state[NAME] = definition_name(context)
        items = context.evaluate("ItemsExpression")
        if items is None:
            items = []
        if not isinstance(items, list):
            raise ActivityFault("workflow.foreach.not_list", code=UNEXPECTED)
        if not items:
            return self._done(context, [])
        context.state[ITEMS] = items
        context.state[RESULTS] = {}
        number = len(items) if context.literal("Parallel", False) is True else 1
        asked = tuple(self._child(context, position) for position in range(number))
        return Suspend(bookmarks=(wait_for_children(context),), children=asked)

    def resume(self, context: ActivityContext, resume: ResumeInput) -> ActivityOutcome:
        """Note the end of one child; go on with the next, wait for the others, or be done."""
        ended = news(context, resume)
        ids, items, results = context.state[CHILDREN], context.state[ITEMS], context.state[RESULTS]
        position = ids.index(ended.child_id)
        if ended.restart:
            return self._wait(context, self._child(context, position, replaces=ended.child_id))
        if ended.status is not InstanceStatus.COMPLETED and context.literal("FailFast", True) is not False:
            raise child_fault(ended.status, ended.child_id, context.state[NAME], ended.fault)
        results[str(position)] = copy_json(ended.variables)
        if len(results) == len(items):
            return self._done(context, [results[str(number)] for number in range(len(items))])
        if len(ids) < len(items) and str(len(ids) - 1) in results:
            return self._wait(context, self._child(context, len(ids)))
        return self._wait(context)

    def _wait(self, context: ActivityContext, *asked: ChildRequest) -> Suspend:
        return Suspend(bookmarks=(wait_for_children(context),), children=asked)

    def _child(self, context: ActivityContext, position: int, replaces: str | None = None) -> ChildRequest:
        item = context.state[ITEMS][position]
        own: JsonObject = {_item_name(context): copy_json(item), INDEX: position}
        variables = {**own, **members(context, "Variables"), **context.evaluate_each("VariableExpressions", own)}
        return child(context.state[NAME], version(context), variables, replaces)

    def _done(self, context: ActivityContext, results: list[JsonValue]) -> Complete:
        name = context.literal("ResultVariable")
        return Complete(outputs={name: results} if isinstance(name, str) and name.strip() else {})


def _item_name(context: ActivityContext) -> str:
    name = context.literal("ItemVariableName")
    return name if isinstance(name, str) and name.strip() else DEFAULT_ITEM_VARIABLE
