"""Secrets that must be read again, such as an endpoint's: encrypted with a key of the environment (spec 13)."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

SEALED = "sealed:1:"
"""What a sealed text begins with; anything else was stored before there was a box."""

_PURPOSE = b"waypost secrets 1"


class SecretBox:
    """Seals with the first of its keys and opens with any. Each text belongs to an owner, and opens for no other."""

    def __init__(self, keys: Sequence[str]) -> None:
        first, *others = (Fernet(_derived(key)) for key in dict.fromkeys(keys))
        self._newest = first
        self._all = MultiFernet([first, *others])

    def seal(self, text: str, owner: str) -> str:
        """Return a text as it may be stored."""
        return SEALED + self._newest.encrypt(f"{owner}\n{text}".encode()).decode()

    def open(self, stored: str, owner: str) -> str | None:
        """Return the text; None: no key opens it, or it is another's. What was stored in clear is returned as it is."""
        if not stored.startswith(SEALED):
            return stored
        try:
            found = self._all.decrypt(stored.removeprefix(SEALED)).decode()
        except (InvalidToken, ValueError):
            return None
        whose, _, text = found.partition("\n")
        return text if whose == owner else None

    def is_current(self, stored: str) -> bool:
        """Whether a text was sealed with the first key."""
        if not stored.startswith(SEALED):
            return False
        try:
            self._newest.decrypt(stored.removeprefix(SEALED))
        except (InvalidToken, ValueError):
            return False
        return True


def _derived(key: str) -> bytes:
    """Return a key of the right length; the setting may be any long text, and serves other purposes, too."""
    found = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE).derive(key.encode())
    return base64.urlsafe_b64encode(found)
