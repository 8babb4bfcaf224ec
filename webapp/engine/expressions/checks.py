"""What can be known of an expression without running it: calls, root names, and whether it may be a condition."""

from __future__ import annotations

from collections.abc import Container

from webapp.engine.expressions.diagnostics import ARITY, NOT_A_CONDITION, UNKNOWN_FUNCTION, UNKNOWN_NAME, Failure
from webapp.engine.expressions.functions import find
from webapp.engine.expressions.syntax import Access, Call, Chain, Literal, Logical, Name, Node, Unary, walk

_BOOLEAN_OPERATORS = frozenset(("==", "!=", "<", "<=", ">", ">="))


def call_failures(root: Node) -> list[Failure]:
    """Return every call of an unknown function and every call with a wrong number of arguments."""
    failures = []
    for node in walk(root):
        if not isinstance(node, Call):
            continue
        function = find(node.function)
        count = len(node.arguments)
        if function is None:
            failures.append(Failure(UNKNOWN_FUNCTION, node.at, {"name": node.function}))
        elif not function.min_arguments <= count <= function.max_arguments:
            failures.append(Failure(ARITY, node.at, {"signature": function.signature, "found": count}))
    return failures


def root_names(root: Node) -> frozenset[str]:
    """Return the root variables the expression may read."""
    return frozenset(node.name for node in walk(root) if isinstance(node, Name))


def name_failures(root: Node, names: Container[str]) -> list[Failure]:
    """Return every reading of a root variable that is not among *names*."""
    return [
        Failure(UNKNOWN_NAME, node.at, {"name": node.name})
        for node in walk(root)
        if isinstance(node, Name) and node.name not in names
    ]


def condition_failures(root: Node) -> list[Failure]:
    """Return the failure of an expression whose result can never be true or false."""
    kind = _certain_kind(root)
    return [] if kind in (None, "boolean") else [Failure(NOT_A_CONDITION, root.at, {"found": kind})]


def _certain_kind(node: Node) -> str | None:
    """Return the kind every successful evaluation has, or None when it depends on the variables."""
    match node:
        case Literal(None):
            return "null"
        case Literal(bool()) | Logical():
            return "boolean"
        case Literal(str()):
            return "string"
        case Name() | Access():
            return None
        case Call(name):
            function = find(name)
            return function.returns if function is not None else None
        case Unary(operators):
            return "boolean" if operators[0][0] == "!" else "number"
        case Chain(_, rest):
            last = rest[-1][0]
            return "boolean" if last in _BOOLEAN_OPERATORS else "string, number" if last == "+" else "number"
    return "number"
