"""Query strings: each value read strictly, every mistake of a request named at once (spec 11, Amendments)."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta
from werkzeug.datastructures import MultiDict

from webapp.engine.errors import InputInvalid, Problem
from webapp.services.queries import DEFAULT_LIMIT, MAX_LIMIT, Paging, Sort

Q = TypeVar("Q", bound=msgspec.Struct)

_KEYWORD = Meta(description="Looked for in the texts of a row, without regard to case; blank looks for nothing")
Keyword = Annotated[str, _KEYWORD]
"""A text that is looked for; unlike an exact filter it may be blank."""

_INTEGER = re.compile(r"-?[0-9]{1,9}")
_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})")
_SHOWN = 80


class Window(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which part of a list."""

    offset: Annotated[int, Meta(ge=0, description="How many items to leave out")] = 0
    limit: Annotated[int, Meta(ge=1, le=MAX_LIMIT, description="How many items at most")] = DEFAULT_LIMIT


class SortedWindow(Window, frozen=True, kw_only=True, rename="camel"):
    """Which part of a list, in which order."""

    sort: Annotated[str, Meta(description="Comma separated fields, `-` in front for descending")] | None = None


class Unreadable(ValueError):
    """A value that cannot be read; carries the message key and its arguments."""

    def __init__(self, key: str, **params: object) -> None:
        super().__init__(key)
        self.key = key
        self.params = params


def read_query(args: MultiDict[str, str], type_: type[Q]) -> Q:
    """Return the query of a request as *type_*. :raises InputInvalid: naming every parameter that cannot be read."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(type_)}
    hints = get_type_hints(type_, include_extras=True)
    problems = [
        Problem(path=name[:_SHOWN], key="api.query.unknown", params={"known": sorted(fields)})
        for name in args
        if name not in fields
    ]
    values: dict[str, Any] = {}
    for name, field in fields.items():
        given = args.getlist(name)
        if not given:
            continue
        try:
            values[field.name] = _read(hints[field.name], given)
        except Unreadable as refusal:
            params = {"value": given[-1][:_SHOWN], **refusal.params}
            problems.append(Problem(path=name, key=refusal.key, params=params))
    if problems:
        raise InputInvalid("api.query.invalid", problems=problems)
    return type_(**values)


def paging(window: Window) -> Paging:
    """Return the part of a list that was asked for; the services check ranges and sort fields."""
    text = getattr(window, "sort", None)
    sorts = tuple(Sort(part.removeprefix("-"), part.startswith("-")) for part in text.split(",")) if text else ()
    return Paging(sorts=sorts, offset=window.offset, limit=window.limit)


def read_instant(text: str) -> datetime:
    """Return an RFC 3339 instant with its offset, as UTC. :raises Unreadable: it is none."""
    try:
        if not _INSTANT.fullmatch(text):
            raise ValueError(text)
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise Unreadable("api.query.instant") from None


def bare_type(hint: Any) -> Any:
    """Return what a field holds when it is set: without Annotated and without ``| None``."""
    if get_origin(hint) is Annotated:
        return bare_type(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        rest = [member for member in get_args(hint) if member is not type(None)]
        return bare_type(rest[0])
    return hint


def _read(hint: Any, given: Sequence[str]) -> Any:
    bare = bare_type(hint)
    if get_origin(bare) is tuple:
        read = _reader(bare_type(get_args(bare)[0]), blank=True)
        return tuple(read(text) for text in given)
    if len(given) > 1:
        raise Unreadable("api.query.repeated")
    return _reader(bare, blank=_is_keyword(hint))(given[0])


def _is_keyword(hint: Any) -> bool:
    return _KEYWORD in getattr(hint, "__metadata__", ()) or any(_is_keyword(member) for member in get_args(hint))


def _reader(wanted: Any, *, blank: bool) -> Callable[[str], Any]:
    if wanted is int:
        return _read_integer
    if wanted is bool:
        return _read_flag
    if wanted is datetime:
        return read_instant
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        return lambda text: _read_member(wanted, text)
    return lambda text: _read_text(text, blank=blank)


def _read_integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise Unreadable("api.query.integer")
    return int(text)


def _read_flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise Unreadable("api.query.flag")
    return text == "true"


def _read_member(members: type[Enum], text: str) -> Enum:
    for member in members:
        if member.value == text:
            return member
    raise Unreadable("api.query.choice", known=[member.value for member in members])


def _read_text(text: str, *, blank: bool) -> str:
    if "\0" in text:
        raise Unreadable("api.query.null_character")
    if not blank and not text.strip():
        # An exact filter that is empty would match nothing, or everything: neither is what the caller meant.
        raise Unreadable("api.query.blank")
    return text
