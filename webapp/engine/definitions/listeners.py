"""The listeners that a node may declare (spec 10, Node listeners).

``{"type": "notification", "on": "enter" | "leave", "channel": title, "expression": body}``
"""

from __future__ import annotations

TYPE = "type"
ON = "on"
CHANNEL = "channel"
EXPRESSION = "expression"

NOTIFICATION = "notification"
ENTER = "enter"
LEAVE = "leave"
OCCASIONS = (ENTER, LEAVE)

DEFAULT_TITLE = "node-listener"
"""The title of what a listener tells that names no channel."""

RECIPIENTS = "__listenerRecipients"
"""The variable that names whom listeners tell: a list of login names and groups, or one of them."""
