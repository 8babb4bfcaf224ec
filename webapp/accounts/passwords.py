"""Passwords: argon2id hashes, and the same work for a name that does not exist (spec 13)."""

from __future__ import annotations

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

MAX_PASSWORD_LENGTH = 1_024

# 19 MiB and two passes: what OWASP asks of argon2id at least. More memory would let a burst of sign-ins exhaust a
# small machine; a stored hash carries its own parameters, so these may rise later.
MEMORY_KIB = 19_456
PASSES = 2
LANES = 1


class Passwords:
    """Hashes and verifies passwords; one object for the process."""

    def __init__(self, *, memory_kib: int = MEMORY_KIB, passes: int = PASSES, lanes: int = LANES) -> None:
        self._hasher = PasswordHasher(time_cost=passes, memory_cost=memory_kib, parallelism=lanes)
        self._decoy = self._hasher.hash("the password of nobody")

    def hash(self, password: str) -> str:
        """Return the argon2id hash to store; the salt is inside it."""
        return self._hasher.hash(password)

    def verify(self, stored: str | None, password: str) -> bool:
        """Say whether the password is the stored one.

        Without a stored hash (no such account, or one that signs in otherwise) the answer is no, after the same work:
        the time an answer takes must not tell which names exist.
        """
        known = stored is not None and len(password) <= MAX_PASSWORD_LENGTH
        candidate = password[:MAX_PASSWORD_LENGTH]
        try:
            self._hasher.verify(stored if stored is not None else self._decoy, candidate)
        except (VerificationError, InvalidHashError):
            return False
        return known

    def outdated(self, stored: str) -> bool:
        """Say whether a stored hash was made with other parameters and should be made anew at the next sign-in."""
        return self._hasher.check_needs_rehash(stored)
