"""Addresses and handles as they may be shown: enough to recognise them, too little to use them (spec 10, Privacy)."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from webapp.engine.notifications.model import ChannelKind

MASK: Final = "***"
_ROBOTS = (ChannelKind.DINGTALK, ChannelKind.WECOM, ChannelKind.FEISHU, ChannelKind.SLACK)
_QUERY_VALUE = re.compile(r"=[^&]*")


def masked_handle(address: str | None) -> str | None:
    """Return a person's address or handle with little more than its beginning; of e-mail the host stays."""
    if not address:
        return address
    name, at, host = address.rpartition("@")
    if not at or not name:
        return address[:2] + MASK if len(address) > 4 else MASK
    return f"{name[:1]}{MASK}@{host}"


def masked_address(kind: ChannelKind, address: str) -> str:
    """Return an endpoint's URL without what opens it: a password, a query's values, the end of a robot's path."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return MASK
    user, at, host = parts.netloc.rpartition("@")
    netloc = f"{user.partition(':')[0]}:{MASK}@{host}" if at and ":" in user else parts.netloc
    path = parts.path
    if kind in _ROBOTS and path.rpartition("/")[2] and not parts.query:
        path = f"{path.rpartition('/')[0]}/{MASK}"
    query = _QUERY_VALUE.sub(f"={MASK}", parts.query)
    return urlunsplit((parts.scheme, netloc, path, query, ""))
