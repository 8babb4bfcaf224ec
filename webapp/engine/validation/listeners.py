"""What a node's listeners may say (spec 10, Node listeners)."""

from __future__ import annotations

from webapp.engine.definitions import listeners as declared
from webapp.engine.definitions.model import Node
from webapp.engine.json_input import item_path, member_path
from webapp.engine.validation import findings as keys
from webapp.engine.validation.findings import Findings


def check_listeners(node: Node, path: str, findings: Findings) -> None:
    """Check that each is of a kind that there is, at a moment that there is, and that its texts are texts."""
    for index, listener in enumerate(node.listeners):
        where = item_path(member_path(path, "listeners"), index)
        kind, on = listener.get(declared.TYPE), listener.get(declared.ON)
        if kind != declared.NOTIFICATION:
            choices = [declared.NOTIFICATION]
            findings.error(
                member_path(where, declared.TYPE), keys.LISTENER_TYPE, node.id, value=_shown(kind), choices=choices
            )
        if on not in declared.OCCASIONS:
            choices = list(declared.OCCASIONS)
            findings.error(
                member_path(where, declared.ON), keys.LISTENER_OCCASION, node.id, value=_shown(on), choices=choices
            )
        for member in (declared.CHANNEL, declared.EXPRESSION):
            value = listener.get(member)
            # Without a channel there is a title; without a body there is nothing to tell.
            if not isinstance(value, str) and (value is not None or member == declared.EXPRESSION):
                findings.error(member_path(where, member), keys.LISTENER_TEXT, node.id, member=member)


def _shown(value: object) -> str:
    return value if isinstance(value, str) else ""
