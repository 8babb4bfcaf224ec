"""Templates: text with ``{{ expression }}`` placeholders (spec 5.6)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from webapp.engine.expressions.compiler import Run, Scope
from webapp.engine.expressions.diagnostics import (
    BUDGET,
    UNCLOSED_PLACEHOLDER,
    Diagnostic,
    ExpressionError,
    Failure,
    expression_error,
    locate,
)
from webapp.engine.expressions.values import MAX_STEPS, MAX_TEXT_BYTES, charge, check_text, display

# Texts inside a placeholder hide braces. Every alternative matches wherever it is tried, so hostile input costs no
# backtracking: an unclosed text reaches to the end and leaves the placeholder unclosed.
_INSIDE = re.compile(
    r"""'(?:\\.|[^'\\])*+(?:'|\\?\Z)|"(?:\\.|[^"\\])*+(?:"|\\?\Z)|(?P<end>\}\})|[^'"}]++|\}""", re.DOTALL
)


class Placeholder(NamedTuple):
    """Where an expression stands in a template, without its braces."""

    start: int
    end: int


class Part(NamedTuple):
    """A piece of literal text and the placeholder behind it, if any."""

    literal: str
    run: Run | None
    offset: int


class CompiledTemplate:
    """A template ready to be rendered any number of times, from any thread."""

    __slots__ = ("_parts", "names", "text")

    def __init__(self, text: str, parts: tuple[Part, ...], names: frozenset[str]) -> None:
        self.text = text
        self.names = names
        """The root variables the template reads."""
        self._parts = parts

    def render(self, scope: Scope) -> str:
        """Return the text with every placeholder replaced; the whole rendering shares one budget (spec 5.7)."""
        pieces: list[str] = []
        steps = [MAX_STEPS]
        size = 0
        for literal, run, offset in self._parts:
            try:
                piece = "" if run is None else _render_one(run, scope, steps)
                size += len(literal) + len(piece)
                if size > MAX_TEXT_BYTES:
                    raise Failure(BUDGET, 0, {"limit": "text", "max": MAX_TEXT_BYTES})
            except (Failure, RecursionError) as failure:
                raise expression_error(self.text, failure, offset) from None
            pieces += (literal, piece)
        rendered = "".join(pieces)
        try:
            check_text(rendered, 0)
        except Failure as failure:
            raise expression_error(self.text, failure) from None
        return rendered


def _render_one(run: Run, scope: Scope, steps: list[int]) -> str:
    charge(steps, 1, 0)
    return display(run(scope, steps), steps, 0)


def placeholders(text: str) -> list[Placeholder]:
    """Return the placeholders of a template in order; raise ``Failure`` at a ``{{`` that is never closed.

    More than a rendering has steps for are refused as well.
    """
    found = []
    position = text.find("{{")
    while position >= 0:
        start = position + 2
        for match in _INSIDE.finditer(text, start):
            if match["end"]:
                found.append(Placeholder(start, match.start()))
                break
        else:
            raise Failure(UNCLOSED_PLACEHOLDER, position)
        if len(found) > MAX_STEPS:
            # It could never be rendered, and reading so many expressions would take a minute.
            raise Failure(BUDGET, position, {"limit": "steps", "max": MAX_STEPS})
        position = text.find("{{", match.end())
    return found


def compile_template(text: str, compile_text: Callable[[str], tuple[Run, frozenset[str]]]) -> CompiledTemplate:
    """Return *text* as a template, or raise one ``ExpressionError`` with the mistakes of all its placeholders."""
    parts = []
    names: set[str] = set()
    diagnostics: list[Diagnostic] = []
    position = 0
    try:
        found = placeholders(text)
    except Failure as failure:
        raise expression_error(text, failure) from None
    for start, end in found:
        try:
            run, read = compile_text(text[start:end])
        except Failure as failure:
            diagnostics += locate(text, failure, start)
        else:
            names |= read
            parts.append(Part(text[position : start - 2], run, start))
        position = end + 2
    if diagnostics:
        raise ExpressionError(diagnostics, text)
    parts.append(Part(text[position:], None, len(text)))
    return CompiledTemplate(text, tuple(parts), frozenset(names))


def check_template(text: str, failures_of: Callable[[str], list[Failure]]) -> list[Diagnostic]:
    """Return every mistake of a template; *failures_of* checks one placeholder's expression."""
    try:
        found = placeholders(text)
    except Failure as failure:
        return locate(text, failure)
    return [
        diagnostic
        for start, end in found
        for failure in failures_of(text[start:end])
        for diagnostic in locate(text, failure, start)
    ]
