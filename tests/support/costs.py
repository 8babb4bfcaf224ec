"""What a call may cost, in this process's own time: a busy machine does not count."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Fail when the block takes more of the processor: *seconds*, far more than it needs, far less than a wrong way."""
    before = time.process_time()
    yield
    spent = time.process_time() - before
    assert spent < seconds, f"{spent:.1f} s of the processor, {seconds} at most"
