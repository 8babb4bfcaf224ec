"""The quick way through an expression that is run often: its tree as one Python function (spec 5, hot path).

The function handles what flows are made of (names, members, comparisons, arithmetic, logic) without a closure a node.
Whatever it meets beyond that, and every mistake, ends in an exception; the caller then runs the closures, which know
the rules in full and tell where the mistake is. Expressions change nothing, so running one again is safe. The source
is put together from fixed fragments and numbers: no text of the expression ever stands in it, constants come in by
name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from webapp.engine.expressions.arithmetic import BOUND, EXACT, EXACT_SUM, NUMERIC
from webapp.engine.expressions.compiler import OPERATORS, item
from webapp.engine.expressions.functions import find
from webapp.engine.expressions.syntax import Access, Call, Chain, Index, Literal, Logical, Name, Node, Unary
from webapp.engine.expressions.values import MAX_STEPS, ORDERINGS, compare, equal
from webapp.engine.numbers import JsonDecimal

Quick = Callable[[Mapping[str, Any]], Any]
Condition = Callable[[Mapping[str, Any]], bool]

WORTH_AFTER = 16
"""Runs by closures before a function is made: making one costs as much as a few hundred runs."""

_MAX_INDENT = 40
_UNKNOWN, _BOOLEAN = "", "boolean"
_SMALL = 1_000_000_000
"""Integers below it compare and add at the speed of machine words; larger ones take the general way."""


class Slow(Exception):
    """The quick way ends here."""


class _TooDeep(Exception):
    """More levels than are worth a function."""


def quick_value(root: Node, now: Callable[[], datetime]) -> Quick | None:
    """Return the expression as a function of its variables, or None when it is not worth one.

    It raises for anything out of the ordinary; the value is a boolean, a number, a text …, not yet copied to JSON.
    """
    writer = _Writer(now)
    try:
        atom, _ = writer.value(root)
    except _TooDeep:
        return None
    return _function(writer, "", [f"return {atom}"])


def quick_condition(root: Node, now: Callable[[], datetime], otherwise: Condition) -> Condition:
    """Return the expression as a condition that never fails by itself: *otherwise* decides what is out of the ordinary.

    *otherwise* itself comes back when the expression is not worth a function.
    """
    writer = _Writer(now)
    try:
        writer.begin("try:")
        atom, kind = writer.variable(root)
    except _TooDeep:
        return otherwise
    writer.names["otherwise"] = otherwise
    test = "" if kind == _BOOLEAN else f"if {atom} is True or {atom} is False: "
    ending = ["except Failed: return otherwise(scope)", "return otherwise(scope)"]
    return _function(writer, f"        {test}return {atom}\n", ending)


def _function(writer: _Writer, last: str, ending: list[str]) -> Callable[[Mapping[str, Any]], Any]:
    opening = "    steps = [X]\n" if writer.pays else ""
    source = (
        "def quick(scope):\n" + opening + "".join(writer.lines) + last + "".join(f"    {line}\n" for line in ending)
    )
    space = writer.names
    exec(compile(source, "<expression>", "exec"), space)  # noqa: S102  # fixed fragments only, see above
    return space["quick"]  # type: ignore[no-any-return]  # defined by the line above


def _slow() -> Any:
    raise Slow


def _small(atom: str) -> str:
    return f"type({atom}) is int and -{_SMALL} < {atom} < {_SMALL}"


def _decimal(atom: str) -> str:
    return f"(type({atom}) is D or type({atom}) is E) and {atom}.adjusted() < 28"


class _Writer:
    """Writes the function's lines; each part of the tree becomes a local variable or a constant."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.lines: list[str] = []
        self.pays = False
        self._indent = 1
        self._count = 0
        self._now = now
        self.names: dict[str, Any] = {
            "__builtins__": {"type": type, "int": int, "str": str, "dict": dict, "list": list, "len": len},
            "D": JsonDecimal, "E": Decimal, "X": MAX_STEPS,
            "slow": _slow, "Failed": Exception, "equal": equal, "compare": compare, "item": item, "free": [MAX_STEPS],
        }  # fmt: skip

    def variable(self, node: Node) -> tuple[str, str]:
        """Write what computes a part, into a variable even when it is a number as written."""
        atom, kind = self.value(node)
        return (self._assign(atom) if atom.isdigit() else atom), kind

    def value(self, node: Node) -> tuple[str, str]:
        """Write what computes a part; return where its value is, and its kind as far as it is known."""
        match node:
            case Literal(value):
                return self._constant(value), _BOOLEAN if isinstance(value, bool) else _UNKNOWN
            case Name(name):
                return self._assign(f"scope[{self._constant(name)}]"), _UNKNOWN
            case Access():
                return self._access(node), _UNKNOWN
            case Call():
                return self._call(node)
            case Unary():
                return self._unary(node)
            case Logical(operator, operands):
                return self._logical(operator, operands), _BOOLEAN
        return self._chain(node)

    def _assign(self, code: str) -> str:
        self._count += 1
        name = f"v{self._count}"
        self._line(f"{name} = {code}")
        return name

    def _line(self, code: str) -> None:
        self.lines.append("    " * self._indent + code + "\n")

    def _constant(self, value: Any) -> str:
        if value is None or value is True or value is False:
            return str(value)
        if type(value) is int and 0 <= value < EXACT_SUM:
            return str(value)
        name = f"k{len(self.names)}"
        self.names[name] = value
        return name

    def begin(self, opening: str) -> None:
        """Open a block."""
        if self._indent >= _MAX_INDENT:
            raise _TooDeep
        self._line(opening)
        self._indent += 1

    def _access(self, node: Access) -> str:
        atom, _ = self.variable(node.target)
        for step in node.steps:
            if isinstance(step, Index):
                atom = self._index(atom, step)
            else:
                name = self._constant(step.name)
                nothing = f"None if {atom} is None else slow()"
                atom = self._assign(f"{atom}.get({name}) if type({atom}) is dict else {nothing}")
        return atom

    def _index(self, atom: str, step: Index) -> str:
        self.pays = True
        found = self._assign("None")
        self.begin(f"if {atom} is not None:")
        index, _ = self.value(step.index)
        self._line(f"{found} = item({atom}, {index}, steps, 0)")
        self._indent -= 1
        return found

    def _call(self, node: Call) -> tuple[str, str]:
        function = find(node.function)
        if function is None:
            raise _TooDeep
        if function.compute is None:
            return self._assign(f"{self._constant(self._now)}()"), _UNKNOWN
        self.pays = True
        arguments = [self.value(argument)[0] for argument in node.arguments]
        call = f"{self._constant(function.compute)}({', '.join(arguments)}, steps, 0)"
        return self._assign(call), _BOOLEAN if function.returns == "boolean" else _UNKNOWN

    def _unary(self, node: Unary) -> tuple[str, str]:
        atom, kind = self.variable(node.operand)
        for symbol, _ in reversed(node.operators):
            if symbol == "-":
                kind = _UNKNOWN
                atom = self._assign(f"-{atom} if {_small(atom)} else slow()")
            elif kind == _BOOLEAN:
                atom = self._assign(f"not {atom}")
            else:
                kind = _BOOLEAN
                atom = self._assign(f"{atom} is False if {atom} is True or {atom} is False else slow()")
        return atom, kind

    def _logical(self, operator: str, operands: tuple[Node, ...]) -> str:
        goes_on = "True" if operator == "&&" else "False"
        first, *others = operands
        found = self._assign(self._boolean(first))
        for part in others:
            self.begin(f"if {found} is {goes_on}:")
            self._line(f"{found} = {self._boolean(part)}")
            self._indent -= 1
        return found

    def _boolean(self, node: Node) -> str:
        atom, kind = self.variable(node)
        return atom if kind == _BOOLEAN else f"{atom} if {atom} is True or {atom} is False else slow()"

    def _chain(self, node: Chain) -> tuple[str, str]:
        atom, _ = self.variable(node.first)
        left, kind = node.first, _UNKNOWN
        for symbol, part, _ in node.rest:
            right, _ = self.value(part)
            if symbol in ("==", "!="):
                code = self._equality(atom, part, right)
                atom, kind = self._assign(code if symbol == "==" else f"not ({code})"), _BOOLEAN
            elif symbol in ORDERINGS:
                atom, kind = self._assign(self._ordering(symbol, left, atom, part, right)), _BOOLEAN
            else:
                atom, kind = self._assign(self._arithmetic(symbol, left, atom, part, right)), _UNKNOWN
            left = node
        return atom, kind

    def _equality(self, left: str, part: Node, right: str) -> str:
        constant = part.value if isinstance(part, Literal) else part
        if constant is None or constant is True or constant is False:
            return f"{left} is {right}"
        if type(constant) is str:
            return f"{left} == {right} if type({left}) is str else equal({left}, {right}, free, 0)"
        if type(constant) is int:
            return f"{left} == {right} if type({left}) is int else equal({left}, {right}, free, 0)"
        self.pays = True
        return (
            f"{left} == {right} if type({left}) is str and type({right}) is str else equal({left}, {right}, steps, 0)"
        )

    def _ordering(self, symbol: str, first: Node, left: str, part: Node, right: str) -> str:
        number = part.value if isinstance(part, Literal) else None
        sign = self._constant(symbol)
        if type(number) in NUMERIC and abs(number) <= BOUND and not isinstance(first, Literal):  # type: ignore[arg-type,operator]  # a number
            exact = self._constant(Decimal(number))  # type: ignore[arg-type]  # a number
            otherwise = f"compare({sign}, {left}, {right}, free, 0)"
            decimals = f"{left} {symbol} {exact} if {_decimal(left)} else {otherwise}"
            return f"{left} {symbol} {right} if {_small(left)} else ({decimals})"
        self.pays = True
        general = f"compare({sign}, {left}, {right}, steps, 0)"
        if isinstance(part, Literal):
            return general
        mixed = f"({_small(left)} or {_decimal(left)}) and ({_small(right)} or {_decimal(right)})"
        return f"{left} {symbol} {right} if {_small(left)} and {_small(right)} or {mixed} else {general}"

    def _arithmetic(self, symbol: str, first: Node, left: str, part: Node, right: str) -> str:
        self.pays = True
        apply = f"{self._constant(OPERATORS[symbol])}({left}, {right}, steps, 0)"
        exact = EXACT.get(symbol)
        if exact is None or (isinstance(first, Literal) and isinstance(part, Literal)):
            return apply
        sides = (self._exact(first, left), self._exact(part, right))
        tests = " and ".join(test for _, test in sides if test)
        found = f"v{self._count + 1}"
        compute = f"{self._constant(exact)}({sides[0][0]}, {sides[1][0]})"
        # A result of zero has a sign and a scale to look after: the general way.
        decimals = f"{found} if {tests} and ({found} := {compute}) and -100 <= {found}.adjusted() < 28 else {apply}"
        return f"{left} {symbol} {right} if {_small(left)} and {_small(right)} else ({decimals})"

    def _exact(self, node: Node, atom: str) -> tuple[str, str]:
        """Return a side as a decimal, and the test that it is one."""
        value = node.value if isinstance(node, Literal) else None
        if type(value) in NUMERIC and abs(value) < EXACT_SUM:  # type: ignore[arg-type,operator]  # a number
            return self._constant(Decimal(value)), ""  # type: ignore[arg-type]  # a number
        return atom, _decimal(atom)
