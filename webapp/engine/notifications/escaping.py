"""How a text is made safe for where it goes (spec 10, Templates): a page or mail, a subject, a chat, a link.

A notice's title and body are kept as plain text; whoever puts them somewhere escapes them there, once.
"""

from __future__ import annotations

import html
import re

_HIDDEN = "\u202a-\u202e\u2066-\u2069"
"""Marks that turn the direction of all that follows: they would show another text than the one that stands there."""

_IN_A_LINE = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_IN_A_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")
_BREAK = re.compile("\r\n|[\r\x85\u2028\u2029]")
_TURNING = re.compile(f"[{_HIDDEN}]")
_LONE = re.compile("[\ud800-\udfff]")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def one_line(text: str) -> str:
    """Return a text for a title, a mail's subject or a header: one line, no space at its ends.

    Each run of white space, line breaks and control characters becomes one space.
    """
    if text.isprintable() and "  " not in text:
        return text.strip()
    return _IN_A_LINE.sub(" ", _visible(text)).strip()


def plain_text(text: str) -> str:
    """Return a text of several lines for a body or a chat: line breaks as ``\\n``, tabs stay, other control characters
    become a space."""
    if text.replace("\n", "").isprintable():
        return text
    return _IN_A_TEXT.sub(" ", _BREAK.sub("\n", _visible(text)))


def html_text(text: str) -> str:
    """Return a text for HTML, between tags and in quoted attributes; line breaks stay what they are."""
    return html.escape(plain_text(text), quote=True)


def link_part(text: str) -> str:
    """Return a text as one part of a link (a segment of its path, a value of its query), percent-encoded (RFC 3986)."""
    data = text.encode("utf-8", "replace")
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in data)


def shortened(text: str, most: int) -> str:
    """Return a text of at most *most* characters, its last one an ellipsis if it was longer."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _visible(text: str) -> str:
    """Return a text without marks that turn its direction; a half of a character, which nothing keeps, is replaced."""
    return _LONE.sub("\ufffd", _TURNING.sub("", text))
