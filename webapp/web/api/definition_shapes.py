"""What the API takes and answers for definitions, activities and expressions (spec 11 Shapes, 25 REST)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, field

from webapp.engine.definitions.model import (
    DefinitionStatus,
    InstanceTimeoutAction,
    Node,
    Transition,
    VariableDefinition,
    WorkflowDefinition,
)
from webapp.engine.descriptors import ActivityDescriptor, Category, Editor, Kind, OutgoingMode, PropertyDescriptor
from webapp.engine.numbers import JsonNumber, JsonObject, JsonValue
from webapp.messages.catalog import Catalog
from webapp.services.queries import DefinitionSummary
from webapp.web.api.shapes import Body, ProblemItem, Shape
from webapp.web.i18n import Language
from webapp.web.wire import Instant, instant_text, optional_instant

ReadOnly = Annotated[
    JsonValue, Meta(extra_json_schema={"readOnly": True}, description="Written by the catalog; ignored")
]


class DefinitionDocument(Body, frozen=True, kw_only=True):
    """A definition as it is drawn. Only its shape is checked; ``validate`` and ``publish`` check what it means."""

    name: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,127}$")]
    display_name: str | None = None
    description: str | None = None
    category: str | None = None
    nodes: list[Node] = field(default_factory=list)
    transitions: list[Transition] = field(default_factory=list)
    variables: list[VariableDefinition] = field(default_factory=list)
    timeout: JsonNumber | None = None
    timeout_action: InstanceTimeoutAction = InstanceTimeoutAction.FAULT
    compensate_on_cancel: bool = False
    compensate_on_fault: bool = False
    owners: list[str] = field(default_factory=list)
    startable_by: list[str] = field(default_factory=list)
    allow_withdraw: bool = True
    searchable_variables: list[str] = field(default_factory=list)
    priority: str | None = None
    work_calendar: str | None = None
    start_form: JsonObject | None = None
    extra_properties: JsonObject = field(default_factory=dict)
    id: ReadOnly = None
    version: ReadOnly = None
    revision: ReadOnly = None
    status: ReadOnly = None
    created_at: ReadOnly = None
    created_by: ReadOnly = None
    updated_at: ReadOnly = None
    updated_by: ReadOnly = None
    published_at: ReadOnly = None
    published_by: ReadOnly = None
    publish_note: ReadOnly = None


class Definition(Shape, frozen=True, kw_only=True):
    """A definition with its whole content."""

    id: str
    name: str
    display_name: str
    version: int
    status: DefinitionStatus
    revision: int
    description: str | None
    category: str | None
    nodes: list[Node]
    transitions: list[Transition]
    variables: list[VariableDefinition]
    timeout: JsonNumber | None
    timeout_action: InstanceTimeoutAction
    compensate_on_cancel: bool
    compensate_on_fault: bool
    owners: list[str]
    startable_by: list[str]
    allow_withdraw: bool
    searchable_variables: list[str]
    priority: str | None
    work_calendar: str | None
    start_form: JsonObject | None
    extra_properties: JsonObject
    created_at: Instant | None
    created_by: str | None
    updated_at: Instant | None
    updated_by: str | None
    published_at: Instant | None
    published_by: str | None
    publish_note: str | None


class DefinitionListItem(Shape, frozen=True, kw_only=True):
    """A definition without its content."""

    id: str
    name: str
    display_name: str
    version: int
    status: DefinitionStatus
    revision: int
    description: str | None
    category: str | None
    created_at: Instant
    created_by: str | None
    updated_at: Instant | None
    updated_by: str | None
    published_at: Instant | None
    published_by: str | None
    running_instances: int
    draft_version: int | None


class ValidationReport(Shape, frozen=True, kw_only=True):
    """What is wrong with a definition: errors forbid publishing, warnings do not."""

    errors: list[ProblemItem]
    warnings: list[ProblemItem]


class PublishBody(Body, frozen=True, kw_only=True):
    """How a version is published."""

    note: str | None = None


class OptionItem(Shape, frozen=True, kw_only=True):
    """A value that a property may have."""

    value: str
    title: str


class PropertyItem(Shape, frozen=True, kw_only=True):
    """A property of an activity, in the caller's language."""

    name: str
    title: str
    help: str
    editor: Editor
    kind: Kind
    type: str
    required: bool
    default: JsonValue
    options: list[OptionItem]
    section: str
    minimum: int | None
    example: str
    counts_with: list[str] | None


class ActivityItem(Shape, frozen=True, kw_only=True):
    """An activity type, in the caller's language."""

    type: str
    title: str
    description: str
    category: Category
    icon: str
    outgoing_mode: OutgoingMode
    outcomes: list[str]
    waits: bool
    custom: bool
    properties: list[PropertyItem]


class CheckBody(Body, frozen=True, kw_only=True):
    """A text to be checked; with ``variables`` an unknown name is an error."""

    text: str
    kind: Literal["expression", "condition", "template"]
    variables: list[str] | None = None


class DiagnosticItem(Shape, frozen=True, kw_only=True):
    """What is wrong with an expression and where: line and column from 1, in UTF-16 units."""

    line: int | None
    column: int | None
    key: str
    params: dict[str, Any]
    message: str


class CheckResult(Shape, frozen=True, kw_only=True):
    """Whether a text can be read."""

    valid: bool
    errors: list[DiagnosticItem]


class EvaluateBody(Body, frozen=True, kw_only=True):
    """A text to be tried out with these variables."""

    text: str
    kind: Literal["expression", "condition", "template"]
    variables: JsonObject = field(default_factory=dict)


class EvaluateResult(Shape, frozen=True, kw_only=True):
    """What a text comes to; null when it has no value."""

    value: JsonValue


def definition_shape(definition: WorkflowDefinition) -> Definition:
    """Return a definition as the API writes it."""
    instants: dict[str, Any] = {
        name: optional_instant(getattr(definition, name)) for name in ("created_at", "updated_at", "published_at")
    }
    rest = {
        name: getattr(definition, name)
        for name in Definition.__struct_fields__
        if name not in instants and name != "display_name"
    }
    return Definition(display_name=definition.title, **rest, **instants)


def summary_shape(summary: DefinitionSummary) -> DefinitionListItem:
    """Return a row of the definition list as the API writes it."""
    instants: dict[str, Any] = {
        name: optional_instant(getattr(summary, name)) for name in ("updated_at", "published_at")
    }
    rest = {
        name: getattr(summary, name)
        for name in DefinitionListItem.__struct_fields__
        if name not in instants and name != "created_at"
    }
    return DefinitionListItem(created_at=instant_text(summary.created_at), **rest, **instants)


def activity_shape(descriptor: ActivityDescriptor, catalog: Catalog, lang: Language) -> ActivityItem:
    """Return an activity with its texts in the reader's language."""
    key = descriptor.key
    return ActivityItem(
        type=descriptor.type,
        title=catalog.text(f"{key}.title", {}, lang),
        description=catalog.text(f"{key}.description", {}, lang),
        category=descriptor.category,
        icon=descriptor.icon,
        outgoing_mode=descriptor.outgoing_mode,
        outcomes=list(descriptor.outcomes),
        waits=descriptor.waits,
        custom=descriptor.custom,
        properties=[_property_shape(key, member, catalog, lang) for member in descriptor.properties],
    )


def _property_shape(
    activity_key: str, descriptor: PropertyDescriptor, catalog: Catalog, lang: Language
) -> PropertyItem:
    key = f"{activity_key}.{descriptor.name}"
    return PropertyItem(
        name=descriptor.name,
        title=catalog.text(f"{key}.title", {}, lang),
        help=catalog.text(f"{key}.help", {}, lang),
        editor=descriptor.editor,
        kind=descriptor.kind,
        type=descriptor.type,
        required=descriptor.required,
        default=descriptor.default,
        options=[
            OptionItem(value=value, title=catalog.text(f"{key}.{value}", {}, lang)) for value in descriptor.options
        ],
        section=descriptor.section,
        minimum=descriptor.minimum,
        example=descriptor.example,
        counts_with=None if descriptor.counts_with is None else list(descriptor.counts_with),
    )
