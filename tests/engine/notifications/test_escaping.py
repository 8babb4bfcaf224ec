"""What a text becomes where it goes."""

from __future__ import annotations

import html
from urllib.parse import quote, unquote

import pytest

from webapp.engine.notifications.escaping import html_text, link_part, one_line, plain_text, shortened


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Trip\r\nBcc: all@example.org", "Trip Bcc: all@example.org"),
        ("a\x00b\x1bc\x7fd\x9be", "a b c d e"),
        ("a\u2028b\u2029c\x85d\x0be", "a b c d e"),
        ("  two   spaces\t", "two spaces"),
        ("申请\u3000单", "申请 单"),
        ("pay \u202e0001\u202c now \u2066x\u2069", "pay 0001 now x"),
        ("half \ud83d a pair", "half \ufffd a pair"),
        ("\n\r\x00", ""),
    ],
)
def test_a_title_is_one_line_that_shows_what_it_says(text: str, line: str) -> None:
    assert one_line(text) == line


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a\r\nb\rc\u2028d\x85e", "a\nb\nc\nd\ne"),
        ("a\tb", "a\tb"),
        ("a\x00b\x1b[31mc\x0cd", "a b [31mc d"),
        ("\u202eevil\u202c \u2068x\u2069", "evil x"),
        ("\udc00", "\ufffd"),
        ("👍🏽 é שלום\u200f", "👍🏽 é שלום\u200f"),
    ],
)
def test_a_body_keeps_its_lines_and_nothing_that_steers(text: str, kept: str) -> None:
    assert plain_text(text) == kept


def test_html_is_shown_and_not_obeyed() -> None:
    text = """<script>alert('x')</script> & "quoted" \x00"""
    found = html_text(text)
    assert found == "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt; &amp; &quot;quoted&quot;  "
    assert html.unescape(found) == plain_text(text)


@pytest.mark.parametrize("text", ["a/b?c=d&e#f", "../..", "50 %", "申请", "a+b", "-._~", "\r\nHost: x", "javascript:x"])
def test_a_part_of_a_link_leaves_its_place_nowhere(text: str) -> None:
    found = link_part(text)
    assert found == quote(text, safe="")
    assert unquote(found) == text


def test_half_a_character_breaks_no_link() -> None:
    assert link_part("a\ud83d") == "a%3F"


@pytest.mark.parametrize(
    ("text", "cut"), [("abcd", "abcd"), ("abcde", "abc…"), ("ab cde", "ab…"), ("", ""), ("申请单编号", "申请单…")]
)
def test_what_is_too_long_ends_with_an_ellipsis(text: str, cut: str) -> None:
    assert shortened(text, 4) == cut
