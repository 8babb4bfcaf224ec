"""The differences between two definitions: nodes, transitions, variables and settings (spec 11)."""

from __future__ import annotations

import msgspec

from webapp.engine.definitions.codec import write_definition
from webapp.engine.definitions.model import READ_ONLY_MEMBERS, WorkflowDefinition
from webapp.engine.json_input import member_path
from webapp.engine.numbers import JsonObject, JsonValue


class MemberChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One member that differs: its path (``properties.Title``) and both values; null where there is none."""

    path: str
    before: JsonValue
    after: JsonValue


class ItemRef(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A node, transition or variable that is only in one of the two; a variable's id is its name."""

    id: str
    name: str


class ItemChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A node, transition or variable that is in both and differs."""

    id: str
    name: str
    changes: list[MemberChange]


class PartDiff(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The differences of one kind of thing, in the order of the definitions."""

    added: list[ItemRef] = []
    removed: list[ItemRef] = []
    changed: list[ItemChange] = []


class DefinitionDiff(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All differences from one definition to another; what only the catalog writes is left out."""

    nodes: PartDiff
    transitions: PartDiff
    variables: PartDiff
    settings: list[MemberChange]

    @property
    def empty(self) -> bool:
        """Whether both say the same."""
        parts = (self.nodes, self.transitions, self.variables)
        return not self.settings and not any(part.added or part.removed or part.changed for part in parts)


def diff_definitions(before: WorkflowDefinition, after: WorkflowDefinition) -> DefinitionDiff:
    """Return what was added, removed and changed on the way from one definition to the other."""
    first, second = write_definition(before), write_definition(after)
    parts = {"nodes": "id", "transitions": "id", "variables": "name"}
    left_out = {*READ_ONLY_MEMBERS, *parts}
    settings = [{name: value for name, value in side.items() if name not in left_out} for side in (first, second)]
    differences = {part: _diff_part(first[part], second[part], key) for part, key in parts.items()}
    return DefinitionDiff(settings=_changes(settings[0], settings[1], ""), **differences)


def _diff_part(before: list[JsonObject], after: list[JsonObject], key: str) -> PartDiff:
    old = {item[key]: item for item in before}
    new = {item[key]: item for item in after}
    changed = []
    for id_, item in new.items():
        changes = _changes(old[id_], item, "") if id_ in old else []
        if changes:
            changed.append(ItemChange(id=id_, name=_name(item, id_), changes=changes))
    return PartDiff(
        added=[ItemRef(id=id_, name=_name(item, id_)) for id_, item in new.items() if id_ not in old],
        removed=[ItemRef(id=id_, name=_name(item, id_)) for id_, item in old.items() if id_ not in new],
        changed=changed,
    )


def _name(item: JsonObject, id_: str) -> str:
    return item.get("title") or item.get("name") or id_


def _changes(before: JsonObject, after: JsonObject, path: str) -> list[MemberChange]:
    changes = []
    for name in [*before, *(name for name in after if name not in before)]:
        old, new, where = before.get(name), after.get(name), member_path(path, name)
        if isinstance(old, dict) and isinstance(new, dict):
            changes += _changes(old, new, where)
        elif not same_json(old, new):
            changes.append(MemberChange(path=where, before=old, after=new))
    return changes


def same_json(left: JsonValue, right: JsonValue) -> bool:
    """Tell whether two JSON values are equal; true is not 1, 1.0 is 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same_json(value, right[name]) for name, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_json, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)
