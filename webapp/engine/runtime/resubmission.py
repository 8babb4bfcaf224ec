"""The way straight back to whoever returned a task (spec 3.22, decision D30)."""

from __future__ import annotations

from webapp.engine.activities.compiled import CompiledDefinition
from webapp.engine.instances.model import NodeInstance
from webapp.engine.runtime.queue import BACK, LATE, Fresh


def way_of(execution: NodeInstance) -> list[str]:
    """Return the nodes that the token of an execution goes back to when it is done, whatever its edges say.

    Several when whoever was asked has asked somebody in turn: it goes back to the first, and from there to the next.
    """
    back = execution.state.get(BACK)
    return [] if back is None else [back] if isinstance(back, str) else list(back)


def way_back(compiled: CompiledDefinition, node_instance: NodeInstance) -> Fresh | None:
    """Return the token that goes straight back; None: the execution's own edges decide."""
    way = way_of(node_instance)
    node = compiled.nodes.get(way[0]) if way else None
    if node is None:
        return None
    return Fresh(node, [node_instance.id], [], back=way[1:], late=node_instance.state.get(LATE))
