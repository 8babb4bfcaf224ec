"""What a node's timeout may do, and whom it may name (decision D14; spec 2.4: 22)."""

from __future__ import annotations

from webapp.engine.definitions.model import Node, NodeTimeoutAction
from webapp.engine.instances.bookmarks import SLOW_TIMEOUT_KEYS
from webapp.engine.json_input import member_path
from webapp.engine.validation import findings as keys
from webapp.engine.validation.findings import Findings

USER_TASK = "UserTask"
_OF_ALL = (NodeTimeoutAction.OUTCOME.value, NodeTimeoutAction.FAULT.value)


def check_timeout_action(node: Node, path: str, findings: Findings) -> None:
    """Check that the action is known, that the activity can take it, and that it has somebody to turn to."""
    action, where = node.timeout_action, member_path(path, "timeoutAction")
    choices = [each.value for each in NodeTimeoutAction]
    if action is not None and action not in choices:
        findings.error(where, keys.TIMEOUT_ACTION, node.id, value=action, choices=choices)
    elif action is not None and action not in _OF_ALL and node.activity_type != USER_TASK:
        type_, others = node.activity_type, list(_OF_ALL)
        findings.error(where, keys.TIMEOUT_ACTION_TYPE, node.id, action=action, type=type_, choices=others)
    where, targets = member_path(path, "timeoutTarget"), node.timeout_target or []
    if action in SLOW_TIMEOUT_KEYS and not any(name.strip() for name in targets):
        findings.error(where, keys.TIMEOUT_TARGET, node.id, action=action)
