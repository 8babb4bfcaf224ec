"""Hashing and verifying passwords."""

import pytest

from webapp.accounts.passwords import MAX_PASSWORD_LENGTH, Passwords


@pytest.fixture(scope="module")
def passwords() -> Passwords:
    return Passwords(memory_kib=8, passes=1)


def test_a_hash_is_argon2id_and_does_not_hold_the_password(passwords: Passwords) -> None:
    stored = passwords.hash("correct horse")
    assert stored.startswith("$argon2id$")
    assert "correct horse" not in stored


def test_the_right_password_verifies_and_another_does_not(passwords: Passwords) -> None:
    stored = passwords.hash("correct horse")
    assert passwords.verify(stored, "correct horse")
    assert not passwords.verify(stored, "Correct horse")
    assert not passwords.verify(stored, "")


def test_two_hashes_of_one_password_differ(passwords: Passwords) -> None:
    assert passwords.hash("same") != passwords.hash("same")


def test_without_a_stored_hash_the_same_work_is_done_and_the_answer_is_no(
    passwords: Passwords, monkeypatch: pytest.MonkeyPatch
) -> None:
    verified: list[str] = []
    hasher = passwords._hasher
    original = type(hasher).verify

    def counting(self: object, stored: str, password: str) -> bool:
        verified.append(stored)
        return original(self, stored, password)  # type: ignore[arg-type]  # self is the hasher

    monkeypatch.setattr(type(hasher), "verify", counting)
    assert not passwords.verify(None, "anything")
    assert not passwords.verify(None, "the password of nobody")
    assert len(verified) == 2
    # "$argon2id$v=19$m=…,t=…,p=…$salt$hash": work of the same size is work with the same parameters.
    assert {text.split("$")[:4] == passwords.hash("x").split("$")[:4] for text in verified} == {True}


def test_a_password_longer_than_the_bound_never_verifies_by_its_head(passwords: Passwords) -> None:
    stored = passwords.hash("a" * MAX_PASSWORD_LENGTH)
    assert passwords.verify(stored, "a" * MAX_PASSWORD_LENGTH)
    assert not passwords.verify(stored, "a" * (MAX_PASSWORD_LENGTH + 1))


def test_a_broken_stored_hash_is_a_no(passwords: Passwords) -> None:
    assert not passwords.verify("not a hash", "x")


def test_a_hash_of_other_parameters_is_outdated(passwords: Passwords) -> None:
    assert not passwords.outdated(passwords.hash("x"))
    assert passwords.outdated(Passwords(memory_kib=16, passes=1).hash("x"))
