"""The message catalog, on files made here and on the product's own."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from webapp.messages.catalog import LANGUAGES, Catalog, Language, Message, MessageError, placeholders


def catalog(en: dict[str, Message], zh: dict[str, Message] | None = None, *, strict: bool = True) -> Catalog:
    return Catalog({"en": en, "zh": zh if zh is not None else en}, strict=strict)


def write(folder: Path, name: str, content: str) -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content, encoding="utf-8")


def test_a_text_comes_in_the_language_asked_for() -> None:
    words = catalog({"inbox.title": "Inbox"}, {"inbox.title": "收件箱"})
    assert words.text("inbox.title") == "Inbox"
    assert words.text("inbox.title", {}, "zh") == "收件箱"


def test_placeholders_are_filled_in_the_order_of_the_language() -> None:
    words = catalog({"k": "{who} decided {what}"}, {"k": "{what}由{who}处理"})
    args = {"who": "Anna", "what": "A-1"}
    assert words.text("k", args) == "Anna decided A-1"
    assert words.text("k", args, "zh") == "A-1由Anna处理"


def test_filled_in_text_is_never_filled_again() -> None:
    assert catalog({"k": "{a} {b}"}).text("k", {"a": "{b}", "b": "x"}) == "{b} x"


def test_a_placeholder_reaches_no_attribute_or_item() -> None:
    words = catalog({"k": "{a.__class__} {a[0]} {a!r} {0}"})
    assert words.text("k", {"a": "x"}) == "{a.__class__} {a[0]} {a!r} {0}"


def test_a_workflow_template_in_a_text_stays_as_it_is() -> None:
    text = "Write {{ name }}, {{name}} or {name}"
    assert catalog({"k": text}).text("k", {"name": "N"}) == "Write {{ name }}, {{name}} or N"


@pytest.mark.parametrize(
    ("count", "en", "zh"),
    [(0, "0 tasks", "0 个任务"), (1, "1 task", "1 个任务"), (2, "2 tasks", "2 个任务")],
)
def test_count_chooses_the_plural_form(count: int, en: str, zh: str) -> None:
    words = catalog(
        {"k": {"one": "{count} task", "other": "{count} tasks"}},
        {"k": {"other": "{count} 个任务"}},
    )
    assert words.text("k", {"count": count}) == en
    assert words.text("k", {"count": count}, "zh") == zh


def test_a_plural_without_count_takes_the_other_form() -> None:
    assert catalog({"k": {"one": "a task", "other": "tasks"}}).text("k") == "tasks"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12345, "12345"),
        (None, ""),
        (True, "true"),
        (Decimal("1.50"), "1.50"),
        (Decimal("1E+3"), "1000"),
        (Decimal("1E-7"), "0.0000001"),
        (["a", 2], "a, 2"),
    ],
)
def test_arguments_become_text(value: object, text: str) -> None:
    assert catalog({"k": "{v}"}).text("k", {"v": value}) == text


def test_digits_are_grouped_only_when_the_text_says_so() -> None:
    words = catalog({"k": "{n:number} {d:number} {n}"})
    assert words.text("k", {"n": 1234567, "d": Decimal("1234.50")}) == "1,234,567 1,234.50 1234567"


def test_chinese_lists_take_the_chinese_comma() -> None:
    assert catalog({"k": "{v}"}).text("k", {"v": ("甲", "乙")}, "zh") == "甲、乙"


def test_outside_tests_an_unknown_key_is_shown_as_it_is() -> None:
    assert catalog({}, strict=False).text("no.such") == "no.such"


def test_outside_tests_a_missing_argument_leaves_its_placeholder() -> None:
    assert catalog({"k": "{a} {b}"}, strict=False).text("k", {"a": 1}) == "1 {b}"


def test_outside_tests_a_text_missing_in_chinese_comes_in_english() -> None:
    assert catalog({"k": "Inbox"}, {}, strict=False).text("k", {}, "zh") == "Inbox"


def test_a_strict_catalog_refuses_an_unknown_key_and_a_missing_argument() -> None:
    words = catalog({"k": "{a}"})
    with pytest.raises(MessageError, match=r"no\.such"):
        words.text("no.such")
    with pytest.raises(MessageError, match="'a'"):
        words.text("k")


def test_an_area_is_what_stands_below_the_prefix() -> None:
    words = catalog({"designer.save": "Save {n}", "designer": "Designer", "designers": "x"}, {"designer.save": "保存"})
    assert words.area("designer") == {"designer.save": "Save {n}", "designer": "Designer"}
    assert words.area("designer.save", "zh") == {"designer.save": "保存"}


def test_areas_are_merged_over_the_files(tmp_path: Path) -> None:
    for language in LANGUAGES:
        write(tmp_path, f"{language}/a.json", '{"a.x": "1"}')
        write(tmp_path, f"{language}/b.json", '{"b.x": "2"}')
    words = Catalog.load(tmp_path, strict=True)
    assert list(words) == ["a.x", "b.x"]
    assert words.has("a.x")
    assert not words.has("a")


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"en/a.json": '{"k": "1"}', "en/b.json": '{"k": "2"}'}, r"'k'.*en/a\.json.*en/b\.json"),
        ({"en/a.json": '{"k": "1", "k": "2"}'}, "'k' is there twice"),
        ({"en/a.json": '{"k": {"one": "1"}}'}, "'k' is neither"),
        ({"en/a.json": '{"k": {"few": "1", "other": "2"}}'}, "'k' is neither"),
        ({"en/a.json": '{"k": 1}'}, "'k' is neither"),
        ({"en/a.json": "[]"}, "no object"),
        ({"en/a.json": "{"}, "no JSON"),
    ],
)
def test_a_broken_file_is_refused_and_named(tmp_path: Path, files: dict[str, str], told: str) -> None:
    for name, content in files.items():
        write(tmp_path, name, content)
    with pytest.raises(MessageError, match=told):
        Catalog.load(tmp_path)


@pytest.mark.parametrize(
    ("en", "zh", "told"),
    [
        ({"k": "1"}, {}, ["k: not in zh"]),
        ({}, {"k": "1"}, ["k: not in en"]),
        ({"k": "{a}"}, {"k": "{b}"}, ["k: en and zh have different placeholders"]),
        ({"k": {"other": "1"}}, {"k": {"other": "1"}}, ["k: no form 'one' in en"]),
        ({"k": " "}, {"k": "1"}, ["k: an empty text in en"]),
        ({"k": {"one": "{a}", "other": "{count}"}}, {"k": {"other": "{a}{count}"}}, []),
    ],
)
def test_problems_tell_what_the_twins_lack(en: dict[str, Message], zh: dict[str, Message], told: list[str]) -> None:
    assert catalog(en, zh).problems() == told


def test_the_product_says_everything_in_both_languages() -> None:
    words = Catalog.load(strict=True)
    assert words.problems() == []
    assert any(words)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_of_the_product_can_be_made(language: Language) -> None:
    words = Catalog.load(strict=True)
    for key, message in words.area("", language).items():
        args = dict.fromkeys(placeholders(message), 2)
        assert words.text(key, {"count": 2, **args}, language).strip(), key
