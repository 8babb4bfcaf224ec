"""Reasons that may be shown: what a failure says, without the secrets of the endpoint it is about (spec 10)."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qsl, unquote, urlsplit

from webapp.engine.notifications.escaping import one_line, shortened
from webapp.engine.notifications.model import Endpoint

LONGEST = 300
"""Characters of a reason."""

_HIDDEN = "***"
_SHORTEST = 3
"""A shorter value would be found in any text."""

_LONG_SEGMENT = 8
"""From this length on a part of a path may be a key, as in the addresses of robots."""


def masked(text: str, endpoint: Endpoint, person: str | None = None) -> str:
    """Return *text* in one line, cut, without the endpoint's secrets and the person's address in full."""
    if person and person in text:
        text = text.replace(person, masked_person(person))
    for secret in sorted(set(_secrets(endpoint)), key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    return shortened(one_line(text), LONGEST)


def masked_person(address: str) -> str:
    """Return a person's address or handle as it may be shown: ``a***@example.org``."""
    name, at, host = address.rpartition("@")
    return f"{name[:1]}{_HIDDEN}@{host}" if at else f"{address[:1]}{_HIDDEN}"


def shortened_bytes(text: str, size: int) -> str:
    """Return the text, cut with an ellipsis when it has more than *size* bytes in UTF-8."""
    data = text.encode()
    return text if len(data) <= size else f"{data[: max(0, size - 3)].decode(errors='ignore')}…"


def _secrets(endpoint: Endpoint) -> Iterator[str]:
    for found in _found(endpoint):
        for form in (found, unquote(found)):
            if len(form) >= _SHORTEST:
                yield form


def _found(endpoint: Endpoint) -> Iterator[str]:
    if endpoint.secret:
        yield endpoint.secret
    if not endpoint.address:
        return
    yield endpoint.address
    try:
        parts = urlsplit(endpoint.address)
        password = parts.password
    except ValueError:
        return
    # A key is often handed over as the name, without a password, or as a query without a name.
    if password or parts.username:
        yield password or parts.username or ""
    yield parts.query
    yield from (value for _, value in parse_qsl(parts.query))
    for member in parts.query.split("&"):
        name, _, value = member.partition("=")
        yield value or name
    yield from (segment for segment in parts.path.split("/") if len(segment) >= _LONG_SEGMENT)
