"""The address of a list: filter, sort and page are read from it and written into its links."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.support.web import Site, make_site
from webapp.engine.errors import InputInvalid
from webapp.services.queries import Paging, Sort
from webapp.web.listing import Listing, list_url, read_choice, read_day, read_paging


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_site(tmp_path)


def test_order_and_window_come_from_the_address() -> None:
    paging = read_paging({"sort": "-title,createdAt", "offset": "100", "limit": "25"}, "name")
    assert paging == Paging(sorts=(Sort("title", descending=True), Sort("createdAt")), offset=100, limit=25)
    assert read_paging({}, "-createdAt").sorts == (Sort("createdAt", descending=True),)


@pytest.mark.parametrize(
    ("name", "value"), [("offset", "ten"), ("limit", "1.5"), ("offset", "9" * 30), ("offset", "--5"), ("limit", "٣")]
)
def test_what_cannot_be_read_is_refused(name: str, value: str) -> None:
    with pytest.raises(InputInvalid) as refusal:
        read_paging({name: value}, "name")
    assert refusal.value.problems[0].path == name


def test_days_are_days_of_the_installation() -> None:
    zone = ZoneInfo("Europe/Stockholm")
    assert read_day({"from": "2026-07-16"}, "from", zone) == datetime(2026, 7, 15, 22, tzinfo=UTC)
    assert read_day({"to": "2026-07-16"}, "to", zone, end=True) == datetime(2026, 7, 16, 22, tzinfo=UTC)
    assert read_day({}, "from", zone) is None
    for value, end in (("yesterday", False), ("0001-01-01", False), ("9999-12-31", True)):
        with pytest.raises(InputInvalid):
            read_day({"from": value}, "from", zone, end=end)


def test_only_known_choices_pass() -> None:
    assert read_choice({"status": "Running"}, "status", ["Running"]) == "Running"
    assert read_choice({}, "status", ["Running"]) == ""
    with pytest.raises(InputInvalid):
        read_choice({"status": "running"}, "status", ["Running"])


def test_links_keep_what_is_filtered_and_change_one_thing(site: Site) -> None:
    with site.app.test_request_context("/monitor?keyword=a%26b&status=Faulted&offset=50"):
        assert list_url(status=None) == "/monitor?keyword=a%26b"
        assert list_url(sort="-title") == "/monitor?keyword=a%26b&status=Faulted&sort=-title"
        assert list_url("/inbox/1", offset=50) == "/inbox/1?keyword=a%26b&status=Faulted&offset=50"
    with site.app.test_request_context("/inbox?due=late&part=rows"):
        assert list_url("/inbox", sort="title") == "/inbox?due=late&sort=title"


def test_heads_turn_their_direction_and_pages_follow(site: Site) -> None:
    page_text = site.app.extensions["waypost.page_text"]
    with site.app.test_request_context("/monitor?sort=title&offset=50"):
        listing = Listing(
            page_text, Paging(sorts=(Sort("title"),), offset=50, limit=50), total=130, shown=50, path="/monitor"
        )
        assert listing.direction("title") == "ascending"
        assert listing.sort_url("title") == "/monitor?sort=-title"
        assert listing.sort_url("status") == "/monitor?sort=status"
        assert listing.previous_url() == "/monitor?sort=title&offset=0"
        assert listing.next_url() == "/monitor?sort=title&offset=100"
        assert listing.range_text() == "51 to 100 of 130"
        last = Listing(
            page_text, Paging(sorts=(Sort("title"),), offset=100, limit=50), total=130, shown=30, path="/monitor"
        )
        assert last.next_url() is None


def test_a_list_shown_under_another_address_links_to_its_own(site: Site) -> None:
    page_text = site.app.extensions["waypost.page_text"]
    with site.app.test_request_context("/designer/new?status=Draft", method="POST"):
        listing = Listing(page_text, Paging(sorts=(Sort("title"),), offset=0, limit=50), 60, 50, path="/designer")
        assert listing.next_url() == "/designer?status=Draft&offset=50"
        assert listing.sort_url("status") == "/designer?status=Draft&sort=status"
