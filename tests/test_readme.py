"""The README's settings table says what webapp/config/__init__.py does. Run this file to write the table anew."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from webapp.config import OPTIONS, Option
from webapp.messages.catalog import Catalog

README = Path(__file__).parents[1] / "README.md"
BEGIN = "<!-- settings: made from webapp/config/__init__.py; tests/test_readme.py compares them -->\n"
END = "<!-- /settings -->"


def table() -> str:
    words = Catalog.load(strict=True)

    def default(option: Option) -> str:
        return words.text(option.default_key) if option.default is None else f"`{option.default}`"

    rows = ["| variable | default | allowed | what for |", "|---|---|---|---|"]
    for option in OPTIONS:
        cells = [f"`{option.variable}`", default(option), option.kind.allowed, words.text(option.help_key)]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def parts(text: str) -> tuple[str, str, str]:
    before, begin, rest = text.partition(BEGIN)
    inside, end, after = rest.partition(END)
    assert begin and end, "README.md has lost the marks around its settings table"
    return before + begin, inside, end + after


def test_the_readme_lists_every_setting_as_it_is() -> None:
    assert parts(README.read_text("utf-8"))[1] == table()


def test_the_readme_names_only_files_that_are_there() -> None:
    text = README.read_text("utf-8")
    for name in ("CONTRIBUTING.md", "ARCHITECTURE.md", "LICENSE", "static/img/screenshot.png"):
        assert f"]({name})" in text
        assert (README.parent / name).is_file()


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"])
def test_every_path_that_the_documents_name_is_there(name: str) -> None:
    """A path is what stands in backquotes, holds a slash and begins with a folder of the project."""
    text = (README.parent / name).read_text("utf-8")
    paths = re.findall(r"`((?:webapp|static|templates|tests|migrations)/[^`\s<>{}*]*)`", text)
    built = ("static/dist",)
    assert [path for path in paths if not path.startswith(built) and not (README.parent / path).exists()] == []


if __name__ == "__main__":
    before, _, after = parts(README.read_text("utf-8"))
    README.write_text(before + table() + after, encoding="utf-8")
