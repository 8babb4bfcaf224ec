"""Which executions caused which: ancestors and descendants through ``causedBy`` (spec 1.17, 3.22)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from webapp.engine.instances.bookmarks import Bookmark
from webapp.engine.instances.model import JoinState, NodeInstance, PendingToken

_Following = Callable[[str], Sequence[str]]


class Offspring(msgspec.Struct, kw_only=True):
    """All that came from some executions, those themselves included.

    ``arrivals`` holds, by Join node and transition, the ids of the executions that arrived there and are among them.
    """

    node_instances: list[NodeInstance] = []
    bookmarks: list[Bookmark] = []
    arrivals: dict[str, dict[str, list[str]]] = {}
    tokens: list[PendingToken] = []

    @property
    def ids(self) -> frozenset[str]:
        """The ids of the executions."""
        return frozenset(node_instance.id for node_instance in self.node_instances)


class Lineage:
    """The executions of one instance by cause; *node_instances* must be all of them, its history included."""

    def __init__(self, node_instances: Iterable[NodeInstance]) -> None:
        self._all = {node_instance.id: node_instance for node_instance in node_instances}
        self._caused: dict[str, list[str]] = {}
        for node_instance in self._all.values():
            for cause in node_instance.caused_by:
                self._caused.setdefault(cause, []).append(node_instance.id)

    def get(self, node_instance_id: str) -> NodeInstance | None:
        """Return an execution, or None."""
        return self._all.get(node_instance_id)

    def ancestors(self, node_instance_id: str) -> list[NodeInstance]:
        """Return the executions that led to this one, itself not among them, in the order they were made."""
        found = self._all.get(node_instance_id)
        causes = () if found is None else found.caused_by
        return self._closure(causes, self._causes_of)

    def descendants(self, roots: Iterable[str]) -> list[NodeInstance]:
        """Return *roots* and all executions that came from them, in the order they were made."""
        return self._closure(roots, lambda one: self._caused.get(one, ()))

    def offspring(
        self,
        roots: Iterable[str],
        *,
        bookmarks: Iterable[Bookmark],
        join_states: Mapping[str, JoinState],
        tokens: Iterable[PendingToken],
    ) -> Offspring:
        """Return *roots* and everything of the instance that came from them: executions, waits, arrivals, tokens."""
        found = self.descendants(roots)
        ids = {node_instance.id for node_instance in found}
        return Offspring(
            node_instances=found,
            bookmarks=[bookmark for bookmark in bookmarks if bookmark.node_instance_id in ids],
            arrivals=dict(_arrivals(join_states, ids)),
            tokens=[token for token in tokens if ids.intersection(token.caused_by)],
        )

    def _causes_of(self, node_instance_id: str) -> Sequence[str]:
        found = self._all.get(node_instance_id)
        return () if found is None else found.caused_by

    def _closure(self, roots: Iterable[str], following: _Following) -> list[NodeInstance]:
        reached: set[str] = set()
        waiting = list(roots)
        while waiting:
            one = waiting.pop()
            if one not in reached and one in self._all:
                reached.add(one)
                waiting.extend(following(one))
        return sorted((self._all[one] for one in reached), key=lambda one: one.sequence)


def _arrivals(join_states: Mapping[str, JoinState], ids: set[str]) -> Iterator[tuple[str, dict[str, list[str]]]]:
    for node_id, state in join_states.items():
        own = {
            edge: kept for edge, arrived in state.arrived.items() if (kept := [one for one in arrived if one in ids])
        }
        if own:
            yield node_id, own
