"""What is wrong with an expression, and where: the error that leaves this package and the one used inside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from webapp.engine.errors import VALIDATION_EXPRESSION, Problem, WorkflowError

MAX_LENGTH = 4000  # UTF-16 units
MAX_DEPTH = 64

SYNTAX = "workflow.expression.syntax"
TOO_LONG = "workflow.expression.too_long"
TOO_DEEP = "workflow.expression.too_deep"
UNKNOWN_NAME = "workflow.expression.unknown_name"
UNKNOWN_FUNCTION = "workflow.expression.unknown_function"
ARITY = "workflow.expression.arity"
TYPE = "workflow.expression.type"
RANGE = "workflow.expression.range"
BUDGET = "workflow.expression.budget"

# Special cases of the keys above: a text that names the mistake needs a key of its own.
EMPTY = "workflow.expression.syntax.empty"
ENDS_EARLY = "workflow.expression.syntax.end"
BAD_NUMBER = "workflow.expression.syntax.number"
UNCLOSED_TEXT = "workflow.expression.syntax.text"
UNCLOSED_PLACEHOLDER = "workflow.expression.syntax.placeholder"
NOT_A_CONDITION = "workflow.expression.type.condition"
NOT_A_NUMBER = "workflow.expression.type.number"
NOT_A_DATE = "workflow.expression.type.date"
DIVISION_BY_ZERO = "workflow.expression.range.zero"
INDEX_RANGE = "workflow.expression.range.index"
DIGITS_RANGE = "workflow.expression.range.digits"

KEYS = (
    SYNTAX,
    TOO_LONG,
    TOO_DEEP,
    UNKNOWN_NAME,
    UNKNOWN_FUNCTION,
    ARITY,
    TYPE,
    RANGE,
    BUDGET,
    EMPTY,
    ENDS_EARLY,
    BAD_NUMBER,
    UNCLOSED_TEXT,
    UNCLOSED_PLACEHOLDER,
    NOT_A_CONDITION,
    NOT_A_NUMBER,
    NOT_A_DATE,
    DIVISION_BY_ZERO,
    INDEX_RANGE,
    DIGITS_RANGE,
)


class Diagnostic(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One mistake: message key, its arguments, and the place; line and column count from 1, columns in UTF-16 units."""

    key: str
    params: dict[str, Any] = {}
    line: int = 1
    column: int = 1

    def problem(self, path: str) -> Problem:
        """Return this mistake as a problem of the input at *path*."""
        return Problem(path=path, key=self.key, params=self.params, line=self.line, column=self.column)


class ExpressionError(WorkflowError):
    """An expression or template that cannot be read or evaluated (spec 5.5); never any other exception leaves."""

    code = VALIDATION_EXPRESSION

    def __init__(self, diagnostics: Sequence[Diagnostic], text: str) -> None:
        self.diagnostics = tuple(diagnostics)
        self.text = text
        first = self.diagnostics[0]
        super().__init__(
            first.key, params=first.params, problems=[diagnostic.problem("text") for diagnostic in self.diagnostics]
        )


class Failure(Exception):
    """Internal: a mistake at a code-point offset, with the others found in the same pass.

    The evaluator turns it into an ``ExpressionError``.
    """

    def __init__(
        self, key: str, at: int, params: Mapping[str, Any] | None = None, others: Sequence[Failure] = ()
    ) -> None:
        self.key = key
        self.at = at
        self.params = dict(params or {})
        self.others = tuple(others)
        super().__init__(key)


def utf16_length(text: str) -> int:
    """Return the length of *text* in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def locate(text: str, failure: Failure, offset: int = 0) -> list[Diagnostic]:
    """Return *failure* and its others as diagnostics of the whole *text*, *offset* code points further on."""
    return [_diagnostic(text, one, min(one.at + offset, len(text))) for one in (failure, *failure.others)]


def _diagnostic(text: str, failure: Failure, at: int) -> Diagnostic:
    line_start = text.rfind("\n", 0, at) + 1
    return Diagnostic(
        key=failure.key,
        params=failure.params,
        line=text.count("\n", 0, at) + 1,
        column=utf16_length(text[line_start:at]) + 1,
    )


def expression_error(text: str, failure: Failure | RecursionError, offset: int = 0) -> ExpressionError:
    """Return what leaves this package; a stack too small for a deep expression is a failure like any other."""
    if isinstance(failure, RecursionError):
        failure = Failure(TOO_DEEP, 0, {"max": MAX_DEPTH})
    return ExpressionError(locate(text, failure, offset), text)
