"""Definitions written in Python, step by step: the embedding host's way to what the designer draws."""

from __future__ import annotations

from typing import Any, Self

from webapp.engine.definitions.codec import read_definition
from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.json_input import check_json
from webapp.engine.numbers import JsonObject, JsonValue

START = "start"
END = "end"


class DefinitionBuilder:
    """Collects nodes, transitions and variables; every ``add_`` returns the builder.

    ``settings`` are members of the wire shape in snake case, for example ``timeout_seconds=3600`` on a node or
    ``category="hr"`` on the definition (spec 1.1 to 1.5, 1.16).
    """

    def __init__(self, name: str, display_name: str | None = None, **settings: JsonValue) -> None:
        self._document: JsonObject = {"name": name, **_members(settings)}
        if display_name is not None:
            self._document["displayName"] = display_name
        self._nodes: list[JsonObject] = []
        self._transitions: list[JsonObject] = []
        self._variables: list[JsonObject] = []

    @classmethod
    def create(cls, name: str, display_name: str | None = None, **settings: JsonValue) -> Self:
        """Begin a definition; without a display name it shows its name."""
        return cls(name, display_name, **settings)

    def add_start(
        self, id: str = START, name: str | None = None, *, properties: JsonObject | None = None, **settings: JsonValue
    ) -> Self:
        """Add the Start node."""
        return self.add_node(id, "Start", name, properties=properties, **settings)

    def add_end(
        self,
        id: str = END,
        name: str | None = None,
        *,
        outcome: str | None = None,
        properties: JsonObject | None = None,
        **settings: JsonValue,
    ) -> Self:
        """Add an End node, with the outcome it gives the instance."""
        given = dict(properties or {})
        if outcome is not None:
            given["Outcome"] = outcome
        return self.add_node(id, "End", name, properties=given, **settings)

    def add_node(
        self,
        id: str,
        activity_type: str,
        name: str | None = None,
        *,
        properties: JsonObject | None = None,
        **settings: JsonValue,
    ) -> Self:
        """Add a node of any activity type; without a name it shows its id."""
        node = {"id": id, "activityType": activity_type, "name": name, "properties": dict(properties or {})}
        self._nodes.append({**node, **_members(settings)})
        return self

    def add_transition(
        self,
        source: str,
        target: str,
        condition: str | None = None,
        *,
        priority: int = 0,
        is_default: bool = False,
        name: str | None = None,
        id: str | None = None,
        **settings: JsonValue,
    ) -> Self:
        """Add an arrow from one node to another; without an id it gets the next free ``t<number>``."""
        transition = {
            "id": id if id is not None else self._free_id(),
            "sourceNodeId": source,
            "targetNodeId": target,
            "condition": condition,
            "priority": priority,
            "isDefault": is_default,
            "name": name,
        }
        self._transitions.append({**transition, **_members(settings)})
        return self

    def add_variable(
        self,
        name: str,
        type: str | None = None,
        *,
        required: bool = False,
        default: JsonValue = None,
        title: str | None = None,
        description: str | None = None,
    ) -> Self:
        """Declare a start input; a type that is given is enforced at every start."""
        self._variables.append(
            {
                "name": name,
                "type": type,
                "required": required,
                "defaultValue": default,
                "title": title,
                "description": description,
            }
        )
        return self

    def build(self) -> WorkflowDefinition:
        """Return the definition; publishing validates it.

        :raises InputInvalid: a value is no JSON, or a member has the wrong shape; all of them at once.
        """
        document: dict[str, Any] = {
            **self._document,
            "nodes": self._nodes,
            "transitions": self._transitions,
            "variables": self._variables,
        }
        return read_definition(check_json(document))

    def _free_id(self) -> str:
        taken = {transition["id"] for transition in self._transitions}
        number = len(self._transitions) + 1
        while f"t{number}" in taken:
            number += 1
        return f"t{number}"


def _members(settings: JsonObject) -> JsonObject:
    """Return settings under their wire names: ``timeout_seconds`` is ``timeoutSeconds``."""
    return {_camel(name): value for name, value in settings.items()}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)
