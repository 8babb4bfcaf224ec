"""A line that tells how far a long command has come: rewritten on a terminal, now and then a new one elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

import click

_SECONDS_ON_TERMINAL = 0.2
_SECONDS_ELSEWHERE = 10.0
_WIDTH = 30


class Progress:
    """Shows steps with a bar on stderr."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._step = ""
        self._began = self._shown = self._told = time.monotonic()
        self._open = False

    def __enter__(self) -> Self:
        return self

    def tell(self, step: str, done: int, total: int) -> None:
        """Show that *done* of *total* are done of a step."""
        now = time.monotonic()
        if step != self._step:
            self._end_line()
            # A step is told of when its first part is done: it began when the one before it ended.
            self._step, self._began, self._shown = step, self._told, 0.0
        self._told = now
        pause = _SECONDS_ON_TERMINAL if self._terminal else _SECONDS_ELSEWHERE
        if now - self._shown < pause and done < total:
            return
        self._shown = now
        part = done / total if total else 1.0
        bar = "#" * int(part * _WIDTH)
        rate = done / (now - self._began) if now > self._began else 0.0
        line = f"{step:<16} [{bar:<{_WIDTH}}] {part:4.0%} {done:,}/{total:,} ({rate:,.0f} a second)"
        if self._terminal:
            click.echo(f"\r{line}", err=True, nl=False)
            self._open = True
        else:
            click.echo(line, err=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_line()

    def _end_line(self) -> None:
        if self._open:
            click.echo("", err=True)
            self._open = False
