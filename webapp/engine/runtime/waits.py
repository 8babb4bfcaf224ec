"""The waiting points of an instance during a wave: which are open, new, changed, gone (spec 3.7, 3.11)."""

from __future__ import annotations

import copy
from collections.abc import Iterable

from webapp.engine.instances.bookmarks import Bookmark


class Waits:
    """Bookmarks by id and by node instance. Those that came from a store are copied before they change."""

    __slots__ = ("_changed", "_new", "_of_node", "deleted_ids", "open")

    def __init__(self, bookmarks: Iterable[Bookmark]) -> None:
        self.open: dict[str, Bookmark] = {}
        """All that are open now, in the order of their creation."""
        self.deleted_ids: list[str] = []
        self._of_node: dict[str | None, list[str]] = {}
        self._new: dict[str, Bookmark] = {}
        self._changed: dict[str, Bookmark] = {}
        for bookmark in bookmarks:
            self._index(bookmark)

    @property
    def new(self) -> list[Bookmark]:
        """Those made in this wave that are still open."""
        return list(self._new.values())

    @property
    def changed(self) -> list[Bookmark]:
        """The wave's own copies of those that it changed."""
        return list(self._changed.values())

    def add(self, bookmark: Bookmark) -> None:
        """Open a new bookmark."""
        self._new[bookmark.id] = bookmark
        self._index(bookmark)

    def change(self, bookmark: Bookmark) -> Bookmark:
        """Return the wave's own copy of a bookmark, to be changed in place."""
        if bookmark.id in self._new:
            return self._new[bookmark.id]
        own = self._changed.get(bookmark.id) or copy.copy(bookmark)
        self._changed[bookmark.id] = self.open[bookmark.id] = own
        return own

    def consume(self, bookmark: Bookmark) -> None:
        """Delete a bookmark."""
        del self.open[bookmark.id]
        self._of_node[bookmark.node_instance_id].remove(bookmark.id)
        self._changed.pop(bookmark.id, None)
        if self._new.pop(bookmark.id, None) is None:
            self.deleted_ids.append(bookmark.id)

    def restore_due_times(self) -> None:
        """Give those that were pushed back while the instance did not run the due times they had (spec 3.22)."""
        for bookmark in list(self.open.values()):
            if bookmark.original_due_at is not None:
                own = self.change(bookmark)
                own.due_at, own.original_due_at = own.original_due_at, None

    def of_node(self, node_instance_id: str) -> list[Bookmark]:
        """Return the open bookmarks of a node instance, in their order."""
        ids = self._of_node.get(node_instance_id)
        return [self.open[bookmark_id] for bookmark_id in ids] if ids else []

    def _index(self, bookmark: Bookmark) -> None:
        self.open[bookmark.id] = bookmark
        self._of_node.setdefault(bookmark.node_instance_id, []).append(bookmark.id)
