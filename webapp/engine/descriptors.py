"""What an activity looks like to a designer: one description for palette, form, validation, help and API (spec 11)."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from webapp.engine.numbers import JsonValue
from webapp.engine.schedules import is_duration, is_instant


class Editor(StrEnum):
    """The closed list of property editors."""

    TEXT = "text"
    LONG_TEXT = "longText"
    NUMBER = "number"
    DURATION = "duration"
    SWITCH = "switch"
    CHOICE = "choice"
    LIST = "list"
    KEY_VALUE = "keyValue"
    EXPRESSION = "expression"
    TEMPLATE = "template"
    CONDITION = "condition"
    ASSIGNEE_RULES = "assigneeRules"
    FORM = "form"
    DEFINITION = "definition"
    JSON = "json"


class Kind(StrEnum):
    """How a property's text is read when the node runs (spec 4, conventions)."""

    LITERAL = "literal"
    TEMPLATE = "template"
    EXPRESSION = "expression"
    LITERAL_OR_EXPRESSION = "literalOrExpression"


class Category(StrEnum):
    """Palette groups, in their order."""

    ENDS = "ends"
    PEOPLE = "people"
    ROUTING = "routing"
    TIME = "time"
    CONNECT = "connect"
    SUBFLOW = "subflow"
    DATA = "data"
    ERRORS = "errors"
    CUSTOM = "custom"


class OutgoingMode(StrEnum):
    """Which edges a completed node takes (spec 3.6)."""

    MATCHED = "Matched"
    EXCLUSIVE = "Exclusive"
    ALL = "All"
    NONE = "None"


INSTANT = "instant"
"""A literal type: a text that is an RFC 3339 instant is that instant, any other is an expression (spec 4.20)."""

CRON = "cron"
TIME_ZONE = "timeZone"
CALENDAR = "workCalendar"

TEXT_TYPES = frozenset((INSTANT, CRON, TIME_ZONE, CALENDAR))
"""Literal types that are texts in JSON, of which validation knows more than that."""


class PropertyDescriptor(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One property of an activity.

    ``kind`` holds for a text value; for ``keyValue`` it holds for each value (``Expressions`` of SetVariable).
    ``type`` is what a literal must be: string, number, boolean, array, object, any, or one of ``TEXT_TYPES``.
    ``example`` is a value as it might be typed, shown while the field is empty. ``options`` are the allowed values of
    a choice (compared without case when ``ignore_case``). ``section`` groups fields in the property panel.
    ``counts_with`` names a choice and the one value with which this property means anything; with others it is hidden.
    """

    name: str
    editor: Editor
    kind: Kind = Kind.LITERAL
    type: str = "string"
    required: bool = False
    default: JsonValue = None
    options: tuple[str, ...] = ()
    ignore_case: bool = True
    section: str = "setup"
    minimum: int | None = None
    counts_with: tuple[str, str] | None = None
    example: str = ""

    def stands_for_itself(self, text: str) -> bool:
        """Whether a text of the property is a value and no expression: an instant, or a span such as ``P1D``."""
        if self.type == INSTANT:
            return is_instant(text)
        return self.editor is Editor.DURATION and is_duration(text)


TIME_ZONE_PROPERTY = PropertyDescriptor(
    name="TimeZone", editor=Editor.TEXT, type=TIME_ZONE, section="time", example="Europe/Berlin"
)
"""The zone a step's times are meant in; without it the installation's (spec 4.20, D32)."""

CALENDAR_PROPERTY = PropertyDescriptor(name="WorkCalendar", editor=Editor.TEXT, type=CALENDAR, section="time")
"""The calendar a step's spans count in; without it the definition's (spec 4.20, D33)."""


DEFINITION_PROPERTIES = (
    PropertyDescriptor(name="DefinitionName", editor=Editor.DEFINITION, kind=Kind.TEMPLATE, required=True),
    PropertyDescriptor(name="DefinitionVersion", editor=Editor.NUMBER, type="number", minimum=1),
)
"""Which definition a step starts as a child (spec 4.13, 4.14)."""


def span_property(name: str, section: str = "time") -> PropertyDescriptor:
    """Return a property that says how long: seconds, a span such as ``P1D``, or an expression of them (spec 4.20)."""
    return PropertyDescriptor(
        name=name, editor=Editor.DURATION, kind=Kind.LITERAL_OR_EXPRESSION, type="number", section=section
    )


def moment_property(name: str, section: str = "time") -> PropertyDescriptor:
    """Return a property that says when: an RFC 3339 instant, or an expression of one (spec 4.20)."""
    return PropertyDescriptor(
        name=name,
        editor=Editor.EXPRESSION,
        kind=Kind.LITERAL_OR_EXPRESSION,
        type=INSTANT,
        section=section,
        example="2026-12-31T17:00:00Z",
    )


def cron_property(name: str, section: str = "time") -> PropertyDescriptor:
    """Return a property that is a cron expression (spec 4.20)."""
    return PropertyDescriptor(name=name, editor=Editor.TEXT, type=CRON, section=section, example="0 9 * * MON-FRI")


def variables_properties(section: str = "setup") -> tuple[PropertyDescriptor, ...]:
    """Return the two properties that make what a step hands on: literals, and expressions of this instance."""
    return (
        PropertyDescriptor(name="Variables", editor=Editor.KEY_VALUE, type="object", section=section),
        PropertyDescriptor(
            name="VariableExpressions",
            editor=Editor.KEY_VALUE,
            kind=Kind.EXPRESSION,
            type="object",
            section=section,
        ),
    )


class ActivityDescriptor(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An activity type: texts are message keys made from ``type`` (``workflow.activity.<type>.title`` …).

    ``waits`` is true when the activity may suspend; ``outcomes`` are the labels it can complete with.
    """

    type: str
    category: Category
    icon: str
    outgoing_mode: OutgoingMode = OutgoingMode.MATCHED
    outcomes: tuple[str, ...] = ()
    waits: bool = False
    properties: tuple[PropertyDescriptor, ...] = ()
    custom: bool = False

    @property
    def key(self) -> str:
        """The stem of this activity's message keys."""
        return f"workflow.activity.{self.type}"

    def property(self, name: str) -> PropertyDescriptor | None:
        """Return the property of that name, PascalCase or camelCase (decision D35), or by its name in version 4."""
        wanted = _EARLIER_NAMES.get(name, name)
        for candidate in self.properties:
            if candidate.name == wanted or candidate.name[0].lower() + candidate.name[1:] == wanted:
                return candidate
        return None


_EARLIER_NAMES = {"DefinitionCode": "DefinitionName", "definitionCode": "DefinitionName"}
"""Names of version 4 that are read still (decision D25)."""
