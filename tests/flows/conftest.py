"""The two ways to the product, in process and over REST, over each set of stores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.bureau import Bureau, bureau
from tests.flows.drivers import RestDriver, ServicesDriver
from tests.flows.scenarios import Driver
from tests.support.engine import install
from tests.support.stores import StoreSet
from tests.support.web import Site, make_site
from webapp.channels.addresses import AddressPolicy
from webapp.channels.http_calls import HttpCalls
from webapp.engine.builtin.http import HttpActivity

LOOPBACK = "127.0.0.1"
EVERYWHERE = ("access-request", "expense-report", "incident", "leave-request", "purchase")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Play five flows both ways over every set of stores, and the others over REST on one: the way is the same."""
    items[:] = [item for item in items if not _is_told_already(item)]


def _is_told_already(item: pytest.Item) -> bool:
    call = getattr(item, "callspec", None)
    if call is None or call.params.get("driver") != "rest" or "flow" not in call.params:
        return False
    return call.params["stores"] != "sqlite" and not str(call.params["flow"]).startswith(EVERYWHERE)


def site_over(stores: StoreSet, folder: Path) -> Site:
    """Return a whole application over a set of stores, that may call this machine."""
    return make_site(folder, stores, WAYPOST_HTTP_ALLOW=LOOPBACK)


@pytest.fixture(params=["services", "rest"])
def driver(request: pytest.FixtureRequest, stores: StoreSet, tmp_path: Path) -> Driver:
    """Each way over each set of stores."""
    if request.param == "services":
        http = HttpActivity(HttpCalls(AddressPolicy((LOOPBACK,)), max_bytes=65536))
        return ServicesDriver(install(stores, activities=[http]))
    return RestDriver(site_over(stores, tmp_path))


@pytest.fixture
def others() -> Iterator[Bureau]:
    """The systems that flows call."""
    with bureau() as found:
        yield found
