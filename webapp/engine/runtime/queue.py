"""The items of a wave's queue (spec 3.3)."""

from __future__ import annotations

from webapp.engine.activities.compiled import CompiledNode
from webapp.engine.instances.bookmarks import Bookmark
from webapp.engine.numbers import JsonObject


class Fresh:
    """A token that has reached a node; it consumes no bookmark."""

    __slots__ = ("caused_by", "node", "via")
    bookmark: Bookmark | None = None

    def __init__(self, node: CompiledNode, caused_by: list[str], via: list[str]) -> None:
        self.node = node
        self.caused_by = caused_by
        self.via = via


class Resumption:
    """A waiting node that goes on; its bookmark is consumed when its turn comes, not before."""

    __slots__ = ("bookmark", "inputs")

    def __init__(self, bookmark: Bookmark, inputs: JsonObject) -> None:
        self.bookmark = bookmark
        self.inputs = inputs


class Retrial:
    """A failed node that runs again: by its Retry bookmark, or by hand without one."""

    __slots__ = ("bookmark", "node_instance_id")

    def __init__(self, node_instance_id: str, bookmark: Bookmark | None = None) -> None:
        self.node_instance_id = node_instance_id
        self.bookmark = bookmark


Item = Fresh | Resumption | Retrial
