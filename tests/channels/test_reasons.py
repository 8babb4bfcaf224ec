"""What a failure says is kept without what opens the address it is about (spec 10, Privacy)."""

from __future__ import annotations

import pytest

from tests.support.outgoing import endpoint
from webapp.channels.reasons import LONGEST, masked
from webapp.engine.notifications.model import ChannelKind


@pytest.mark.parametrize(
    ("address", "said", "shown"),
    [
        ("https://h.test/in?key=t0ken", "no entry with t0ken", "no entry with ***"),
        ("https://h.test/in?a=1&t0ken", "no entry with t0ken", "no entry with ***"),
        ("https://h.test/in?key=t%3Dken", "no entry with t=ken or t%3Dken", "no entry with *** or ***"),
        ("https://t0ken@h.test/in", "t0ken is nobody", "*** is nobody"),
        ("https://me:t0ken@h.test/in", "me has not t0ken", "me has not ***"),
        ("https://h.test/hook/long-t0ken", "/hook/long-t0ken is gone", "/hook/*** is gone"),
        ("https://h.test/in", "calls https://h.test/in", "calls ***"),
        ("", "the secret word is sesame", "the secret word is ***"),
    ],
)
def test_what_opens_an_address_is_not_repeated(address: str, said: str, shown: str) -> None:
    assert masked(said, endpoint(ChannelKind.WEBHOOK, address, "sesame")) == shown


def test_a_reason_is_one_short_line_and_names_no_address_of_a_person() -> None:
    hook = endpoint(ChannelKind.EMAIL)
    assert masked("no\r\nsuch\tuser anna@example.org", hook, "anna@example.org") == "no such user a***@example.org"
    assert len(masked("x" * 1_000, hook)) == LONGEST
