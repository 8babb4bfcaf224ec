"""The message catalog: key and arguments to a text in the reader's language.

A text may hold placeholders, ``{name}`` or ``{name:number}`` (digits grouped); ``{{ … }}`` is left alone, since that is
how a template of a workflow looks. A text that depends on a number is ``{"one": …, "other": …}``, chosen by the
argument ``count``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, cast, get_args

Language = Literal["en", "zh"]
"""The languages there are; ``zh`` is Simplified Chinese, in HTML ``zh-CN``."""

LANGUAGES: tuple[Language, ...] = get_args(Language)

Message = str | dict[str, str]
"""A text, or one for each plural form."""

PLURAL_FORMS: Mapping[Language, frozenset[str]] = {
    "en": frozenset({"one", "other"}),
    "zh": frozenset({"other"}),
}
"""The forms a plural message must have; Chinese has one, and may repeat it as ``one``."""

_PLACEHOLDER = re.compile(r"(?<!\{)\{([A-Za-z_][A-Za-z0-9_]*)(?::([a-z]+))?\}(?!\})")
_LIST_SEPARATOR: Mapping[Language, str] = {"en": ", ", "zh": "、"}
_NO_ARGUMENTS: Mapping[str, Any] = {}


class MessageError(Exception):
    """A catalog file is not what it must be, or a text was asked for that cannot be made."""


class Catalog:
    """All texts of all areas, by key and language.

    A *strict* catalog, as tests use it, raises for an unknown key or a missing argument; any other shows the key or
    leaves the placeholder, because a page with one odd word is better than none.
    """

    def __init__(self, messages: Mapping[Language, Mapping[str, Message]], *, strict: bool = False) -> None:
        self._messages = {language: dict(messages.get(language, {})) for language in LANGUAGES}
        self._strict = strict

    @classmethod
    def load(cls, folder: Path | None = None, *, strict: bool = False) -> Catalog:
        """Read ``<language>/<area>.json`` below *folder* (default: this package) and merge the areas.

        :raises MessageError: a file is no flat object of texts, or a key is there twice.
        """
        root = folder or Path(__file__).parent
        return cls({language: _read_language(root / language, language) for language in LANGUAGES}, strict=strict)

    def has(self, key: str) -> bool:
        """Tell whether there is a text for *key*."""
        return key in self._messages["en"]

    def __iter__(self) -> Iterator[str]:
        """Yield every key of the English texts, sorted."""
        yield from sorted(self._messages["en"])

    def text(self, key: str, args: Mapping[str, Any] = _NO_ARGUMENTS, lang: Language = "en") -> str:
        """Return the text of *key* in *lang*, its placeholders filled from *args*.

        A text that is missing in Chinese comes in English; an unknown key comes back as it is.

        :raises MessageError: the catalog is strict and the key or an argument is missing.
        """
        message = self._messages[lang].get(key, self._messages["en"].get(key))
        if message is None:
            if self._strict:
                raise MessageError(f"No message has the key {key!r}.")
            return key
        pattern = message if isinstance(message, str) else _plural_form(message, args.get("count"), lang)
        return _PLACEHOLDER.sub(self._filler(key, args, lang), pattern)

    def area(self, prefix: str, lang: Language = "en") -> dict[str, Message]:
        """Return the unfilled texts whose key is *prefix* or begins with it and a dot, for a script in the page.

        An empty prefix gives all.
        """
        return {
            key: self._messages[lang].get(key, message)
            for key, message in self._messages["en"].items()
            if not prefix or key == prefix or key.startswith(f"{prefix}.")
        }

    def problems(self) -> list[str]:
        """Return what the languages lack or tell differently: a key, a plural form, a placeholder."""
        english, chinese = self._messages["en"], self._messages["zh"]
        found = [f"{key}: not in zh" for key in english.keys() - chinese.keys()]
        found += [f"{key}: not in en" for key in chinese.keys() - english.keys()]
        for key in english.keys() & chinese.keys():
            if placeholders(english[key]) != placeholders(chinese[key]):
                found.append(f"{key}: en and zh have different placeholders")
        for language, messages in self._messages.items():
            found += [f"{key}: {problem} in {language}" for key, problem in _form_problems(messages, language)]
        return sorted(found)

    def _filler(self, key: str, args: Mapping[str, Any], lang: Language) -> Callable[[re.Match[str]], str]:
        def fill(match: re.Match[str]) -> str:
            name, style = match.group(1), match.group(2)
            if name not in args:
                if self._strict:
                    raise MessageError(f"The message {key!r} needs the argument {name!r}.")
                return match.group(0)
            return format_value(args[name], lang, grouped=style == "number")

        return fill


def placeholders(message: Message) -> frozenset[str]:
    """Return the names of a message's placeholders, over all its plural forms."""
    texts = [message] if isinstance(message, str) else message.values()
    return frozenset(match.group(1) for text in texts for match in _PLACEHOLDER.finditer(text))


def format_value(value: object, lang: Language, *, grouped: bool = False) -> str:
    """Return an argument as text: nothing for None, a list with the language's comma, a number without exponent."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int() | Decimal():
            return format(value, "," if grouped else "") if isinstance(value, int) else _decimal(value, grouped)
        case list() | tuple() | set() | frozenset():
            return _LIST_SEPARATOR[lang].join(format_value(item, lang, grouped=grouped) for item in value)
        case _:
            return str(value)


def _decimal(value: Decimal, grouped: bool) -> str:
    return format(value, ",f" if grouped else "f")


def _plural_form(message: Mapping[str, str], count: object, lang: Language) -> str:
    if lang == "en" and count == 1 and "one" in message:
        return message["one"]
    return message["other"]


def _form_problems(messages: Mapping[str, Message], language: Language) -> Iterator[tuple[str, str]]:
    for key, message in messages.items():
        if isinstance(message, dict):
            for form in PLURAL_FORMS[language] - message.keys():
                yield key, f"no form '{form}'"
        elif not message.strip():
            yield key, "an empty text"


def _read_language(folder: Path, language: Language) -> dict[str, Message]:
    merged: dict[str, Message] = {}
    home: dict[str, str] = {}
    for path in sorted(folder.glob("*.json")):
        for key, message in _read_area(path).items():
            if key in merged:
                raise MessageError(f"The key {key!r} is in {language}/{home[key]} and in {language}/{path.name}.")
            merged[key] = message
            home[key] = path.name
    return merged


def _read_area(path: Path) -> dict[str, Message]:
    def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            names = [name for name, _ in pairs]
            raise MessageError(f"{path}: the key {next(n for n in names if names.count(n) > 1)!r} is there twice.")
        return members

    try:
        area = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=without_duplicates)
    except ValueError as error:
        raise MessageError(f"{path} is no JSON: {error}") from error
    if not isinstance(area, dict):
        raise MessageError(f"{path} is no object of key and text.")
    for key, message in area.items():
        if not _is_message(message):
            raise MessageError(f"{path}: {key!r} is neither a text nor plural forms with 'other'.")
    return cast("dict[str, Message]", area)


def _is_message(message: object) -> bool:
    if isinstance(message, str):
        return True
    if not isinstance(message, dict) or "other" not in message:
        return False
    return message.keys() <= {"one", "other"} and all(isinstance(text, str) for text in message.values())
