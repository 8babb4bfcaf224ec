"""WeCom's robots of a group: Markdown with a link, and a mention by user id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webapp.channels.reasons import shortened_bytes
from webapp.channels.robots import Lay, Robot, fitting, handle_of, not_markdown, pieces, refused_among
from webapp.engine.notifications.model import ChannelKind, Endpoint
from webapp.engine.ports.channels import OutgoingMessage, Part
from webapp.engine.ports.http import HttpResponse

LONGEST_BYTES = 4096

_SPARE_BYTES = 296
"""For the mention and the line that tells of what did not fit."""

_SHORTEST_BODY = 60

_REFUSED = refused_among((40008, 40058, 44004, 45002, 93000))


class WeComChannel(Robot):
    """Posts to ``…/cgi-bin/webhook/send?key=…``; it knows no signature, the key is the secret."""

    kind = ChannelKind.WECOM

    def _document(self, message: OutgoingMessage) -> Mapping[str, Any]:
        laid, missing = fitting(pieces(message), LONGEST_BYTES - _SPARE_BYTES, self._lay(message))
        lines = [*laid, *([self._more(message, missing)] if missing else [])]
        handle = handle_of(message)
        if handle is not None:
            lines.append(f"<@{handle}>")
        return {"msgtype": "markdown", "markdown": {"content": "\n\n".join(lines)}}

    def _lay(self, message: OutgoingMessage) -> Lay:
        def lay(part: Part, room: int) -> str | None:
            title = shortened_bytes(not_markdown(part.title), room // 3)
            head = f"**{title}**\n"
            foot = f"\n[{self._text(message, 'channel.open')}]({part.link})" if part.link else ""
            left = room - len((head + foot).encode()) - len("\n\n")
            if left < min(_SHORTEST_BODY, len(part.body.encode())):
                return None
            return f"{head}{shortened_bytes(not_markdown(part.body), left)}{foot}"

        return lay

    def _receipt(self, endpoint: Endpoint, response: HttpResponse) -> str:
        return self._coded(endpoint, response, [("errcode", "errmsg")], _REFUSED)
