"""What an account and an actor say about themselves."""

from __future__ import annotations

from datetime import UTC, datetime

from webapp.accounts.demo import DEMO_ACCOUNTS, is_demo_login
from webapp.accounts.model import Account, Actor


def test_an_account_is_shown_by_its_name_for_people() -> None:
    account = Account(id="1", name="lin", created_at=datetime(2026, 1, 1, tzinfo=UTC))
    assert account.label == "lin"
    shown = Account(id="1", name="lin", display_name="Lin Wei", created_at=datetime(2026, 1, 1, tzinfo=UTC))
    assert shown.label == "Lin Wei"


def test_an_actors_principals_are_its_name_its_roles_and_its_department() -> None:
    actor = Actor(account_id="1", name="lin", display_name="Lin", roles=("user", "finance"), department="sales")
    assert actor.principals == ("lin", "role:user", "role:finance", "department:sales")
    assert Actor(account_id="1", name="lin", display_name="Lin").principals == ("lin",)


def test_an_actor_may_what_is_among_its_permissions() -> None:
    actor = Actor(account_id="1", name="lin", display_name="Lin", permissions=frozenset({"tasks:all"}))
    assert actor.may("tasks:all")
    assert not actor.may("instances:read")


def test_the_demonstration_has_the_five_accounts_of_the_specification() -> None:
    assert [(account.name, account.role) for account in DEMO_ACCOUNTS] == [
        ("admin", "administrator"),
        ("designer", "designer"),
        ("employee", "user"),
        ("manager", "user"),
        ("operator", "operator"),
    ]


def test_only_the_published_password_makes_a_demo_login() -> None:
    assert is_demo_login("admin", "admin")
    assert not is_demo_login("admin", "another")
    assert not is_demo_login("lin", "lin")
