"""Who looks at a task or decides it has been told of it: the bell goes down."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.notices import notice, tell
from tests.support.pages import actor_of, first_task, make_office, start_leave, visit
from tests.support.stores import StoreSet, memory_stores
from tests.support.web import Site
from webapp.engine.notifications.model import EventType, Notice
from webapp.services.queries import NoticeQuery


@pytest.fixture
def stores() -> StoreSet:
    return memory_stores()


@pytest.fixture
def site(tmp_path: Path, stores: StoreSet) -> Site:
    return make_office(tmp_path, stores)


def urged(recipient: str, task_id: str) -> Notice:
    """Return a notice that no flow of these tests makes by itself."""
    return notice(recipient, task_id=task_id, event_type=EventType.TASK_URGED)


def unread(site: Site, name: str) -> list[str]:
    return [one.id for one in site.services.notices.list(actor_of(site, name), NoticeQuery(unread=True)).items]


def test_opening_a_task_reads_what_was_told_of_it(site: Site, stores: StoreSet) -> None:
    start_leave(site)
    start_leave(site, 2)
    first, second = [row.id for row in site.services.inbox.query(actor_of(site, "manager")).items]
    told = {name: urged(name, first) for name in ("manager", "operator")}
    other = urged("manager", second)
    tell(stores.stores, *told.values(), other)
    visit(site, "manager").get("/inbox?part=rows")
    assert told["manager"].id in unread(site, "manager"), "the list alone tells nothing of it"
    visit(site, "manager").get(f"/inbox/{first}")
    assert told["manager"].id not in unread(site, "manager")
    assert other.id in unread(site, "manager")
    assert told["operator"].id in unread(site, "operator")


def test_what_is_told_after_the_first_look_is_read_by_the_next(site: Site, stores: StoreSet) -> None:
    start_leave(site)
    task, visitor = first_task(site), visit(site, "manager")
    visitor.get(f"/inbox/{task}")
    late = urged("manager", task)
    tell(stores.stores, late)
    visitor.get(f"/inbox/{task}")
    assert late.id not in unread(site, "manager")


def test_a_task_that_stands_there_by_itself_is_opened_by_nobody(site: Site, stores: StoreSet) -> None:
    start_leave(site)
    task, visitor = first_task(site), visit(site, "manager")
    told = urged("manager", task)
    tell(stores.stores, told)
    # After signing in, after a search, and when its state changes: the page chose it, not the reader.
    for page in (visitor.get("/inbox"), visitor.get("/inbox?keyword=leave"), visitor.get(f"/inbox/{task}?part=again")):
        assert f'data-task-id="{task}"' in page.html and " data-unopened " in page.html
        assert f"/inbox/{task}?" in page.html and "part=again" in page.html
        assert f'hx-post="/inbox/{task}/opened"' in page.html
        assert told.id in unread(site, "manager")
        assert "is-unread" in visitor.get("/inbox?part=rows").html
    answer = visitor.post(f"/inbox/{task}/opened")
    assert (answer.status, answer.response.headers["HX-Trigger"]) == (204, "waypost:opened")
    # A decision may be on its way at the same moment: its result is in the session's cookie.
    assert "Set-Cookie" not in answer.response.headers
    assert told.id not in unread(site, "manager")
    assert "is-unread" not in visitor.get("/inbox?part=rows").html
    assert "data-unopened" not in visitor.get(f"/inbox/{task}").html


def test_nobody_opens_what_they_may_not_see(site: Site) -> None:
    start_leave(site)
    assert visit(site, "designer").post(f"/inbox/{first_task(site)}/opened").status in (403, 404)


@pytest.mark.parametrize(
    ("action", "fields"), [("complete", {"outcome": "approved"}), ("transfer", {"who": "operator"})]
)
def test_acting_on_a_task_reads_what_was_told_of_it(
    site: Site, stores: StoreSet, action: str, fields: dict[str, str]
) -> None:
    start_leave(site)
    task = first_task(site)
    told = urged("manager", task)
    tell(stores.stores, told)
    assert visit(site, "manager").post(f"/inbox/{task}/{action}", **fields).status == 303
    assert told.id not in unread(site, "manager")


def test_deciding_several_reads_what_was_told_of_those_that_were_decided(site: Site, stores: StoreSet) -> None:
    for days in (1, 2, 3):
        start_leave(site, days)
    tasks = [row.id for row in site.services.inbox.query(actor_of(site, "manager")).items]
    first, second, left = (urged("manager", task) for task in tasks)
    refused = urged("manager", "never-was")
    tell(stores.stores, first, second, left, refused)
    # The page that answers shows one of them; what was told of the other is read because it was decided.
    visit(site, "manager").post("/inbox/decide", ids=[*tasks[:2], "never-was"], decision="approved")
    found = unread(site, "manager")
    assert not {first.id, second.id} & set(found)
    assert {left.id, refused.id} <= set(found)
