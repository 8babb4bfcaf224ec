"""Slack's incoming webhooks: blocks with a button, and a mention by member id."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from webapp.channels.posting import REFUSED_FOR_GOOD
from webapp.channels.robots import Robot, handle_of, headline, pieces
from webapp.engine.notifications.escaping import shortened
from webapp.engine.notifications.model import ChannelKind, Endpoint
from webapp.engine.ports.channels import OutgoingMessage
from webapp.engine.ports.http import HttpResponse

LONGEST_HEADER = 150
LONGEST_SECTION = 3000
LONGEST_LINK = 3000
MOST_BLOCKS = 50

_BLOCKS_OF_A_PART = 3
_SPARE_BLOCKS = 2
"""For the mention and the line that tells of what did not fit."""

_REFUSED = REFUSED_FOR_GOOD | {403, 404}
"""Slack answers so when the webhook was taken back or its channel is gone."""

_WORD = re.compile(r"[a-z_]{1,40}")


class SlackChannel(Robot):
    """Posts to ``https://hooks.slack.com/services/…``; it knows no signature, the address is the secret."""

    kind = ChannelKind.SLACK

    def _document(self, message: OutgoingMessage) -> Mapping[str, Any]:
        parts, handle = pieces(message), handle_of(message)
        blocks: list[dict[str, Any]] = []
        if handle is not None:
            blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": f"<@{handle}>"}})
        shown = parts[: (MOST_BLOCKS - _SPARE_BLOCKS) // _BLOCKS_OF_A_PART]
        for index, part in enumerate(shown):
            blocks.append({"type": "header", "text": _plain(part.title or "–", LONGEST_HEADER)})
            if part.body.strip():
                blocks.append({"type": "section", "text": _plain(part.body, LONGEST_SECTION)})
            if part.link is not None and len(part.link) <= LONGEST_LINK:
                label = _plain(self._text(message, "channel.open"), 75)
                button = {"type": "button", "action_id": f"open-{index}", "text": label, "url": part.link}
                blocks.append({"type": "actions", "elements": [{**button, "style": "primary"}]})
        if len(parts) > len(shown):
            more = _plain(self._more(message, len(parts) - len(shown)), LONGEST_SECTION)
            blocks.append({"type": "section", "text": more})
        return {"text": _escaped(headline(message, parts, LONGEST_HEADER)), "blocks": blocks}

    def _receipt(self, endpoint: Endpoint, response: HttpResponse) -> str:
        word = response.body[:100].decode(errors="replace").strip()
        said = word if _WORD.fullmatch(word) else ""
        return f"{self._posting.accepted(endpoint, response, _REFUSED, said)} {said}".strip()


def _plain(text: str, length: int) -> dict[str, Any]:
    return {"type": "plain_text", "text": shortened(text, length), "emoji": False}


def _escaped(text: str) -> str:
    """Return text in which Slack finds no mention and no link."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
