"""The properties of a user task, as designers see them (spec 4.9, 4.20)."""

from __future__ import annotations

from webapp.engine.assignees import EmptyAssigneeStrategy
from webapp.engine.descriptors import (
    CALENDAR_PROPERTY,
    TIME_ZONE_PROPERTY,
    Editor,
    Kind,
    PropertyDescriptor,
    moment_property,
    span_property,
)
from webapp.engine.instances.bookmarks import Priority
from webapp.engine.tasks.policies import Policy

COMPLETION_POLICY = "CompletionPolicy"
COMPLETION_THRESHOLD = "CompletionThreshold"
RETURN_TARGETS = "ReturnTargets"
RESUBMIT = "Resubmit"
FORM = "Form"
SKIP_IF_APPROVED = "SkipIfAlreadyApproved"
ALLOW_TRANSFER = "AllowTransfer"
ALLOW_DELEGATE = "AllowDelegate"
ALLOW_ADD_SIGNERS = "AllowAddSigners"
ALLOW_RETURN = "AllowReturn"


def _flag(name: str) -> PropertyDescriptor:
    return PropertyDescriptor(name=name, editor=Editor.SWITCH, type="boolean", default=True, section="decision")


PROPERTIES = (
    PropertyDescriptor(name="Title", editor=Editor.TEMPLATE, kind=Kind.TEMPLATE, example="Leave of {{employee}}"),
    PropertyDescriptor(name="AssigneeRules", editor=Editor.ASSIGNEE_RULES, type="array", section="people"),
    PropertyDescriptor(name="Assignees", editor=Editor.LIST, type="array", section="people"),
    PropertyDescriptor(
        name="AssigneesExpression",
        editor=Editor.EXPRESSION,
        kind=Kind.EXPRESSION,
        section="people",
        example="managers[department]",
    ),
    PropertyDescriptor(
        name=COMPLETION_POLICY,
        editor=Editor.CHOICE,
        default=Policy.ANY.value,
        options=tuple(Policy),
        section="people",
    ),
    PropertyDescriptor(
        name=COMPLETION_THRESHOLD,
        editor=Editor.NUMBER,
        kind=Kind.LITERAL_OR_EXPRESSION,
        type="number",
        section="people",
        counts_with=(COMPLETION_POLICY, Policy.RATIO.value),
        example="0.5",
    ),
    PropertyDescriptor(
        name="EmptyAssigneeStrategy",
        editor=Editor.CHOICE,
        default=EmptyAssigneeStrategy.FAULT.value,
        options=tuple(EmptyAssigneeStrategy),
        section="people",
    ),
    PropertyDescriptor(name=SKIP_IF_APPROVED, editor=Editor.SWITCH, type="boolean", default=False, section="people"),
    PropertyDescriptor(
        name="FallbackAssignees",
        editor=Editor.LIST,
        type="array",
        section="people",
        counts_with=("EmptyAssigneeStrategy", EmptyAssigneeStrategy.ASSIGN_TO.value),
    ),
    PropertyDescriptor(name="CcUserIds", editor=Editor.LIST, type="array", section="people"),
    PropertyDescriptor(name="AllowedOutcomes", editor=Editor.LIST, type="array", section="decision"),
    PropertyDescriptor(name="CommentRequired", editor=Editor.LIST, type="array", section="decision"),
    PropertyDescriptor(name=ALLOW_RETURN, editor=Editor.SWITCH, type="boolean", default=True, section="decision"),
    PropertyDescriptor(name=RETURN_TARGETS, editor=Editor.LIST, type="array", section="decision"),
    PropertyDescriptor(
        name=RESUBMIT, editor=Editor.CHOICE, default="flow", options=("flow", "direct"), section="decision"
    ),
    PropertyDescriptor(name=FORM, editor=Editor.FORM, type="object", section="data"),
    PropertyDescriptor(
        name="FormData",
        editor=Editor.JSON,
        type="object",
        section="data",
        example='{"hint": "Two signatures above 1000"}',
    ),
    PropertyDescriptor(name="ShowVariables", editor=Editor.LIST, type="array", section="data"),
    PropertyDescriptor(name="WritableVariables", editor=Editor.LIST, type="array", section="data"),
    PropertyDescriptor(
        name="Priority",
        editor=Editor.CHOICE,
        kind=Kind.TEMPLATE,
        default=Priority.NORMAL.value,
        options=tuple(Priority),
        section="time",
    ),
    span_property("DueInSeconds"),
    moment_property("DueAt"),
    CALENDAR_PROPERTY,
    TIME_ZONE_PROPERTY,
    _flag(ALLOW_TRANSFER),
    _flag(ALLOW_DELEGATE),
    _flag(ALLOW_ADD_SIGNERS),
    span_property("RemindAfterSeconds"),
    span_property("RemindEverySeconds"),
    PropertyDescriptor(name="MaxReminders", editor=Editor.NUMBER, type="number", minimum=1, section="time"),
)
