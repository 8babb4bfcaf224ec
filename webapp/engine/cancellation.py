"""Cancellation: a token tells that somebody does not want the result any more (spec 3.22, 4.18).

A token is asked, it never interrupts: long work looks at it now and then.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime, timedelta

from webapp.engine.clock import Clock
from webapp.engine.errors import OperationCancelled


class CancellationToken(ABC):
    """Set once, and then for good."""

    @property
    @abstractmethod
    def is_set(self) -> bool:
        """Whether the work may stop."""

    def check(self) -> None:
        """Return at once while the token is not set. :raises OperationCancelled: it is."""
        if self.is_set:
            raise OperationCancelled("the operation was cancelled")


class Cancellation(CancellationToken):
    """A token that its owner sets, from whatever thread."""

    def __init__(self) -> None:
        self._set = False

    @property
    def is_set(self) -> bool:
        """Whether ``set`` was called."""
        return self._set

    def set(self) -> None:
        """Tell that nobody wants the result."""
        self._set = True


class Deadline(CancellationToken):
    """Set when the clock has passed an instant; ``seconds`` count from the making."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._at: datetime = clock.now() + timedelta(seconds=seconds)

    @property
    def is_set(self) -> bool:
        """Whether the time is over."""
        return self._clock.now() >= self._at


class AnyOf(CancellationToken):
    """Set as soon as one of several tokens is."""

    def __init__(self, *tokens: CancellationToken) -> None:
        self._tokens = tokens

    @property
    def is_set(self) -> bool:
        """Whether one of them is set."""
        return any(token.is_set for token in self._tokens)
