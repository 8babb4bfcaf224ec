"""A channel that keeps what it is given, and fails, hangs or waits as a test wants."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from webapp.engine.cancellation import CancellationToken
from webapp.engine.errors import Problem
from webapp.engine.notifications.model import ChannelKind, Endpoint
from webapp.engine.ports.channels import OutgoingMessage, SendingFailed


@dataclass
class FakeChannel:
    """Takes every message, unless *answer* raises; *taken* is in the order in which it took them."""

    kind: ChannelKind = ChannelKind.WEBHOOK
    ready: bool = True
    answer: Callable[[OutgoingMessage], str | None] = lambda message: f"receipt of {message.delivery_id}"
    problems: Sequence[Problem] = ()
    asked: list[OutgoingMessage] = field(default_factory=list)
    taken: list[OutgoingMessage] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, endpoint: Endpoint) -> Sequence[Problem]:
        """Return the problems that the test gave."""
        return self.problems

    def send(self, message: OutgoingMessage, cancellation: CancellationToken) -> str | None:
        """Ask the test."""
        with self._lock:
            self.asked.append(message)
        receipt = self.answer(message)
        with self._lock:
            self.taken.append(message)
        return receipt


class HangingChannel(FakeChannel):
    """Waits until its time is over, and says that nobody answered."""

    def send(self, message: OutgoingMessage, cancellation: CancellationToken) -> str | None:
        """Wait for the token."""
        self.asked.append(message)
        waiting = threading.Event()
        while not cancellation.is_set:
            waiting.wait(0.005)
        raise SendingFailed("nobody answered")


def failing(
    reason: str = "HTTP 503", *, permanent: bool = False, retry_after: float | None = None
) -> Callable[[OutgoingMessage], str | None]:
    """Return an answer that takes nothing."""

    def answer(message: OutgoingMessage) -> str | None:
        raise SendingFailed(reason, permanent=permanent, retry_after=retry_after)

    return answer
