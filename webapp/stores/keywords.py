"""Keyword folding (spec 8.5): one pure rule for what is stored and for what is looked for."""

from __future__ import annotations

from functools import lru_cache

SEPARATOR = "\x1f"
"""Stands between joined fields; it occurs in no field and in no keyword, so a hit lies inside one field."""

SORT_KEY_LENGTH = 256
"""Title sorts look at so many characters only (spec 8.3)."""

_DROPPED = str.maketrans("", "", SEPARATOR + "\x00")


@lru_cache(maxsize=65_536)
def _lower(character: str) -> str:
    lowered = character.lower()
    return lowered if len(lowered) == 1 else character


def fold(text: str) -> str:
    """Return the text in lower case, character by character: no culture, no width, no length changes."""
    if text.isascii():
        return text.lower()
    return "".join(map(_lower, text))


def fold_field(text: str | None) -> str | None:
    """Return one folded search field, or None for none."""
    return None if text is None else fold(text.translate(_DROPPED))


def join_fields(*fields: str | None) -> str:
    """Return several folded fields in one column; absent ones are left out."""
    return SEPARATOR.join(fold(field.translate(_DROPPED)) for field in fields if field)


def fold_keyword(keyword: str | None) -> str | None:
    """Return what is looked for, or None when a blank keyword filters nothing."""
    if keyword is None:
        return None
    return fold(keyword.translate(_DROPPED).strip()) or None


def sort_key(title: str | None) -> str:
    """Return the key that lists sort titles by (decision D22)."""
    return fold((title or "")[:SORT_KEY_LENGTH])


MAX_BIGRAMS = 4
"""So many narrow a search enough: each more is another long list to go through, and the literal comparison decides."""


def keyword_bigrams(keyword: str) -> list[str]:
    """Return the bigrams of a folded keyword that an index is asked for: without overlap, a few at most."""
    starts = range(0, len(keyword) - 1, 2)
    found = list(dict.fromkeys(keyword[start : start + 2] for start in (*starts, len(keyword) - 2) if start >= 0))
    if len(found) <= MAX_BIGRAMS:
        return found
    return [found[place * (len(found) - 1) // (MAX_BIGRAMS - 1)] for place in range(MAX_BIGRAMS)]
