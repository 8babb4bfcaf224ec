"""Nodes that the poller runs, so that nobody waits for a slow call (spec 3.22)."""

from __future__ import annotations

from webapp.engine.activities.api import BookmarkRequest
from webapp.engine.instances.bookmarks import BACKGROUND_KEY, BookmarkKind
from webapp.engine.instances.model import NodeInstance, NodeStatus
from webapp.engine.runtime.effects import WaveState

REASON = "reason"
BACKGROUND = "background"


def leave(wave: WaveState, node_instance: NodeInstance) -> None:
    """Have a node that a token has just reached wait for the poller: nothing ran yet."""
    node_instance.try_count = 0
    leave_again(wave, node_instance)


def leave_again(wave: WaveState, node_instance: NodeInstance) -> None:
    """Have a node wait for the poller, due now; its run is one more attempt."""
    node_instance.status = NodeStatus.SUSPENDED
    node_instance.fault = node_instance.ended_at = None
    request = BookmarkRequest(
        kind=BookmarkKind.RETRY, key=BACKGROUND_KEY, due_at=wave.now, payload={REASON: BACKGROUND}
    )
    wave.add_bookmark(node_instance, request)
