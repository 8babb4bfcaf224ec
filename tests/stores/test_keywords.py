"""Keyword folding (spec 8.5)."""

import pytest

from webapp.stores.keywords import SEPARATOR, fold, fold_field, fold_keyword, join_fields, sort_key


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Leave REQUEST", "leave request"),
        ("ÄÖÜ Éa", "äöü éa"),
        ("ΟΔΟΣ", "οδοσ"),  # the last sigma folds as every other
        ("İstanbul", "İstanbul"),  # its lower case has two characters
        ("ＡＢｃ", "ａｂｃ"),  # full width stays full width
        ("请假Ａ", "请假ａ"),
        ("𐐀", "𐐨"),
    ],
)
def test_folding_is_by_character(text, folded):
    assert fold(text) == folded
    assert len(fold(text)) == len(text)


@pytest.mark.parametrize("blank", [None, "", "  \t\n", SEPARATOR, " \x00 "])
def test_blank_keywords_do_not_filter(blank):
    assert fold_keyword(blank) is None


def test_a_keyword_is_trimmed_and_folded():
    assert fold_keyword("  Leave  Of ") == "leave  of"


def test_the_separator_is_in_no_field_and_no_keyword():
    assert join_fields("A" + SEPARATOR + "b", None, "", "C") == "ab" + SEPARATOR + "c"
    assert fold_keyword("b" + SEPARATOR + "C") == "bc"
    assert fold_field("x\x1fY") == "xy"
    assert fold_field(None) is None


def test_titles_sort_by_their_first_256_characters():
    assert sort_key("A" * 256 + "b") == sort_key("A" * 256 + "c") == "a" * 256
    assert sort_key(None) == ""
