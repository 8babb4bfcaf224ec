"""DingTalk's robots of a group: an action card with the link, or Markdown where somebody is to be mentioned."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from webapp.channels.reasons import shortened_bytes
from webapp.channels.robots import Robot, fitting, handle_of, headline, not_markdown, pieces, refused_among
from webapp.engine.notifications.model import ChannelKind, Endpoint
from webapp.engine.ports.channels import OutgoingMessage, Part
from webapp.engine.ports.http import HttpResponse

LONGEST_BYTES = 18_000
"""Of the text: a whole message may have 20,000."""

LONGEST_TITLE = 100

_PHONE = re.compile(r"(\+[0-9]{1,3}-)?[0-9]{6,15}")

_REFUSED = refused_among(
    (
        *(40035, 43004, 300001, 300005, 400013, 400101, 400102, 400105, 400106),
        310000,  # its safety settings: the signature, an address or a keyword
        *(430101, 430102, 430103, 430104),  # the contents
    )
)


def signed(address: str, secret: str, milliseconds: int) -> str:
    """Return the robot's address with the time and the signature that it asks for."""
    digest = hmac.new(secret.encode(), f"{milliseconds}\n{secret}".encode(), hashlib.sha256).digest()
    sign = quote(base64.b64encode(digest), safe="")
    return f"{address}{'&' if '?' in address else '?'}timestamp={milliseconds}&sign={sign}"


class DingTalkChannel(Robot):
    """Posts to ``…/robot/send?access_token=…``; the secret is that of its signature, if it asks for one."""

    kind = ChannelKind.DINGTALK

    def _url(self, endpoint: Endpoint) -> str:
        if not endpoint.secret:
            return endpoint.address
        return signed(endpoint.address, endpoint.secret, int(self._posting.clock.now().timestamp() * 1000))

    def _document(self, message: OutgoingMessage) -> Mapping[str, Any]:
        parts, handle = pieces(message), handle_of(message)
        title = headline(message, parts, LONGEST_TITLE)
        link = parts[0].link if len(parts) == 1 else None
        if link is not None and handle is None:
            text = self._markdown(message, [Part(title=parts[0].title, body=parts[0].body)])
            button = self._text(message, "channel.open")
            card = {"title": title, "text": text, "btnOrientation": "0", "singleTitle": button, "singleURL": link}
            return {"msgtype": "actionCard", "actionCard": card}
        text = self._markdown(message, parts)
        if handle is None:
            return {"msgtype": "markdown", "markdown": {"title": title, "text": text}}
        phones = [handle] if _PHONE.fullmatch(handle) else []
        return {
            "msgtype": "markdown",
            "markdown": {"title": title, "text": f"{text}\n\n@{handle}"},
            "at": {"atMobiles": phones, "atUserIds": [] if phones else [handle], "isAtAll": False},
        }

    def _markdown(self, message: OutgoingMessage, parts: Sequence[Part]) -> str:
        def lay(part: Part, room: int) -> str | None:
            head = f"#### {not_markdown(part.title)}\n\n"
            foot = f"\n\n[{self._text(message, 'channel.open')}]({part.link})" if part.link else ""
            left = room - len((head + foot).encode())
            return f"{head}{_lines(shortened_bytes(part.body, left // 2))}{foot}" if left > 0 else None

        laid, missing = fitting(parts, LONGEST_BYTES, lay)
        return "\n\n".join([*laid, *([self._more(message, missing)] if missing else [])])

    def _receipt(self, endpoint: Endpoint, response: HttpResponse) -> str:
        return self._coded(endpoint, response, [("errcode", "errmsg")], _REFUSED)


def _lines(text: str) -> str:
    """Return text whose line breaks are some in Markdown too."""
    return not_markdown(text).replace("\n", "\n\n")
