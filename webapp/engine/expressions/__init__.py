"""The expression language (spec 5): conditions, expressions and templates over an instance's variables."""

from webapp.engine.expressions.diagnostics import KEYS, Diagnostic, ExpressionError
from webapp.engine.expressions.evaluator import CompiledExpression, ExpressionEvaluator, TextKind
from webapp.engine.expressions.functions import FUNCTIONS, Function
from webapp.engine.expressions.templates import CompiledTemplate

__all__ = [
    "FUNCTIONS",
    "KEYS",
    "CompiledExpression",
    "CompiledTemplate",
    "Diagnostic",
    "ExpressionError",
    "ExpressionEvaluator",
    "Function",
    "TextKind",
]
