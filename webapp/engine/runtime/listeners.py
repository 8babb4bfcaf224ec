"""What the listeners of a node have to say when it is entered or left (spec 10, Node listeners).

Nothing is raised here: in the middle of a wave a failure would look like the node's. It goes with the message to
whoever is about to write the wave, and fails the command.
"""

from __future__ import annotations

from webapp.engine.activities.compiled import CompiledNode
from webapp.engine.definitions.listeners import LEAVE, RECIPIENTS
from webapp.engine.errors import WorkflowError
from webapp.engine.instances.model import NodeInstance, NodeStatus
from webapp.engine.notifications.recipients import NodeMessage
from webapp.engine.numbers import JsonValue
from webapp.engine.runtime.effects import WaveState


def left(wave: WaveState, node: CompiledNode, node_instance: NodeInstance) -> None:
    """Hear the listeners of a node that has just come to its end, if it has."""
    if node_instance.status is NodeStatus.COMPLETED:
        hear(wave, node, node_instance, LEAVE)


def hear(wave: WaveState, node: CompiledNode, node_instance: NodeInstance, on: str) -> None:
    """Keep what the node's listeners say to those whom the variable names; to nobody they say nothing."""
    recipients = _recipients(wave.variables.values.get(RECIPIENTS))
    if not recipients:
        return
    for one in node.listeners.get(on, ()):
        body: JsonValue = ""
        failure: Exception | None = None
        try:
            body = one.body(wave.variables.scope)
        except WorkflowError as error:
            failure = error
        message = NodeMessage(
            recipients=recipients,
            title=one.title,
            body=str(body),
            node_id=node.id,
            node_instance_id=node_instance.id,
            listener=one.number,
            occurrence=node_instance.try_count,
            failure=failure,
        )
        wave.node_messages.append(message)


def _recipients(value: JsonValue) -> tuple[str, ...]:
    named = [value] if isinstance(value, str) else value if isinstance(value, list) else ()
    names = (name.strip() for name in named if isinstance(name, str))
    return tuple(dict.fromkeys(name for name in names if name))
