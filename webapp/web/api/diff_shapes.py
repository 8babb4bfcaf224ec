"""What the API answers for the differences of two definitions (spec 11, Definitions)."""

from __future__ import annotations

import msgspec

from webapp.engine.numbers import JsonValue
from webapp.web.api.shapes import Shape


class ChangedMember(Shape, frozen=True, kw_only=True):
    """One member that differs: its path and both values; null where there is none."""

    path: str
    before: JsonValue
    after: JsonValue


class DiffItem(Shape, frozen=True, kw_only=True):
    """A node, transition or variable that is only in one of the two; a variable's id is its name."""

    id: str
    name: str


class ChangedItem(Shape, frozen=True, kw_only=True):
    """A node, transition or variable that is in both and differs."""

    id: str
    name: str
    changes: list[ChangedMember]


class DiffPart(Shape, frozen=True, kw_only=True):
    """The differences of one kind of thing."""

    added: list[DiffItem]
    removed: list[DiffItem]
    changed: list[ChangedItem]


class Diff(Shape, frozen=True, kw_only=True):
    """All differences on the way from the first definition to the other."""

    nodes: DiffPart
    transitions: DiffPart
    variables: DiffPart
    settings: list[ChangedMember]


def diff_shape(diff: object) -> Diff:
    """Return the differences as the API writes them; *diff* is what ``services.catalog.diff`` returns."""
    return msgspec.convert(diff, Diff, from_attributes=True)
