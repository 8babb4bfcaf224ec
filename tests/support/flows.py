"""Definition documents for tests, short to write: nodes as (id, type, properties), edges as (from, to, …)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from webapp.engine.numbers import JsonObject


def node(node_id: str, activity_type: str, properties: JsonObject | None = None, **settings: Any) -> JsonObject:
    """Return a node of a document; settings in snake_case (``timeout_seconds``) become camelCase."""
    return {
        "id": node_id,
        "activityType": activity_type,
        "properties": properties or {},
        **{_camel(name): value for name, value in settings.items()},
    }


def edge(source: str, target: str, condition: str | None = None, **settings: Any) -> JsonObject:
    """Return a transition of a document; its id is made from its ends unless ``id`` is given."""
    made: JsonObject = {"id": f"{source}-{target}", "sourceNodeId": source, "targetNodeId": target}
    if condition is not None:
        made["condition"] = condition
    return {**made, **{_camel(name): value for name, value in settings.items()}}


def flow(name: str, nodes: list[JsonObject], edges: list[JsonObject] | None = None, **settings: Any) -> JsonObject:
    """Return a document; without edges the nodes follow one another."""
    if edges is None:
        edges = [edge(one["id"], other["id"]) for one, other in pairwise(nodes)]
    return {
        "name": name,
        "displayName": name.replace("-", " ").title(),
        "nodes": nodes,
        "transitions": edges,
        **{_camel(key): value for key, value in settings.items()},
    }


def variable(name: str, **settings: Any) -> JsonObject:
    """Return a variable's declaration."""
    return {"name": name, **{_camel(key): value for key, value in settings.items()}}


START = node("start", "Start")
END = node("end", "End")


def _camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(part.title() for part in tail)
