"""The one door for JSON from outside: what passes is safe to store, to compare and to write back (spec 1.17, 13)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from webapp.engine.errors import InputInvalid, Problem
from webapp.engine.numbers import JsonDecimal, JsonValue

MAX_BYTES = 2 * 1024 * 1024 + 64 * 1024  # a definition at its limit and what a request wraps around it
MAX_DEPTH = 64
MAX_DIGITS = 40
MAX_EXPONENT = 100
MAX_PROBLEMS = 50

TOO_LARGE = "workflow.json.too_large"
ENCODING = "workflow.json.encoding"
SYNTAX = "workflow.json.syntax"
DUPLICATE = "workflow.json.duplicate"
NUMBER = "workflow.json.number"
DEPTH = "workflow.json.depth"
CHARACTER = "workflow.json.character"
TYPE = "workflow.json.type"

KEYS = (TOO_LARGE, ENCODING, SYNTAX, DUPLICATE, NUMBER, DEPTH, CHARACTER, TYPE)

_INT64 = range(-(1 << 63), 1 << 63)
_SUSPICIOUS_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
_MAX_NAME = 100
_SHORT_INT = 19  # fewer characters than this always fit 64 bits
_LONGEST_NUMBER = 300  # 0. and 100 zeros before 40 digits, with room for odd ways to write them


class _Refused:
    """Stands in a parsed document where a hook found a mistake, until its path is known."""

    __slots__ = ("key", "params")

    def __init__(self, key: str, **params: object) -> None:
        self.key = key
        self.params = params


def member_path(path: str, name: str) -> str:
    """Return the path of a member: ``variables.amount``, or ``variables["odd name"]``."""
    if len(name) > _MAX_NAME:
        name = name[:_MAX_NAME] + "…"
    if not _PLAIN_NAME.fullmatch(name):
        return f"{path}[{json.dumps(name)}]"
    return f"{path}.{name}" if path else name


def item_path(path: str, index: int) -> str:
    """Return the path of a list's item: ``items[3]``."""
    return f"{path}[{index}]"


def read_json(data: bytes | str, *, max_bytes: int = MAX_BYTES) -> JsonValue:
    """Return the JSON value of *data*, exact and within every limit.

    :raises InputInvalid: it is too large, no JSON (with line and column), or holds a duplicate name, NaN, Infinity, a
        number out of bounds, a lone surrogate, U+0000, or more than 64 levels; each with its path.
    """
    text = _text(data, max_bytes)
    hooks = _Hooks()
    try:
        value = hooks.decoder().decode(text)
    except json.JSONDecodeError as error:
        raise _one(Problem(path="", key=SYNTAX, **_place(text, error.pos))) from None
    except RecursionError:
        raise _one(Problem(path="", key=DEPTH, params={"max": MAX_DEPTH})) from None
    if hooks.refused or _SUSPICIOUS_ESCAPE.search(text) or not _encodable(text):
        _raise_if_any(_problems(value))
    if text.count("[") + text.count("{") > MAX_DEPTH and _is_too_deep(value):
        _raise_if_any(_problems(value))
    return value


def check_json(value: object, path: str = "") -> JsonValue:
    """Return *value*, built in Python, as a JSON value of its own; *path* is where it stands in the whole input.

    :raises InputInvalid: it holds what ``read_json`` would refuse, or what JSON cannot say (a float among it: write a
        ``Decimal``).
    """
    _raise_if_any(_problems(value, path))
    return _normal(value)


def _text(data: bytes | str, max_bytes: int) -> str:
    size = len(data) if isinstance(data, bytes) or data.isascii() else len(data.encode("utf-8", "surrogatepass"))
    if size > max_bytes:
        raise _one(Problem(path="", key=TOO_LARGE, params={"size": size, "max": max_bytes}))
    if isinstance(data, str):
        return data
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _one(Problem(path="", key=ENCODING, params={"offset": error.start})) from None


class _Hooks:
    """The decoder's hooks: each leaves a mark where it found a mistake, and notes that there is one."""

    def __init__(self) -> None:
        self.refused = False

    def decoder(self) -> json.JSONDecoder:
        return json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_int=self._int,
            parse_float=self._number,
            parse_constant=self._refuse_number,
        )

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) == len(pairs):
            return members
        self.refused = True
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                members[name] = _Refused(DUPLICATE, name=name[:_MAX_NAME])
            seen.add(name)
        return members

    def _int(self, text: str) -> object:
        return int(text) if len(text) < _SHORT_INT else self._number(text)

    def _number(self, text: str) -> object:
        try:
            # A text of a million digits becomes no number: its length alone refuses it.
            value = JsonDecimal(text) if len(text) <= _LONGEST_NUMBER else None
        except InvalidOperation:
            value = None
        return self._refuse_number(text) if value is None or not _in_bounds(value) else _normal_number(value)

    def _refuse_number(self, text: str) -> _Refused:
        self.refused = True
        return _refused_number(text)


def _refused_number(text: str) -> _Refused:
    return _Refused(NUMBER, number=text[:MAX_DIGITS], digits=MAX_DIGITS, exponent=MAX_EXPONENT)


def _in_bounds(value: Decimal) -> bool:
    """Tell whether a number has at most 40 significant digits and an adjusted exponent within ±100."""
    if not value.is_finite() or not -MAX_EXPONENT <= value.adjusted() <= MAX_EXPONENT:
        return False
    _, digits, exponent = value.as_tuple()
    count = len(digits)
    if count > MAX_DIGITS and exponent == 0:
        # Written without an exponent, 1E+50 has 51 digits; the zeros at the end of a whole number say nothing.
        count = len("".join(map(str, digits)).rstrip("0"))
    return count <= MAX_DIGITS


def _normal_number(value: Decimal) -> int | JsonDecimal:
    """Return a number as documents hold it: no negative zero, no exponent, whole 64-bit numbers as ``int``."""
    if value.as_tuple().exponent == 0 or value.adjusted() >= len(value.as_tuple().digits) - 1:
        whole = int(value)
        return whole if whole in _INT64 else JsonDecimal(whole)
    return JsonDecimal(value) if value else JsonDecimal(abs(value))


def _is_too_deep(value: object) -> bool:
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(MAX_DEPTH):
        # One comprehension a level: this runs over every document of some size.
        level = [
            child
            for container in level
            for child in (container.values() if type(container) is dict else container)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return False
    return True


def _problems(value: object, path: str = "") -> Iterator[Problem]:
    """Yield what is wrong with a value, in the order of the document; a loop, since it may be of any depth."""
    waiting: list[tuple[str, object, int]] = [(path, value, 0)]
    while waiting:
        where, item, depth = waiting.pop()
        if isinstance(item, (dict, list)):
            if depth == MAX_DEPTH:
                yield Problem(path=where, key=DEPTH, params={"max": MAX_DEPTH})
                continue
            inside: list[tuple[str, object, int]] = []
            if isinstance(item, list):
                inside = [(item_path(where, index), child, depth + 1) for index, child in enumerate(item)]
            else:
                for name, child in item.items():
                    if (wrong := _wrong_name(name)) is not None:
                        yield Problem(path=where, key=wrong.key, params=wrong.params)
                        continue
                    inside.append((member_path(where, name), child, depth + 1))
            waiting.extend(reversed(inside))
        elif (wrong := _wrong_leaf(item)) is not None:
            yield Problem(path=where, key=wrong.key, params=wrong.params)


def _wrong_name(name: object) -> _Refused | None:
    if not isinstance(name, str):
        return _Refused(TYPE, found=type(name).__name__)
    return _wrong_text(name)


def _wrong_text(text: str) -> _Refused | None:
    if "\0" in text:
        return _Refused(CHARACTER, character="U+0000")
    if not _encodable(text):
        surrogate = next(char for char in text if "\ud800" <= char <= "\udfff")
        return _Refused(CHARACTER, character=f"U+{ord(surrogate):04X}")
    return None


def _wrong_leaf(value: object) -> _Refused | None:
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, _Refused):
        return value
    if isinstance(value, str):
        return _wrong_text(value)
    if isinstance(value, int):
        value = Decimal(value)
    if isinstance(value, Decimal):
        return None if _in_bounds(value) else _refused_number(str(value))
    return _Refused(TYPE, found=type(value).__name__)


def _normal(value: Any) -> JsonValue:
    if isinstance(value, dict):
        return {name: _normal(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_normal(member) for member in value]
    return _normal_number(value) if isinstance(value, Decimal) else value


def _encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _place(text: str, offset: int) -> dict[str, Any]:
    """Return line and column (UTF-16 units, from 1) of an offset, for the message and for an editor."""
    line_start = text.rfind("\n", 0, offset) + 1
    line = text.count("\n", 0, offset) + 1
    column = len(text[line_start:offset].encode("utf-16-le", "surrogatepass")) // 2 + 1
    return {"line": line, "column": column, "params": {"line": line, "column": column}}


def _one(problem: Problem) -> InputInvalid:
    return InputInvalid(problem.key, params=problem.params, problems=[problem])


def _raise_if_any(problems: Iterator[Problem]) -> None:
    found = [problem for problem, _ in zip(problems, range(MAX_PROBLEMS), strict=False)]
    if found:
        raise InputInvalid(found[0].key, params=found[0].params, problems=found)
