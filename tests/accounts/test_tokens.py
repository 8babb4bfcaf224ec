"""Making and hashing API tokens."""

import hashlib

from webapp.accounts.tokens import hash_token, new_token


def test_a_token_is_recognisable_and_only_its_hash_is_for_the_store() -> None:
    token = new_token()
    assert token.text.startswith("wpt_")
    assert token.text.startswith(token.prefix)
    assert len(token.prefix) == 10
    assert token.token_hash == hashlib.sha256(token.text.encode()).hexdigest()


def test_tokens_differ() -> None:
    assert len({new_token().text for _ in range(50)}) == 50


def test_a_token_with_a_lone_surrogate_has_a_hash_and_matches_nothing() -> None:
    assert hash_token("\ud800") != hash_token("")
