"""The compact tree of an expression: one node for a whole chain of operators of one level."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, text, true, false or null as written."""

    value: Decimal | int | str | bool | None
    at: int


@dataclass(frozen=True, slots=True)
class Name:
    """A root variable."""

    name: str
    at: int


@dataclass(frozen=True, slots=True)
class Member:
    """``.name`` behind a value."""

    name: str
    at: int


@dataclass(frozen=True, slots=True)
class Index:
    """``[expression]`` behind a value."""

    index: Node
    at: int


@dataclass(frozen=True, slots=True)
class Access:
    """A value followed by members and indexes, read in one loop."""

    target: Node
    steps: tuple[Member | Index, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Call:
    """A function call; the name is as written."""

    function: str
    arguments: tuple[Node, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Unary:
    """One or more ``!`` and ``-`` before an operand, outermost first."""

    operators: tuple[tuple[str, int], ...]
    operand: Node
    at: int


@dataclass(frozen=True, slots=True)
class Chain:
    """Operands joined by operators of one level: ``first (operator operand)*``, applied from the left."""

    first: Node
    rest: tuple[tuple[str, Node, int], ...]
    at: int


@dataclass(frozen=True, slots=True)
class Logical:
    """Operands joined by ``&&`` or by ``||``."""

    operator: str
    operands: tuple[Node, ...]
    at: int


Node = Literal | Name | Access | Call | Unary | Chain | Logical
"""Any part of an expression that has a value."""


def children(node: Node) -> tuple[Node, ...]:
    """Return the parts of *node* that have a value of their own, in the order of the text."""
    match node:
        case Access(target, steps):
            return (target, *(step.index for step in steps if isinstance(step, Index)))
        case Call(_, arguments):
            return arguments
        case Unary(_, operand):
            return (operand,)
        case Chain(first, rest):
            return (first, *(operand for _, operand, _ in rest))
        case Logical(_, operands):
            return operands
    return ()


def walk(root: Node) -> list[Node]:
    """Return every node, each before its parts; a loop, since a legal tree may be hundreds of levels deep."""
    found = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting.extend(reversed(children(node)))
    return found
