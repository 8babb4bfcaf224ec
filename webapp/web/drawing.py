"""The diagram of a request: its definition and how each step stands, as the viewer reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from webapp.engine.numbers import encode
from webapp.services.views import InstanceOverview, NodeState
from webapp.web.formats import Text, duration


@dataclass(frozen=True)
class Drawing:
    """A definition as JSON text, and the states to paint on it."""

    definition: str
    states: dict[str, Any]


def drawing_of(overview: InstanceOverview, now: Callable[[], datetime], text: Text) -> Drawing:
    """Return the drawing of an instance."""
    nodes = {
        node_id: {"state": state.state, "count": state.count, "label": _label(state, now(), text)}
        for node_id, state in overview.node_states.items()
    }
    return Drawing(
        definition=encode(overview.definition).decode(),
        states={"nodes": nodes, "transitions": overview.taken_transition_ids},
    )


def _label(state: NodeState, now: datetime, text: Text) -> str:
    """Return the fact on a node's count pill: how far, how often, or for how long."""
    if state.arrived is not None and state.expected:
        return text("ui.diagram.of", done=state.arrived, total=state.expected)
    if state.signers_total and state.signers_total > 1:
        return text("ui.diagram.of", done=state.signers_done or 0, total=state.signers_total)
    if state.try_count > 1:
        return text("ui.diagram.tries", count=state.try_count)
    waited = now - state.since if state.since is not None else timedelta()
    if state.state == "waiting" and waited >= timedelta(minutes=1):
        return duration(waited, text)
    return text("ui.diagram.times", count=state.count) if state.count > 1 else ""
