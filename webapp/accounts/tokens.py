"""API tokens: shown once, stored as a hash (spec 13)."""

from __future__ import annotations

import hashlib
import secrets
from typing import Final, NamedTuple

PREFIX: Final = "wpt_"
_RANDOM_BYTES = 32
_SHOWN_CHARACTERS = 6


class NewToken(NamedTuple):
    """A token just made: ``text`` for its owner's eyes once, ``prefix`` and ``token_hash`` for the store."""

    text: str
    prefix: str
    token_hash: str


def new_token() -> NewToken:
    """Make a token of 256 random bits; its first characters say whose scanner finds it in a leaked file."""
    text = PREFIX + secrets.token_urlsafe(_RANDOM_BYTES)
    return NewToken(text=text, prefix=text[: len(PREFIX) + _SHOWN_CHARACTERS], token_hash=hash_token(text))


def hash_token(text: str) -> str:
    """Return the stored form of a token: SHA-256 is enough, because 256 random bits cannot be guessed from it."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
