"""ExternalTask: waits until a worker program has done the work (spec 4.19, 7)."""

from __future__ import annotations

from webapp.engine.activities.api import (
    ActivityContext,
    ActivityFault,
    ActivityOutcome,
    BookmarkRequest,
    Complete,
    Fault,
    ResumeInput,
    Suspend,
)
from webapp.engine.descriptors import ActivityDescriptor, Category, Editor, Kind, PropertyDescriptor
from webapp.engine.errors import UNEXPECTED
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import OUTCOME
from webapp.engine.numbers import JsonObject
from webapp.engine.tasks.external_tasks import DEFAULT_RETRIES, failure_of, payload_of


class ExternalTaskActivity:
    """Offers one task under a topic; the worker's variables become outputs, its outcome the label."""

    descriptor = ActivityDescriptor(
        type="ExternalTask",
        category=Category.CONNECT,
        icon="plug",
        waits=True,
        properties=(
            PropertyDescriptor(
                name="Topic", editor=Editor.TEMPLATE, kind=Kind.TEMPLATE, required=True, example="invoice.print"
            ),
            PropertyDescriptor(name="Variables", editor=Editor.KEY_VALUE, type="object"),
            PropertyDescriptor(
                name="VariableExpressions", editor=Editor.KEY_VALUE, kind=Kind.EXPRESSION, type="object"
            ),
            PropertyDescriptor(name="Retries", editor=Editor.NUMBER, type="number", default=DEFAULT_RETRIES, minimum=1),
        ),
    )

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Suspend until a worker hands the task back; a blank topic is a fault."""
        topic = context.text("Topic")
        if topic is None or not topic.strip():
            raise ActivityFault("workflow.property.missing", code=UNEXPECTED, args={"name": "Topic"})
        request = BookmarkRequest(
            kind=BookmarkKind.EXTERNAL_TASK,
            key=topic,
            payload=payload_of(_variables(context), _retries(context)),
            correlation_id=context.correlation_id,
        )
        return Suspend(bookmarks=(request,))

    def resume(self, context: ActivityContext, resume: ResumeInput) -> ActivityOutcome:
        """Complete with what the worker sent, or fail with its error; a node timeout is a fault (decision D13)."""
        if resume.bookmark.kind is BookmarkKind.NODE_TIMEOUT:
            raise ActivityFault("workflow.node.timed_out", code=UNEXPECTED, args={"node": context.node_name})
        failure = failure_of(resume.inputs)
        if failure is not None:
            return Fault(fault=failure)
        outputs = dict(resume.inputs)
        label = outputs.pop(OUTCOME, None)
        return Complete(outputs=outputs, label=label if isinstance(label, str) and label else None)


def _variables(context: ActivityContext) -> JsonObject:
    values = context.literal("Variables", {})
    if not isinstance(values, dict):
        raise ActivityFault("workflow.property.type", code=UNEXPECTED, args={"name": "Variables", "type": "object"})
    return {**values, **context.evaluate_each("VariableExpressions")}


def _retries(context: ActivityContext) -> int:
    retries = context.literal("Retries", DEFAULT_RETRIES)
    if isinstance(retries, int) and not isinstance(retries, bool) and retries >= 1:
        return retries
    raise ActivityFault("workflow.external.retries", code=UNEXPECTED, args={"value": retries})
