"""Text to syntax tree: the limits of spec 5.1 first, then lark's LALR parser; the only reader of the grammar."""

from __future__ import annotations

import functools
import re
from decimal import Decimal, InvalidOperation
from typing import Any, cast

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedToken

from webapp.engine.expressions.arithmetic import literal_number
from webapp.engine.expressions.diagnostics import (
    BAD_NUMBER,
    EMPTY,
    ENDS_EARLY,
    MAX_DEPTH,
    MAX_LENGTH,
    SYNTAX,
    TOO_DEEP,
    TOO_LONG,
    UNCLOSED_TEXT,
    Failure,
    utf16_length,
)
from webapp.engine.expressions.syntax import Access, Call, Chain, Index, Literal, Logical, Member, Name, Node, Unary

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
_TOKEN = re.compile(
    r"""'(?:\\.|[^'\\])*'?|"(?:\\.|[^"\\])*"?|&&|\|\||[=!<>]=|[()\[\],<>+*/%!-]|[^\s()\[\],<>+*/%!&|='"-]+""", re.DOTALL
)
_BINARY = frozenset(("&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", ","))


def parse(text: str) -> Node:
    """Return the tree of *text*; raise ``Failure`` when it is too long, too deep or not an expression."""
    if utf16_length(text) > MAX_LENGTH:
        raise Failure(TOO_LONG, 0, {"length": utf16_length(text), "max": MAX_LENGTH})
    if not text or text.isspace():
        raise Failure(EMPTY, 0)
    _check_depth(text)
    try:
        # The transformer's methods run while the parser reduces, so the deepest tree costs no recursion.
        return _lark().parse(text)  # type: ignore[return-value]  # lark knows nothing of what its transformer makes
    except (UnexpectedCharacters, UnexpectedToken) as error:
        raise _syntax_failure(text, error) from None


def _check_depth(text: str) -> None:
    """Refuse the 65th level open at once; a unary operator is open until its operand ends (25, expressions)."""
    frames = [0]  # unary operators open in each bracket
    depth = 0
    operand_expected = True
    for match in _TOKEN.finditer(text):
        symbol = match.group()
        if symbol in ("(", "["):
            frames.append(0)
            depth += 1
            operand_expected = True
        elif symbol in (")", "]"):
            depth -= frames.pop() + 1 if len(frames) > 1 else 0
            operand_expected = False
        elif symbol == "!" or (symbol == "-" and operand_expected):
            frames[-1] += 1
            depth += 1
            operand_expected = True
        elif symbol in _BINARY:
            depth -= frames[-1]
            frames[-1] = 0
            operand_expected = True
        else:
            operand_expected = False
        if depth > MAX_DEPTH:
            raise Failure(TOO_DEEP, match.start(), {"max": MAX_DEPTH})


def _syntax_failure(text: str, error: UnexpectedCharacters | UnexpectedToken) -> Failure:
    at = cast(int, error.pos_in_stream)
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        return Failure(ENDS_EARLY, len(text))
    if isinstance(error, UnexpectedCharacters) and text[at] in "'\"":
        return Failure(UNCLOSED_TEXT, at)
    token = str(error.token) if isinstance(error, UnexpectedToken) else text[at]
    return Failure(SYNTAX, at, {"token": token if len(token) <= 40 else token[:40] + "…"})


class _TreeBuilder(Transformer[Token, Node]):
    """Makes the nodes of ``syntax`` out of what the grammar recognised."""

    def start(self, children: list[Node]) -> Node:
        return children[0]

    def number(self, children: list[Token]) -> Node:
        token = children[0]
        at = token.start_pos or 0
        try:
            value = Decimal(token)
        except InvalidOperation:
            raise Failure(BAD_NUMBER, at, {"token": str(token)[:40]}) from None
        return Literal(literal_number(value, at), at)

    def string(self, children: list[Token]) -> Node:
        token = children[0]
        text = token[1:-1]
        if "\\" in text:
            text = _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), text)
        return Literal(text, token.start_pos or 0)

    def true(self, children: list[Token]) -> Node:
        return Literal(True, children[0].start_pos or 0)

    def false(self, children: list[Token]) -> Node:
        return Literal(False, children[0].start_pos or 0)

    def null(self, children: list[Token]) -> Node:
        return Literal(None, children[0].start_pos or 0)

    def name(self, children: list[Token]) -> Node:
        return Name(str(children[0]), children[0].start_pos or 0)

    def call(self, children: list[Any]) -> Node:
        name, *arguments = children
        return Call(str(name), tuple(arguments), name.start_pos or 0)

    def member(self, children: list[Token]) -> Member:
        return Member(str(children[0]), children[0].start_pos or 0)

    def index(self, children: list[Node]) -> Index:
        return Index(children[0], children[0].at)

    def postfix(self, children: list[Any]) -> Node:
        target, *steps = children
        return Access(target, tuple(steps), target.at)

    def unary(self, children: list[Any]) -> Node:
        *operators, operand = children
        pairs = tuple((str(token), token.start_pos or 0) for token in operators)
        return Unary(pairs, operand, pairs[0][1])

    def _chain(self, children: list[Any]) -> Node:
        first, *rest = children
        pairs = zip(rest[::2], rest[1::2], strict=True)
        return Chain(first, tuple((str(token), operand, token.start_pos or 0) for token, operand in pairs), first.at)

    equality = relational = additive = multiplicative = _chain

    def _logical(self, operator: str, children: list[Any]) -> Node:
        return Logical(operator, tuple(children), children[0].at)


# "or" and "and" are the grammar's names for these levels, and words of Python.
setattr(_TreeBuilder, "or", lambda self, children: self._logical("||", children))
setattr(_TreeBuilder, "and", lambda self, children: self._logical("&&", children))


@functools.cache
def _lark() -> Lark:
    """Return the parser, made at its first use; it keeps no state between texts, so threads may share it."""
    return Lark.open(
        "grammar.lark", rel_to=__file__, parser="lalr", regex=True, maybe_placeholders=False, transformer=_TreeBuilder()
    )
