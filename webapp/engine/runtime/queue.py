"""The items of a wave's queue (spec 3.3)."""

from __future__ import annotations

from webapp.engine.activities.compiled import CompiledNode
from webapp.engine.instances.bookmarks import Bookmark
from webapp.engine.numbers import JsonObject

BACK = "__resubmitTo"
"""In the state of an execution: the nodes that its token goes straight back to, one after the other (D30)."""

LATE = "__late"
"""In the state of an execution: the Joins that its token comes too late for (spec 3.22)."""


class Fresh:
    """A token that has reached a node; it consumes no bookmark.

    ``back``: the nodes that it goes straight back to from here. ``late``: the Joins that it comes too late for.
    """

    __slots__ = ("back", "caused_by", "late", "node", "via")
    bookmark: Bookmark | None = None

    def __init__(
        self,
        node: CompiledNode,
        caused_by: list[str],
        via: list[str],
        back: list[str] | None = None,
        late: list[str] | None = None,
    ) -> None:
        self.node = node
        self.caused_by = caused_by
        self.via = via
        self.back = back
        self.late = late


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


class Settlement:
    """A waiting node that is decided without its activity: by what was done to its tasks, or by a timer."""

    __slots__ = ("label", "node_instance_id")
    bookmark: Bookmark | None = None

    def __init__(self, node_instance_id: str, label: str) -> None:
        self.node_instance_id = node_instance_id
        self.label = label


Item = Fresh | Resumption | Retrial | Settlement
