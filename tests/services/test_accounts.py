"""Accounts: signing in, tokens, own settings, names, and the directory that the engine asks (spec 13, 25)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.support.engine import ADMIN, Installation, actor
from webapp.accounts.permissions import OPERATOR
from webapp.engine.errors import InputInvalid
from webapp.services.accounts import AccountService
from webapp.services.directory import AccountDirectory


@pytest.fixture
def accounts(house: Installation) -> AccountService:
    """The accounts of an empty installation."""
    return house.services.accounts


def test_signing_in_wants_the_right_password_of_an_enabled_account(
    house: Installation, accounts: AccountService
) -> None:
    made = accounts.create(name="ann", password="correct horse", display_name="Ann Lee")
    house.store_set.clock.advance(60)

    found = accounts.authenticate("ann", "correct horse")
    assert found is not None
    assert (found.id, found.label, found.roles) == (made.id, "Ann Lee", ("user",))
    stored = accounts.find(made.id)
    assert stored is not None
    assert stored.last_seen_at == house.store_set.clock.now()

    for name, password in (("ann", "wrong"), ("ann", ""), ("Ann", "correct horse"), ("bob", "correct horse")):
        assert accounts.authenticate(name, password) is None
    accounts.set_disabled(made, True)
    assert accounts.authenticate("ann", "correct horse") is None
    assert accounts.find(made.id) is None


def test_an_account_without_a_password_cannot_sign_in(accounts: AccountService) -> None:
    accounts.create(name="service")
    assert accounts.authenticate("service", "") is None


def test_an_actor_has_the_rights_and_groups_of_its_roles(accounts: AccountService) -> None:
    made = accounts.create(name="olga", roles=[OPERATOR, "buyers"], department="north", language="zh")
    who = accounts.actor(made, request_id="r1")
    assert who.may("tasks:all")
    assert not who.may("definitions:write")
    assert who.principals == ("olga", "role:operator", "role:buyers", "department:north")
    assert (who.language, who.partition, who.request_id, who.account_id) == ("zh", None, "r1", made.id)


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"name": " "}, "name"),
        ({"name": "a b"}, "name"),
        ({"name": "role:x"}, "name"),
        ({"name": "a,b"}, "name"),
        ({"name": "x" * 129}, "name"),
        ({"name": "ok", "language": "de"}, "language"),
        ({"name": "ok", "password": " "}, "password"),
        ({"name": "ok", "password": "x" * 1025}, "password"),
        ({"name": "taken"}, "name"),
    ],
)
def test_a_bad_account_is_refused(accounts: AccountService, given: dict[str, str], path: str) -> None:
    accounts.create(name="taken")
    with pytest.raises(InputInvalid) as refused:
        accounts.create(**given)
    assert [problem.path for problem in refused.value.problems] == [path]


def test_a_login_name_is_unique_over_all_partitions(accounts: AccountService) -> None:
    accounts.create(name="ann", tenant_id="acme")
    with pytest.raises(InputInvalid):
        accounts.create(name="ann")
    assert accounts.create(name="bob", tenant_id="acme").tenant_id == "acme"


def test_own_settings(accounts: AccountService) -> None:
    made = accounts.create(name="ann", password="old one")
    who = accounts.actor(made)
    accounts.set_language(who, "zh")
    accounts.set_theme(who, "dark")
    with pytest.raises(InputInvalid):
        accounts.change_password(who, "wrong", "new one")
    accounts.change_password(who, "old one", "new one")
    found = accounts.authenticate("ann", "new one")
    assert found is not None
    assert (found.language, found.theme) == ("zh", "dark")
    assert accounts.authenticate("ann", "old one") is None
    accounts.set_theme(who, None)
    with pytest.raises(InputInvalid):
        accounts.set_language(who, "fr")
    with pytest.raises(InputInvalid):
        accounts.set_theme(who, "pink")


def test_a_token_stands_for_its_account_until_its_time(house: Installation, accounts: AccountService) -> None:
    made = accounts.create(name="worker", roles=["worker"])
    who = accounts.actor(made)
    token, text = accounts.create_token(made.id, "robot", house.store_set.clock.now() + timedelta(hours=1))
    assert text not in repr(accounts.tokens(who))
    assert text.startswith(token.prefix)

    found = accounts.actor_for_token(text)
    assert found is not None
    assert (found.name, found.may("external-tasks:work")) == ("worker", True)
    assert accounts.actor_for_token(text + "x") is None
    house.store_set.clock.advance(3600)
    assert accounts.actor_for_token(text) is None


def test_tokens_of_a_disabled_account_and_deleted_ones_do_not_work(accounts: AccountService) -> None:
    made = accounts.create(name="worker")
    who = accounts.actor(made)
    first, one = accounts.create_token(made.id, "first")
    _, two = accounts.create_token(made.id, "second")
    accounts.delete_token(who, first.id)
    assert accounts.actor_for_token(one) is None
    assert accounts.actor_for_token(two) is not None
    accounts.set_disabled(made, True)
    assert accounts.actor_for_token(two) is None


def test_nobody_deletes_another_ones_token(accounts: AccountService) -> None:
    made = accounts.create(name="ann")
    token, text = accounts.create_token(made.id, "mine")
    accounts.delete_token(accounts.actor(accounts.create(name="bob")), token.id)
    assert accounts.actor_for_token(text) is not None


def test_names_and_search_stay_in_the_partition(accounts: AccountService) -> None:
    accounts.create(name="ann", display_name="Ann Lee", password="secret pass")
    accounts.create(name="lin", display_name="林安", tenant_id="acme")
    accounts.set_disabled(accounts.create(name="old", display_name="Ann Old"), True)
    assert accounts.names(ADMIN, ["ann", "lin", "nobody", ""]) == {"ann": "Ann Lee"}
    assert accounts.names(ADMIN, []) == {}
    found = accounts.search(ADMIN, "ann")
    assert [(one.name, one.password_hash) for one in found] == [("ann", None)]
    assert [one.name for one in accounts.search(actor("x", partition="acme"), "林")] == ["lin"]


def test_the_directory_is_at_most_five_seconds_old(house: Installation, accounts: AccountService) -> None:
    directory = AccountDirectory(house.store_set.accounts, house.store_set.clock)
    directory.refresh()
    assert directory.known(None, ["ann"]) == frozenset()
    made = accounts.create(name="ann", roles=["buyers"], department="north")
    directory.refresh()
    assert directory.known(None, ["ann"]) == frozenset()
    house.store_set.clock.advance(5.1)
    directory.refresh()
    assert directory.known(None, ["ann", "bob"]) == {"ann"}
    # What was read before the clock was put back is of no known age.
    accounts.create(name="bob")
    house.store_set.clock.advance(-3600)
    directory.refresh()
    assert directory.known(None, ["ann", "bob"]) == {"ann", "bob"}
    assert directory.known("acme", ["ann"]) == frozenset()
    assert directory.members(None, "role:buyers") == directory.members(None, "department:north") == {"ann"}
    accounts.set_disabled(made, True)
    directory.forget()
    directory.refresh()
    assert directory.disabled(None, ["ann"]) == {"ann"}
    assert directory.members(None, "role:buyers") == frozenset()
