"""Addresses and handles as they may be shown: enough to recognise them, too little to use them (spec 10, Privacy)."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from webapp.engine.notifications.model import ChannelKind

MASK: Final = "***"
_ROBOTS = (ChannelKind.DINGTALK, ChannelKind.WECOM, ChannelKind.FEISHU, ChannelKind.SLACK)
_KEY_IN_PATH = (ChannelKind.FEISHU, ChannelKind.SLACK)
_BROKERS = (ChannelKind.AMQP, ChannelKind.REDIS)
_QUERY_MEMBER = re.compile(r"([^&=]*=)?[^&]*")


def masked_handle(address: str | None) -> str | None:
    """Return a person's address or handle with little more than its beginning; of e-mail the host stays."""
    if not address:
        return address
    name, at, host = address.rpartition("@")
    if not at or not name:
        return address[:2] + MASK if len(address) > 4 else MASK
    return f"{name[:1]}{MASK}@{host}"


def masked_address(kind: ChannelKind, address: str) -> str:
    """Return an endpoint's URL without what opens it: a password, a query's values, the end of a robot's path.

    What is masked stays as it is when it is masked again.
    """
    try:
        parts = urlsplit(address)
    except ValueError:
        return MASK
    path = parts.path.rstrip("/")
    if path and (kind in _KEY_IN_PATH or (kind in _ROBOTS and not parts.query)):
        path = f"{path.rpartition('/')[0]}/{MASK}"
    else:
        path = parts.path
    query = _QUERY_MEMBER.sub(_masked_member, parts.query)
    return urlunsplit((parts.scheme, _masked_host(kind, parts.netloc), path, query, ""))


def _masked_host(kind: ChannelKind, netloc: str) -> str:
    login, at, host = netloc.rpartition("@")
    if not at:
        return netloc
    name, colon, password = login.partition(":")
    if not password and kind not in _BROKERS:
        # A key is often handed over as the name, without a password.
        name = MASK
    return f"{name}{f':{MASK}' if colon else ''}@{host}"


def _masked_member(found: re.Match[str]) -> str:
    return f"{found[1] or ''}{MASK}" if found[0] else ""
