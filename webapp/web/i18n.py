"""The page's language and what Jinja needs to speak it (spec 25, REST, Language)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta, tzinfo
from typing import Any

from flask import Flask, g, request
from markupsafe import Markup, escape

from webapp.engine.numbers import encode
from webapp.messages.catalog import LANGUAGES, Catalog, Language, Message
from webapp.web import formats
from webapp.web.formats import is_han

__all__ = ["LANGUAGES", "Language", "PageText", "init_i18n", "language", "theme"]

LANGUAGE_COOKIE = "language"
THEME_COOKIE = "theme"
THEMES = ("light", "dark")

_KNOWN: dict[str, Language] = {known: known for known in LANGUAGES}

_JSON_IN_HTML = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026", 0x2028: "\\u2028", 0x2029: "\\u2029"}


_MARK = re.compile("\ue000(\\w+)\ue001")


def _spaced(parts: list[str], args: Mapping[str, Any]) -> list[str]:
    """Put a space between Chinese and Latin letters or digits, and none between Chinese and Chinese."""
    spaced = list(parts)
    for at in range(1, len(parts), 2):
        given = args[parts[at]]
        value = given.striptags() if isinstance(given, Markup) else given
        if not value:
            continue
        before, after = spaced[at - 1].rstrip(" "), spaced[at + 1].lstrip(" ")
        if before:
            spaced[at - 1] = before + _gap(before[-1], value[0])
        if after:
            spaced[at + 1] = _gap(value[-1], after[0]) + after
    return spaced


def _gap(left: str, right: str) -> str:
    return " " if is_han(left) != is_han(right) and left.isalnum() and right.isalnum() else ""


def _known(value: object) -> Language | None:
    return _KNOWN.get(value) if isinstance(value, str) else None


def language() -> Language:
    """Return the account's language; without one the switch's cookie, then Accept-Language, then English."""
    chosen = _known(getattr(getattr(g, "actor", None), "language", None)) or _known(
        request.cookies.get(LANGUAGE_COOKIE)
    )
    if chosen:
        return chosen
    for tag in request.accept_languages.values():
        spoken = _known(tag.split("-")[0].lower())
        if spoken:
            return spoken
    return "en"


def theme() -> str:
    """Return the theme chosen in the account, else in this browser; empty follows the system."""
    chosen = getattr(getattr(g, "actor", None), "theme", None) or request.cookies.get(THEME_COOKIE, "")
    return chosen if chosen in THEMES else ""


def json_text(value: Any) -> str:
    """Return the JSON of a value, its decimals exact."""
    return encode(value).decode()


def script_json(document: str | bytes | Mapping[str, Any]) -> Markup:
    """Return JSON that can stand inside a script element: nothing in it ends the element."""
    text = (
        document
        if isinstance(document, str)
        else document.decode()
        if isinstance(document, bytes)
        else json_text(document)
    )
    return Markup(text.translate(_JSON_IN_HTML))  # noqa: S704 - every character that means something to HTML is escaped


class PageText:
    """The filters and globals of one application: catalog, zone and clock are given once."""

    def __init__(self, catalog: Catalog, zone: tzinfo, now: Callable[[], datetime]) -> None:
        self._catalog = catalog
        self.zone = zone
        self._now = now

    def text(self, key: str, **args: Any) -> str:
        """Return a message in the page's language."""
        return "".join(self._parts(key, args, str))

    def has(self, key: str) -> bool:
        """Tell whether there is a message for the key."""
        return self._catalog.has(key)

    def outcome(self, label: str) -> str:
        """Return the label of an outcome; one that a definition made up stands for itself."""
        return self._labelled("workflow.outcome", label)

    def verb(self, label: str) -> str:
        """Return the button that gives an outcome."""
        return self.text(f"inbox.outcome.{label}") if self.has(f"inbox.outcome.{label}") else self.outcome(label)

    def _labelled(self, prefix: str, label: str) -> str:
        return self.text(f"{prefix}.{label}") if self.has(f"{prefix}.{label}") else label

    def markup(self, key: str, **args: Any) -> Markup:
        """Return a message as HTML: the message is escaped, an argument only when it is not markup already."""
        return Markup("").join(self._parts(key, args, escape))

    def _parts(self, key: str, args: Mapping[str, Any], finish: Callable[[str], str]) -> list[str]:
        """Return the message cut at its text arguments; in Chinese the spaces round each depend on what it is."""
        marks = {name: f"\ue000{name}\ue001" for name, value in args.items() if isinstance(value, str)}
        lang = language()
        parts = _MARK.split(self._catalog.text(key, {**args, **marks}, lang))
        if lang == "zh":
            parts = _spaced(parts, args)
        return [finish(args[part] if at % 2 else part) for at, part in enumerate(parts)]

    def listed(self, items: Iterable[str]) -> str:
        """Return texts in one, with the language's comma."""
        return ("、" if language() == "zh" else ", ").join(items)

    def strong(self, value: str) -> Markup:
        """Return a name in bold, for :meth:`markup`."""
        return Markup("<b>{}</b>").format(value)

    def now(self) -> datetime:
        """Return the present instant."""
        return self._now()

    def area(self, prefix: str) -> dict[str, Message]:
        """Return the unfilled messages below a prefix, for a script."""
        return self._catalog.area(prefix, language())

    def page_messages(self) -> dict[str, str]:
        """Return the texts that the pages' own script shows, without their prefix."""
        names = ("failed.title", "failed.server", "failed.network", "request_id", "close", "next_in", "bell.count")
        return {name: self._template(f"ui.{name}") for name in names}

    def _template(self, key: str) -> str:
        placeholders = {name: "{" + name + "}" for name in ("id", "status", "seconds", "count")}
        return self._catalog.text(key, placeholders, language())

    def exact_time(self, at: datetime) -> str:
        """Return an instant in full."""
        return formats.exact_time(at, language(), self.zone)

    def day(self, value: date) -> str:
        """Return a calendar day in full."""
        return formats.full_day(value, language())

    def short_time(self, at: datetime) -> str:
        """Return the time of today or the day and time."""
        return formats.short_time(at, self._now(), language(), self.zone)

    def clock_time(self, at: datetime) -> str:
        """Return the time of day with its seconds."""
        return f"{at.astimezone(self.zone):%H:%M:%S}"

    def relative_time(self, at: datetime) -> str:
        """Return how long ago something was."""
        return formats.relative_time(at, self._now(), language(), self.zone, self.text)

    def due_state(self, at: datetime) -> str:
        """Return late, soon or nothing."""
        return formats.due_state(at, self._now())

    def due_text(self, at: datetime) -> str:
        """Return a due date as a list shows it."""
        return formats.due_text(at, self._now(), language(), self.zone, self.text)

    def since(self, at: datetime) -> str:
        """Return for how long something has been so, in words."""
        return formats.span_in_words(self._now() - at, self.text)

    def duration(self, span: timedelta) -> str:
        """Return a span in two units."""
        return formats.duration(span, self.text)


def init_i18n(app: Flask, catalog: Catalog, zone: tzinfo, now: Callable[[], datetime]) -> None:
    """Give Jinja the texts, filters and globals of the pages, and the views the same through ``page_text()``."""
    page = PageText(catalog, zone, now)
    app.extensions["waypost.page_text"] = page
    app.jinja_env.globals.update(
        t=page.text,
        th=page.markup,
        strong=page.strong,
        page_lang=language,
        theme=theme,
        page_messages=page.page_messages,
        outcome_label=page.outcome,
    )
    app.jinja_env.filters.update(
        exact_time=page.exact_time,
        short_time=page.short_time,
        relative_time=page.relative_time,
        due_state=page.due_state,
        due_text=page.due_text,
        since=page.since,
        duration=page.duration,
        number=formats.number,
        initials=formats.initials,
        avatar_hue=formats.avatar_hue,
        json_text=json_text,
        script_json=script_json,
    )
