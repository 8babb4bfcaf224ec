"""What people did earlier in an instance: who completed a node last, who has approved already (spec 4.20)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from webapp.engine.instances.model import NodeInstance, NodeStatus
from webapp.engine.tasks import signers as signing
from webapp.engine.tasks.signers import SignerState
from webapp.engine.tasks.user_tasks import ACTOR, HISTORY

_DONE = (NodeStatus.COMPLETED, NodeStatus.COMPENSATED)


def completed_by(executions: Sequence[NodeInstance], node_id: str) -> str | None:
    """Return who completed the latest completed execution of a node, or None: no person has.

    A substitute's decision counts as that of the person they stood in for. *executions* are by start, then number.
    """
    done = [one for one in executions if one.node_id == node_id and one.status in _DONE]
    for entry in reversed(done[-1].state.get(HISTORY, ()) if done else ()):
        if entry.get("action") == "complete":
            person = entry.get("onBehalfOf") or entry.get(ACTOR)
            return person if isinstance(person, str) else None
    return None


def approvers(executions: Iterable[NodeInstance]) -> frozenset[str]:
    """Return everybody who has approved a task of these executions."""
    return frozenset(
        signer.id
        for one in executions
        if signing.SIGNERS in one.state
        for signer in signing.load(one.state)
        if signer.state is SignerState.APPROVED
    )
