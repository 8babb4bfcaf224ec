"""The account store (spec 13, 25)."""

import msgspec
import pytest

from tests.stores.records import T0, at
from webapp.accounts.model import Account, Tenant, Token
from webapp.engine.ports.stores import DuplicateRecord


def account(name="ann", **values):
    return Account(**({"id": f"id-{name}", "name": name, "created_at": T0} | values))


def token(name="t", **values):
    defaults = {
        "id": f"id-{name}",
        "account_id": "id-ann",
        "name": name,
        "prefix": "wp",
        "token_hash": f"hash-{name}",
        "created_at": T0,
    }
    return Token(**(defaults | values))


def test_an_account_comes_back_as_it_was(stores):
    stored = account(
        tenant_id="t1",
        display_name="Ann 张",
        email="a@example.com",
        password_hash="$argon2id$x",
        language="zh",
        theme="dark",
        department="hr",
        disabled=True,
        last_seen_at=at(5),
        roles=("manager", "user"),
    )
    stores.accounts.insert(stored)
    assert stores.accounts.find("id-ann") == stored
    assert stores.accounts.find_by_name("ann") == stored
    assert stores.accounts.find("none") is None
    assert stores.accounts.find_by_name("Ann") is None


def test_a_login_name_is_unique_over_the_installation(stores):
    stores.accounts.insert(account())
    with pytest.raises(DuplicateRecord):
        stores.accounts.insert(account(id="other", tenant_id="t1"))
    stores.accounts.insert(account("Ann"))
    assert [item.name for item in stores.accounts.list(None)] == ["Ann", "ann"]


def test_an_update_replaces_the_row_and_the_roles(stores):
    stores.accounts.insert(account(roles=("user", "designer")))
    stores.accounts.update(account(display_name="Ann B", roles=("operator", "user", "user")))
    found = stores.accounts.find("id-ann")
    assert (found.display_name, found.roles) == ("Ann B", ("operator", "user"))
    stores.accounts.update(account(roles=()))
    assert stores.accounts.find("id-ann").roles == ()
    stores.accounts.update(account("nobody"))
    assert stores.accounts.find_by_name("nobody") is None


def test_touch_notes_when_an_account_was_seen(stores):
    stores.accounts.insert(account(roles=("user",)))
    stores.accounts.touch("id-ann", at(9))
    stores.accounts.touch("none", at(9))
    assert stores.accounts.find("id-ann") == account(roles=("user",), last_seen_at=at(9))


def test_the_list_is_of_one_partition_by_name(stores):
    for each in (
        account("carl", display_name="100%"),
        account("bob", display_name="Ärzte"),
        account("ann"),
        account("dora", tenant_id="t1"),
    ):
        stores.accounts.insert(each)
    names = [item.name for item in stores.accounts.list(None)]
    assert names == ["ann", "bob", "carl"]
    assert [item.name for item in stores.accounts.list("t1")] == ["dora"]
    assert [item.name for item in stores.accounts.list(None, limit=2)] == ["ann", "bob"]
    assert [item.name for item in stores.accounts.list(None, "äR")] == ["bob"]
    assert [item.name for item in stores.accounts.list(None, "AN")] == ["ann"]
    assert [item.name for item in stores.accounts.list(None, "%")] == ["carl"]
    assert list(stores.accounts.list(None, "_")) == []


def test_names_that_are_shown(stores):
    stores.accounts.insert(account(display_name="Ann B"))
    stores.accounts.insert(account("bob"))
    stores.accounts.insert(account("eve", tenant_id="t1", display_name="Eve"))
    assert stores.accounts.display_names(None, ["ann", "bob", "eve", "none"]) == {"ann": "Ann B", "bob": "bob"}
    assert stores.accounts.display_names("t1", {"eve"}) == {"eve": "Eve"}
    assert stores.accounts.display_names(None, []) == {}


def test_the_directory_has_everybody_and_no_password(stores):
    stores.accounts.insert(account(password_hash="secret", roles=("user",)))
    stores.accounts.insert(account("bob", tenant_id="t1", department="hr"))
    assert list(stores.accounts.directory()) == [
        account(roles=("user",)),
        account("bob", tenant_id="t1", department="hr"),
    ]


def test_a_token_finds_its_account(stores):
    stores.accounts.insert(account(roles=("operator", "user"), password_hash="x"))
    stored = token(expires_at=at(9), last_used_at=at(1))
    stores.accounts.insert_token(stored)
    assert stores.accounts.find_token("hash-t") == (stored, account(roles=("operator", "user"), password_hash="x"))
    assert stores.accounts.find_token("none") is None


def test_tokens_are_newest_first_and_deleted_by_their_owner_only(stores):
    stores.accounts.insert(account())
    stores.accounts.insert(account("bob"))
    for name, seconds in {"a": 1, "b": 3, "c": 2}.items():
        stores.accounts.insert_token(token(name, created_at=at(seconds)))
    assert [item.name for item in stores.accounts.tokens("id-ann")] == ["b", "c", "a"]
    stores.accounts.delete_token("id-bob", "id-a")
    stores.accounts.delete_token("id-ann", "id-b")
    stores.accounts.delete_token("id-ann", "none")
    assert [item.name for item in stores.accounts.tokens("id-ann")] == ["c", "a"]
    assert list(stores.accounts.tokens("id-bob")) == []
    with pytest.raises(DuplicateRecord):
        stores.accounts.insert_token(token("a", id="other"))


def test_tenants(stores):
    second = Tenant(id="t2", name="Two", enabled=False, database_url="postgresql://x", created_at=at(1))
    stores.accounts.insert_tenant(second)
    stores.accounts.insert_tenant(Tenant(id="t1", name="One", created_at=T0))
    assert stores.accounts.find_tenant("t2") == second
    assert stores.accounts.find_tenant("none") is None
    assert [item.id for item in stores.accounts.tenants()] == ["t1", "t2"]
    with pytest.raises(DuplicateRecord):
        stores.accounts.insert_tenant(msgspec.structs.replace(second, name="Again"))
