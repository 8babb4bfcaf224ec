"""Sealed secrets: any of the keys opens, the first seals, and none opens for another owner (spec 13)."""

from __future__ import annotations

import pytest

from webapp.accounts.secret_box import SEALED, SecretBox

OLD, NEW = "the key of last year", "the key of this year"


def test_a_sealed_text_comes_back_and_shows_nothing_of_itself() -> None:
    box = SecretBox([OLD])
    sealed = box.seal("hush \u5bc6\nsecond line", "e1")
    assert box.open(sealed, "e1") == "hush \u5bc6\nsecond line"
    assert sealed.startswith(SEALED)
    assert "hush" not in sealed
    assert box.seal("hush", "e1") != box.seal("hush", "e1")


def test_keys_are_changed_by_naming_the_new_one_first() -> None:
    old, both, new = SecretBox([OLD]), SecretBox([NEW, OLD]), SecretBox([NEW])
    sealed = old.seal("hush", "e1")
    assert (both.open(sealed, "e1"), new.open(sealed, "e1")) == ("hush", None)
    assert (old.is_current(sealed), both.is_current(sealed)) == (True, False)
    again = both.seal("hush", "e1")
    assert both.is_current(again)
    assert (new.open(again, "e1"), old.open(again, "e1")) == ("hush", None)


def test_a_text_opens_for_its_owner_only() -> None:
    box = SecretBox([OLD])
    assert box.open(box.seal("hush", "e1"), "e2") is None
    # An owner's name in front of the text does not help.
    assert box.open(box.seal("e2\nhush", "e1"), "e2") is None


@pytest.mark.parametrize("broken", [SEALED, f"{SEALED}nonsense", f"{SEALED}\u5bc6"])
def test_what_is_broken_opens_to_nothing(broken: str) -> None:
    box = SecretBox([OLD])
    assert box.open(broken, "e1") is None
    assert not box.is_current(broken)


def test_what_was_stored_in_clear_is_read_and_not_current() -> None:
    box = SecretBox([OLD])
    assert box.open("hush", "e1") == "hush"
    assert not box.is_current("hush")
