"""Who is mentioned in a comment."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from webapp.engine.notifications.mentions import MAX_MENTIONS, mentioned

ACCOUNTS = {"emma", "bob", "bob-smith", "li.wei", "ann@corp.example", "张伟"}


def known(names: Collection[str]) -> Collection[str]:
    return ACCOUNTS.intersection(names)


@pytest.mark.parametrize(
    ("comment", "found"),
    [
        ("", []),
        ("nobody here", []),
        ("@emma please", ["emma"]),
        ("please, @emma!", ["emma"]),
        ("(@emma) and @bob. Thanks @emma", ["emma", "bob"]),
        ("@bob-smith is not @bob", ["bob-smith", "bob"]),
        ("@bob-jones and @bobby and @bob.jones", []),
        ("@li.wei.", ["li.wei"]),
        ("mail bob@emma or x.@emma", []),
        ("@ann@corp.example", ["ann@corp.example"]),
        ("请@emma看一下，@张伟也看", ["emma", "张伟"]),
        ("\uff20emma", ["emma"]),
        ("@ emma", []),
        ("@Emma", []),
    ],
)
def test_known_logins_after_an_at_sign_are_mentioned(comment: str, found: list[str]) -> None:
    assert mentioned(comment, known) == found


def test_only_so_many_are_looked_at() -> None:
    assert mentioned("@x " * (MAX_MENTIONS - 1) + "@emma @bob", known) == ["emma"]
