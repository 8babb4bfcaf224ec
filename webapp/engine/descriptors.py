"""What an activity looks like to a designer: one description for palette, form, validation, help and API (spec 11)."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from webapp.engine.numbers import JsonValue


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


class PropertyDescriptor(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One property of an activity.

    ``kind`` holds for a text value; for ``keyValue`` it holds for each value (``Expressions`` of SetVariable).
    ``type`` is what a literal must be: string, number, boolean, array, object or any. ``options`` are the allowed
    values of a choice (compared without case when ``ignore_case``). ``section`` groups fields in the property panel.
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
        """Return the property of that name, PascalCase or camelCase (decision D35)."""
        for candidate in self.properties:
            if candidate.name == name or candidate.name[0].lower() + candidate.name[1:] == name:
                return candidate
        return None
