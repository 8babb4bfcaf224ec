"""A list's filter, sort and page live in the address: read from it, written back into links (spec 12)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any
from urllib.parse import urlencode

from flask import request
from werkzeug.datastructures import MultiDict

from webapp.engine.errors import InputInvalid
from webapp.services.queries import Paging, Sort
from webapp.web.i18n import PageText

PAGE_SIZE = 50

_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,9}")


def read_paging(args: Mapping[str, str], default_sort: str, page_size: int = PAGE_SIZE) -> Paging:
    """Return order and window from query arguments; the services check the ranges and the field names."""
    parts = [part for part in (args.get("sort") or default_sort).split(",") if part]
    sorts = tuple(Sort(part.removeprefix("-"), descending=part.startswith("-")) for part in parts)
    return Paging(sorts=sorts, offset=read_integer(args, "offset", 0), limit=read_integer(args, "limit", page_size))


def read_integer(args: Mapping[str, str], name: str, default: int) -> int:
    """Return a whole number of the address. :raises InputInvalid: it is none."""
    value = args.get(name, "")
    if not value:
        return default
    if not _WHOLE_NUMBER.fullmatch(value):
        raise InputInvalid("ui.filter.unreadable", path=name, params={"name": name, "value": value[:40]})
    return int(value)


def read_day(args: Mapping[str, str], name: str, zone: tzinfo, *, end: bool = False) -> datetime | None:
    """Return the first instant of a day of the filter, or with ``end`` the first one after it."""
    value = args.get(name, "")
    if not value:
        return None
    try:
        start = datetime.combine(date.fromisoformat(value), time.min, tzinfo=zone)
        return (start + timedelta(days=1) if end else start).astimezone(UTC)
    except (ValueError, OverflowError):
        # The calendar's first and last day have a neighbour that is none.
        raise InputInvalid("ui.filter.unreadable", path=name, params={"name": name, "value": value[:40]}) from None


class Listing:
    """The state of one list, for its heads, its pages and its filters.

    ``path`` is the list's own address: a refused command, or a row opened beside the list, is shown under another.
    """

    def __init__(self, page_text: PageText, paging: Paging, total: int, shown: int, *, path: str) -> None:
        self._path = path
        self._text = page_text
        self._sorts = {sort.field: sort.descending for sort in paging.sorts}
        self._first = paging.sorts[0].field if paging.sorts else None
        self.offset = paging.offset
        self.limit = paging.limit
        self.total = total
        self._shown = shown

    def url(self, **changes: str | int | None) -> str:
        """Return this page's address with some arguments changed; None or '' takes one out."""
        return list_url(self._path, **changes)

    def direction(self, column: str) -> str | None:
        """Return ascending or descending for the column that is sorted by first."""
        if column != self._first:
            return None
        return "descending" if self._sorts[column] else "ascending"

    def sort_url(self, column: str) -> str:
        """Return the address that sorts by the column, or turns its direction round."""
        turned = self.direction(column) == "ascending"
        return self.url(sort=f"-{column}" if turned else column)

    def previous_url(self) -> str | None:
        """Return the address of the page before."""
        return self.url(offset=max(self.offset - self.limit, 0)) if self.offset > 0 else None

    def next_url(self) -> str | None:
        """Return the address of the next page."""
        return self.url(offset=self.offset + self.limit) if self.offset + self._shown < self.total else None

    def range_text(self) -> str:
        """Return which rows are shown, in words."""
        first = self.offset + 1 if self._shown else 0
        return self._text.text("ui.pages.range", first=first, last=self.offset + self._shown, total=self.total)


def list_url(path: str | None = None, /, **changes: str | int | None) -> str:
    """Return the address of a list with its arguments as they are, but for the changes.

    ``part`` says how much of a page one request wants; it is no state of the list and is never carried on.
    """
    args: MultiDict[str, Any] = MultiDict(request.args)
    args.pop("part", None)
    if "offset" not in changes:
        args.pop("offset", None)
    for name, value in changes.items():
        args.pop(name, None)
        if value not in (None, ""):
            args[name] = str(value)
    query = urlencode([(name, value) for name, value in args.items(multi=True) if value != ""])
    return (path or request.path) + (f"?{query}" if query else "")


def read_choice(args: Mapping[str, str], name: str, known: Collection[str]) -> str:
    """Return one of the known values, or nothing. :raises InputInvalid: it is another one."""
    value = args.get(name, "")
    if value and value not in known:
        raise InputInvalid("ui.filter.unreadable", path=name, params={"name": name, "value": value[:40]})
    return value
