"""Where the time of one command goes: statements, commits, leases, and the rest, which is Python."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine.default import DefaultDialect


@dataclass
class Breakdown:
    """Seconds and counts by kind of work."""

    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, kind: str, seconds: float) -> None:
        """Note a piece of work."""
        self.seconds[kind] += seconds
        self.counts[kind] += 1


def break_down(work: Callable[[], None], times: int) -> str:
    """Do *work* and return a line that says where its time went, in milliseconds an operation."""
    with _watched() as found:
        started, busy = time.perf_counter(), time.process_time()
        for _ in range(times):
            work()
        total, busy = time.perf_counter() - started, time.process_time() - busy
    parts = [
        f"{kind} {seconds / times * 1000:.2f} ms ({found.counts[kind] / times:.1f})"
        for kind, seconds in sorted(found.seconds.items())
    ]
    rest = total - sum(found.seconds.values())
    parts.append(f"Python {rest / times * 1000:.2f} ms")
    return f"{total / times * 1000:.2f} ms ({busy / times * 1000:.2f} of this process's CPU): {', '.join(parts)}"


@contextmanager
def _watched() -> Iterator[Breakdown]:
    """Time every statement and commit of every engine in the process."""
    found = Breakdown()
    began: dict[int, float] = {}

    def before(connection: sa.Connection, _cursor: Any, statement: str, *_rest: Any) -> None:
        began[id(connection)] = time.perf_counter()

    def after(connection: sa.Connection, _cursor: Any, statement: str, *_rest: Any) -> None:
        found.add(_kind(statement), time.perf_counter() - began.pop(id(connection)))

    commit = DefaultDialect.do_commit

    def timed_commit(dialect: DefaultDialect, connection: Any) -> None:
        started = time.perf_counter()
        commit(dialect, connection)  # type: ignore[no-untyped-call]  # SQLAlchemy leaves it untyped
        found.add("commits", time.perf_counter() - started)

    sa.event.listen(sa.Engine, "before_cursor_execute", before)
    sa.event.listen(sa.Engine, "after_cursor_execute", after)
    DefaultDialect.do_commit = timed_commit  # type: ignore[method-assign]  # the event 'commit' comes before it only
    try:
        yield found
    finally:
        DefaultDialect.do_commit = commit  # type: ignore[method-assign]  # put back
        sa.event.remove(sa.Engine, "before_cursor_execute", before)
        sa.event.remove(sa.Engine, "after_cursor_execute", after)


def _kind(statement: str) -> str:
    text = statement.lstrip().lower()
    if text.startswith("commit"):
        return "commits"
    if "leases" in text:
        return "leases"
    return "reads" if text.startswith(("select", "with")) else "writes"
