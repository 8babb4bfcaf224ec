"""Feishu's robots of a group (Lark's as well): a card with a button, and a mention by open id."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

from webapp.channels.reasons import shortened_bytes
from webapp.channels.robots import Robot, handle_of, headline, pieces
from webapp.engine.notifications.model import ChannelKind, Endpoint
from webapp.engine.ports.channels import OutgoingMessage, Part
from webapp.engine.ports.http import HttpResponse

LONGEST_BYTES = 18_000
"""Of all texts: a whole request may have 20 KB."""

LONGEST_TITLE = 100

_FRAME_BYTES = 400
"""What a part's elements take beside its texts."""

_SHORTEST_BODY = 60
_REFUSED = frozenset((19001, 19002, 19003, 19021, 19022, 19024, 9499))


def signature(secret: str, seconds: int) -> str:
    """Return the signature of a moment: time and secret are the key, the signed text is empty."""
    digest = hmac.new(f"{seconds}\n{secret}".encode(), b"", hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


class FeishuChannel(Robot):
    """Posts to ``…/open-apis/bot/v2/hook/…``; the secret is that of its signature, if it asks for one."""

    kind = ChannelKind.FEISHU

    def _document(self, message: OutgoingMessage) -> Mapping[str, Any]:
        parts, secret = pieces(message), message.endpoint.secret
        document: dict[str, Any] = {"msg_type": "interactive", "card": self._card(message, list(parts))}
        if secret:
            seconds = int(self._posting.clock.now().timestamp())
            document = {"timestamp": str(seconds), "sign": signature(secret, seconds), **document}
        return document

    def _card(self, message: OutgoingMessage, parts: list[Part]) -> dict[str, Any]:
        title = headline(message, parts, LONGEST_TITLE)
        elements: list[dict[str, Any]] = []
        handle = handle_of(message)
        if handle is not None:
            named = "email" if "@" in handle else "id"
            elements.append(_text("lark_md", f"<at {named}={handle}></at>"))
        room = LONGEST_BYTES
        for index, part in enumerate(parts):
            shown = part.title if len(parts) > 1 or part.title != title else ""
            needed = len(f"{shown}{part.link or ''}".encode()) + _FRAME_BYTES
            if room - needed < min(_SHORTEST_BODY, len(part.body.encode())):
                elements.append(_text("plain_text", self._more(message, len(parts) - index)))
                break
            body = shortened_bytes(part.body, room - needed)
            room -= needed + len(body.encode())
            elements += self._elements(message, part.link, "\n".join(line for line in (shown, body) if line))
        return {
            "config": {"wide_screen_mode": True},
            "header": {"title": {"tag": "plain_text", "content": title}, "template": "blue"},
            "elements": elements,
        }

    def _elements(self, message: OutgoingMessage, link: str | None, text: str) -> list[dict[str, Any]]:
        elements = [_text("plain_text", text)] if text else []
        if link is not None:
            label = {"tag": "plain_text", "content": self._text(message, "channel.open")}
            button = {"tag": "button", "text": label, "url": link, "type": "primary"}
            elements.append({"tag": "action", "actions": [button]})
        return elements

    def _receipt(self, endpoint: Endpoint, response: HttpResponse) -> str:
        return self._coded(endpoint, response, [("code", "msg"), ("StatusCode", "StatusMessage")], _refused)


def _refused(code: int, said: str) -> bool:
    # One code for a body that it cannot read and for too many messages.
    return code in _REFUSED and "too many" not in said.lower()


def _text(tag: str, content: str) -> dict[str, Any]:
    return {"tag": "div", "text": {"tag": tag, "content": content}}
