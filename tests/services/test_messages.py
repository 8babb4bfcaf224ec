"""Every refusal of the services has a text in both languages."""

from __future__ import annotations

import re
from pathlib import Path

import webapp.services
from webapp.messages.catalog import Catalog
from webapp.services.topics import TEST_TOPIC

_KEY = re.compile(r'f?"((?:services|workflow|access)\.[a-z_.{}]+)"')
FOLDER = Path(webapp.services.__file__).parent


def _keys() -> set[str]:
    found = {key for path in FOLDER.rglob("*.py") for key in _KEY.findall(path.read_text(encoding="utf-8"))}
    # The one key that is put together: which status was wanted.
    wanted = "services.definition.not_{wanted}"
    assert wanted in found
    return (found - {wanted, TEST_TOPIC}) | {wanted.format(wanted=status) for status in ("draft", "published")}


def test_every_key_has_a_text_in_both_languages() -> None:
    catalog = Catalog.load(strict=True)
    assert [key for key in sorted(_keys()) if not catalog.has(key)] == []
    assert [problem for problem in catalog.problems() if problem.startswith(("services.", "access."))] == []


def test_no_text_of_the_services_is_left_over() -> None:
    known = {key for key in Catalog.load(strict=True) if key.startswith(("services.", "access."))}
    assert known - _keys() == set()
