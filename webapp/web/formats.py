"""How times, numbers and names read in a page; pure, the language and the zone come in by argument."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from typing import Literal

from babel import Locale
from babel.dates import format_date, format_datetime, format_time

Text = Callable[..., str]
"""A message: ``text(key, **args)`` in the language of the page."""

DueState = Literal["late", "soon", ""]

_LOCALES = {"en": Locale.parse("en_GB"), "zh": Locale.parse("zh_Hans_CN")}
_DAY_PATTERNS = {"en": "EEE d MMM", "zh": "M月d日 EEE"}
_DAY_YEAR_PATTERNS = {"en": "d MMM y", "zh": "y年M月d日"}
_HUES = 6
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


def _local(at: datetime, zone: tzinfo) -> datetime:
    return at.astimezone(zone)


def instant_text(at: datetime) -> str:
    """Return an instant as the API writes it: RFC 3339, UTC, milliseconds (spec 11)."""
    moment = at.astimezone(UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def exact_time(at: datetime, lang: str, zone: tzinfo) -> str:
    """Return date, time with seconds and zone, for titles."""
    return format_datetime(_local(at, zone), "long", locale=_LOCALES[lang])


def clock_time(at: datetime, lang: str, zone: tzinfo) -> str:
    """Return hours and minutes."""
    return format_time(_local(at, zone).timetz(), "HH:mm", locale=_LOCALES[lang])


def day(at: datetime, now: datetime, lang: str, zone: tzinfo) -> str:
    """Return the day, with its weekday in this year and with its year in others."""
    local = _local(at, zone).date()
    patterns = _DAY_PATTERNS if local.year == _local(now, zone).year else _DAY_YEAR_PATTERNS
    return format_date(local, patterns[lang], locale=_LOCALES[lang])


def full_day(value: date, lang: str) -> str:
    """Return a calendar day with its year."""
    return format_date(value, _DAY_YEAR_PATTERNS[lang], locale=_LOCALES[lang])


def short_time(at: datetime, now: datetime, lang: str, zone: tzinfo) -> str:
    """Return the time alone for today, else day and time."""
    time = clock_time(at, lang, zone)
    if _local(at, zone).date() == _local(now, zone).date():
        return time
    separator = ", " if lang == "en" else " "
    return f"{day(at, now, lang, zone)}{separator}{time}"


def relative_time(at: datetime, now: datetime, lang: str, zone: tzinfo, text: Text) -> str:
    """Return how long ago, up to a day; older instants as their date."""
    seconds = int((now - at).total_seconds())
    if seconds < 0 or seconds >= _DAY:
        return short_time(at, now, lang, zone) if seconds < 0 else day(at, now, lang, zone)
    if seconds < _MINUTE:
        return text("ui.time.now")
    if seconds < _HOUR:
        return text("ui.time.minutes_ago", count=seconds // _MINUTE)
    return text("ui.time.hours_ago", count=seconds // _HOUR)


def duration(span: timedelta, text: Text) -> str:
    """Return a span in its two largest units: 2 d 5 h, 3 h 18 min, 40 s."""
    seconds = max(int(span.total_seconds()), 0)
    days, rest = divmod(seconds, _DAY)
    hours, rest = divmod(rest, _HOUR)
    minutes, seconds = divmod(rest, _MINUTE)
    units = [("days", days), ("hours", hours), ("minutes", minutes), ("seconds", seconds)]
    first = next((index for index, (_, amount) in enumerate(units) if amount), len(units) - 1)
    shown = [(name, amount) for name, amount in units[first : first + 2] if amount or name == units[first][0]]
    return " ".join(text(f"ui.span.{name}", count=amount) for name, amount in shown)


def span_in_words(span: timedelta, text: Text) -> str:
    """Return a span in its largest unit, for sentences: 2 days, 4 hours."""
    seconds = max(int(span.total_seconds()), 0)
    for name, size in (("days", _DAY), ("hours", _HOUR), ("minutes", _MINUTE)):
        if seconds >= size:
            return text(f"ui.words.{name}", count=seconds // size)
    return text("ui.words.moments")


def due_state(at: datetime, now: datetime) -> DueState:
    """Return whether a due date is past, within 24 hours, or later."""
    if at < now:
        return "late"
    return "soon" if at - now <= timedelta(days=1) else ""


def due_text(at: datetime, now: datetime, lang: str, zone: tzinfo, text: Text) -> str:
    """Return a due date as a list shows it: days late, the time of today or tomorrow, else the day."""
    if at < now:
        return text("ui.due.late", span=span_in_words(now - at, text))
    if at - now > timedelta(days=1):
        return day(at, now, lang, zone)
    time = clock_time(at, lang, zone)
    tomorrow = _local(at, zone).date() != _local(now, zone).date()
    return text("ui.due.tomorrow", time=time) if tomorrow else time


def number(value: int | Decimal) -> str:
    """Return a number with its thousands grouped and its decimals as they are."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,f}"


def is_han(character: str) -> bool:
    """Whether a character is a Chinese one."""
    return "CJK" in unicodedata.name(character, "")


def initials(name: str) -> str:
    """Return what stands in an avatar: two characters of a Chinese name, else the first letters."""
    words = name.replace(".", " ").replace("-", " ").replace("_", " ").split()
    if not words:
        return "?"
    if is_han(words[0][0]):
        return "".join(words)[-2:]
    letters = words[0][0] + (words[-1][0] if len(words) > 1 else words[0][1:2])
    return letters.upper()


def avatar_hue(name: str) -> int:
    """Return the colour of an avatar, 1 to 6, always the same for one name."""
    return sum(ord(character) for character in name) % _HUES + 1
