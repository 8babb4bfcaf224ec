"""The evaluator: compiles once, caches by exact text, and lets nothing but ``ExpressionError`` out (spec 5.5)."""

from __future__ import annotations

from collections.abc import Callable, Container
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import TypeVar

from webapp.engine.clock import Clock
from webapp.engine.expressions.arithmetic import kind_of
from webapp.engine.expressions.checks import call_failures, condition_failures, name_failures, root_names
from webapp.engine.expressions.compiler import Run, Scope, compile_tree
from webapp.engine.expressions.diagnostics import NOT_A_CONDITION, Diagnostic, Failure, expression_error, locate
from webapp.engine.expressions.fast import WORTH_AFTER, Quick, quick_condition, quick_value
from webapp.engine.expressions.parser import parse
from webapp.engine.expressions.syntax import Node
from webapp.engine.expressions.templates import CompiledTemplate, check_template, compile_template
from webapp.engine.expressions.values import MAX_STEPS, to_json
from webapp.engine.numbers import JsonValue

T = TypeVar("T")


class TextKind(StrEnum):
    """What a text is meant to be."""

    EXPRESSION = "expression"
    CONDITION = "condition"
    TEMPLATE = "template"


class CompiledExpression:
    """An expression ready to be evaluated any number of times, from any thread."""

    __slots__ = ("_now", "_runs", "condition", "evaluate", "names", "root", "run", "text")

    def __init__(self, text: str, root: Node, run: Run, now: Callable[[], datetime]) -> None:
        self._now = now
        self._runs = 0
        self.text = text
        self.root = root
        """The syntax tree, for checks that follow: parsing costs a hundred times as much as walking it."""
        self.names = root_names(root)
        """The root variables the expression may read."""
        self.run = run
        """The closure itself, for templates."""
        self.evaluate: Callable[[Scope], JsonValue] = self._first_evaluations
        """Return the value as JSON; None is *no value*. Raise ``ExpressionError`` for every failure."""
        self.condition: Callable[[Scope], bool] = self._first_conditions
        """Return the value of a condition; anything but true and false is an error, null too (spec 5.5)."""

    def _first_evaluations(self, scope: Scope) -> JsonValue:
        """Run by closures, and count: what turns out to be run often gets a function; two threads make equal ones."""
        self._runs += 1
        if self._runs >= WORTH_AFTER:
            quick = quick_value(self.root, self._now)
            self.evaluate = self._evaluate if quick is None else partial(self._evaluate_by, quick)
            return self.evaluate(scope)
        return self._evaluate(scope)

    def _first_conditions(self, scope: Scope) -> bool:
        self._runs += 1
        if self._runs >= WORTH_AFTER:
            self.condition = quick_condition(self.root, self._now, self._condition)
            return self.condition(scope)
        return self._condition(scope)

    def _evaluate_by(self, quick: Quick, scope: Scope) -> JsonValue:
        try:
            return to_json(quick(scope))
        except Exception:
            # Whatever it was, the closures know the rules in full.
            return self._evaluate(scope)

    def _evaluate(self, scope: Scope) -> JsonValue:
        try:
            return to_json(self.run(scope, [MAX_STEPS]))
        except (Failure, RecursionError) as failure:
            raise expression_error(self.text, failure) from None

    def _condition(self, scope: Scope) -> bool:
        try:
            value = self.run(scope, [MAX_STEPS])
            if value is True or value is False:
                return value
            raise Failure(NOT_A_CONDITION, 0, {"found": kind_of(value)})
        except (Failure, RecursionError) as failure:
            raise expression_error(self.text, failure) from None


class ExpressionEvaluator:
    """Evaluates expressions, conditions and templates; one instance serves all threads.

    A cache holds what was compiled, by exact text; at ``cache_size`` entries it is cleared whole. What cannot be
    compiled is not kept.
    """

    def __init__(self, clock: Clock, cache_size: int = 10_000) -> None:
        self._clock = clock
        self._cache_size = cache_size
        # Plain dicts: reading, storing and clearing are atomic, and two threads that compile one text store equals.
        self._expressions: dict[str, CompiledExpression] = {}
        self._templates: dict[str, CompiledTemplate] = {}

    def evaluate(self, text: str, variables: Scope) -> JsonValue:
        """Return the value of an expression over *variables*; None is *no value*."""
        return self.compile(text).evaluate(variables)

    def condition(self, text: str, variables: Scope) -> bool:
        """Return the value of a condition over *variables*."""
        found = self._expressions.get(text)
        return (self.compile(text) if found is None else found).condition(variables)

    def render(self, text: str | None, variables: Scope) -> str | None:
        """Return a template with its placeholders replaced; null and texts without ``{{`` come back as they are."""
        if text is None or "{{" not in text:
            return text
        return self.compile_template(text).render(variables)

    def compile(self, text: str) -> CompiledExpression:
        """Return the expression ready to run; raise ``ExpressionError`` when it is not one."""
        found = self._expressions.get(text)
        if found is not None:
            return found
        try:
            compiled = self._compile(text)
        except Failure as failure:
            raise expression_error(text, failure) from None
        return self._keep(self._expressions, text, compiled)

    def compile_template(self, text: str) -> CompiledTemplate:
        """Return the template ready to run; raise ``ExpressionError`` with all its mistakes when it is not one."""
        found = self._templates.get(text)
        if found is not None:
            return found
        return self._keep(self._templates, text, compile_template(text, self._compile_placeholder))

    def check(self, text: str, kind: TextKind | str, names: Container[str] | None = None) -> list[Diagnostic]:
        """Return every mistake that can be known without running *text*; with *names*, also unknown root variables."""
        kind = TextKind(kind)

        def failures_of(part: str) -> list[Failure]:
            return self._failures(part, kind, names)

        if kind is TextKind.TEMPLATE:
            return check_template(text, failures_of)
        return [diagnostic for failure in failures_of(text) for diagnostic in locate(text, failure)]

    def _failures(self, text: str, kind: TextKind, names: Container[str] | None) -> list[Failure]:
        compiled = self._expressions.get(text)
        try:
            root = compiled.root if compiled is not None else parse(text)
        except Failure as failure:
            return [failure]
        failures = call_failures(root)
        if compiled is None and not failures:
            self._keep(
                self._expressions,
                text,
                CompiledExpression(text, root, compile_tree(root, self._clock.now), self._clock.now),
            )
        if names is not None:
            failures += name_failures(root, names)
        if kind is TextKind.CONDITION:
            failures += condition_failures(root)
        return sorted(failures, key=lambda failure: failure.at)

    def _compile(self, text: str) -> CompiledExpression:
        root: Node = parse(text)
        failures = call_failures(root)
        if failures:
            first, *others = failures
            raise Failure(first.key, first.at, first.params, others)
        return CompiledExpression(text, root, compile_tree(root, self._clock.now), self._clock.now)

    def _compile_placeholder(self, text: str) -> tuple[Run, frozenset[str]]:
        compiled = self._expressions.get(text) or self._keep(self._expressions, text, self._compile(text))
        return compiled.run, compiled.names

    def _keep(self, cache: dict[str, T], text: str, compiled: T) -> T:
        if len(cache) >= self._cache_size:
            cache.clear()
        cache[text] = compiled
        return compiled
