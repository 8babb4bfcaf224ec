"""The built-in texts of notices, out of the catalogue: what is told where no template was written (spec 10)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from webapp.engine.notifications.model import EventType
from webapp.engine.notifications.templates import NAMES, Text
from webapp.messages.catalog import LANGUAGES, Catalog, Language

_AREA = "notices.built_in"
_SAMPLES = "notices.sample"


class BuiltInTexts:
    """Title and body of every event type in every language of the product, with their ``{names}`` unfilled."""

    def __init__(self, catalog: Catalog) -> None:
        self._texts = {
            (event_type, language): _text(catalog.area(_AREA, language), event_type)
            for language in LANGUAGES
            for event_type in NAMES
        }
        self._samples = {
            language: {
                key.removeprefix(f"{_SAMPLES}."): str(text) for key, text in catalog.area(_SAMPLES, language).items()
            }
            for language in LANGUAGES
        }

    def text(self, event_type: EventType, language: str) -> Text:
        """Return the text of an event type; a language that the product does not have gets the English one.

        :raises KeyError: the event type has no templates (a node's listener brings its own text).
        """
        return self._texts[event_type, spoken(language)]

    def samples(self, language: str) -> Mapping[str, str]:
        """Return a sample value for each name, for trying a text out."""
        return self._samples[spoken(language)]


def spoken(language: str | None) -> Language:
    """Return the language if the product has it, else the first one."""
    return next((one for one in LANGUAGES if one == language), LANGUAGES[0])


@cache
def built_in_texts() -> BuiltInTexts:
    """Return the texts of the installed product; they never change while the process runs."""
    return BuiltInTexts(Catalog.load())


def _text(texts: Mapping[str, object], event_type: EventType) -> Text:
    return Text(*(str(texts[f"{_AREA}.{event_type.value}.{part}"]) for part in Text._fields))
