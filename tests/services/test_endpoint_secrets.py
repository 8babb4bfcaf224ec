"""Addresses and secrets of endpoints lie sealed in the database, and a lost key loses nothing but them (spec 13)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.services.outgoing import Post, post
from tests.support.engine import ADMIN
from tests.support.stores import StoreSet
from webapp.engine.errors import Conflict, InputInvalid
from webapp.engine.notifications.model import Endpoint
from webapp.services.endpoints import EndpointSettings

OLD, NEW = ["the key of last year"], ["the key of this year"]
ADDRESS = "https://example.org/in"
SECRET = "a secret that only two know"  # of a test


def house_of(stores: StoreSet, keys: list[str]) -> Post:
    return post(stores, secret_keys=keys)


def stored(stores: StoreSet) -> Endpoint:
    (found,) = stores.notice_settings.endpoints()
    return found


def edit(house: Post, endpoint: Endpoint, **changes: Any) -> Endpoint:
    now = house.house.services.endpoints.get(ADMIN, endpoint.id)
    values: dict[str, Any] = {"name": now.name, "address": now.address, "topics": now.topics} | changes
    return house.house.services.endpoints.update(
        ADMIN, endpoint.id, EndpointSettings(**values), expected_revision=now.revision
    )


def test_rows_show_neither_address_nor_secret_and_channels_get_both(stores: StoreSet) -> None:
    house = house_of(stores, OLD)
    hook = house.endpoint(secret=SECRET)
    row = stored(stores)
    assert SECRET not in repr(row)
    assert "example.org" not in repr(row)
    house.line(hook, "one")
    assert house.send().sent == 1
    (message,) = house.channel.taken
    assert (message.endpoint.address, message.endpoint.secret) == (ADDRESS, SECRET)
    # A change of something else keeps both.
    edit(house, hook, name="other")
    house.line(hook, "two")
    assert house.send().sent == 1
    assert house.channel.taken[-1].endpoint.secret == SECRET


def test_what_was_stored_in_clear_is_read_and_sealed_by_housekeeping(stores: StoreSet) -> None:
    house = house_of(stores, OLD)
    clear = Endpoint(
        id="e1", kind=house.channel.kind, name="old", address=ADDRESS, secret=SECRET, topics=["workflow.*"],
        created_at=house.now, updated_at=house.now,
    )  # fmt: skip
    stores.notice_settings.insert_endpoint(clear)
    house.line(clear, "one")
    assert house.send().sent == 1
    assert house.channel.taken[0].endpoint.secret == SECRET
    house.house.services.housekeeping.housekeep()
    assert SECRET not in repr(stored(stores))
    assert stored(stores).revision == clear.revision
    house.line(clear, "two")
    assert house.send().sent == 1
    assert house.channel.taken[1].endpoint.secret == SECRET


def test_keys_are_changed_without_anybody_noticing(stores: StoreSet) -> None:
    hook = house_of(stores, OLD).endpoint(secret=SECRET)
    both = house_of(stores, NEW + OLD)
    both.house.services.housekeeping.housekeep()
    sealed = stored(stores)
    both.house.services.housekeeping.housekeep()
    assert stored(stores) == sealed
    new = house_of(stores, NEW)
    new.line(hook, "one")
    assert new.send().sent == 1
    assert new.channel.taken[0].endpoint.secret == SECRET


def test_under_a_lost_key_deliveries_wait_with_the_reason_until_it_is_entered_anew(stores: StoreSet) -> None:
    hook = house_of(stores, OLD).endpoint(secret=SECRET)
    house = house_of(stores, NEW)
    shown = house.house.services.endpoints.get(ADMIN, hook.id)
    assert (shown.unreadable, shown.address, shown.secret) == (["address", "secret"], "", None)
    house.line(hook, "one")
    report = house.send()
    assert (report.put_off, report.sent, report.dead) == (1, 0, 0)
    one = house.find("one")
    assert (one.state.value, one.attempts, one.last_error) == ("pending", 0, "deliveries.reason.secret_unreadable")
    with pytest.raises(Conflict, match=r"deliveries\.reason\.secret_unreadable"):
        house.house.services.endpoints.try_out(ADMIN, hook.id)
    house.house.services.housekeeping.housekeep()

    # Saving something else would remove the secret unseen.
    with pytest.raises(InputInvalid) as refused:
        edit(house, hook, address=ADDRESS)
    assert [(one.path, one.key) for one in refused.value.problems] == [
        ("secret", "services.endpoint.secret_unreadable")
    ]
    # Nothing was written over: the old key brings it back.
    assert house_of(stores, OLD).house.services.endpoints.get(ADMIN, hook.id).unreadable == []

    saved = edit(house, hook, address=ADDRESS, secret="another secret of two")  # of a test
    assert saved.unreadable == []
    house.pass_time(31)
    assert house.send().sent == 1
    assert house.channel.taken[0].endpoint.secret == "another secret of two"  # of a test
