"""Inboxes, the bell, and what is to be sent are read off indexes that hold no more than what is asked for (8.10)."""

import re

import pytest

from tests.stores.records import at, attempt, delivery, notice, save
from tests.stores.test_upkeep_plans import explained, statements_of
from tests.support.stores import on_planned
from webapp.engine.notifications.model import DeliveryState, NoticeType
from webapp.engine.ports.notices import DeliveryQuery, NoticeQuery
from webapp.engine.ports.queries import Paging

pytestmark = on_planned

NEXT = Paging(offset=3, limit=2)

CASES = {
    "inbox": (lambda work: work.notices.list("t", "ann", NoticeQuery(paging=Paging(limit=2))), "notices_inbox"),
    "further down": (lambda work: work.notices.list("t", "ann", NoticeQuery(paging=NEXT)), "notices_inbox"),
    "one type": (lambda work: work.notices.list("t", "ann", NoticeQuery(type=NoticeType.TODO)), "notices_inbox"),
    "unread list": (
        lambda work: work.notices.list("t", "ann", NoticeQuery(unread=True, paging=NEXT)),
        "notices_unread",
    ),
    "panel of the bell": (lambda work: work.notices.latest("t", "ann", 2), "notices_unread"),
    "bell": (lambda work: work.notices.unread("t", "ann"), "notices_unread"),
    "read all": (lambda work: work.notices.mark_all_read("t", "ann", at(9), at(9)), "notices_unread"),
    "task opened": (lambda work: work.notices.mark_task_read("t", "ann", "k1", at(9)), "notices_task_id|unread"),
    "old notices": (lambda work: work.notices.purge("t", at(5), 9), "notices_tenant_id_created_at"),
    "claim": (lambda work: work.deliveries.claim_due(at(9), 9, "x", at(60)), "deliveries_due_at"),
    "any due": (lambda work: work.deliveries.any_due(at(9)), "deliveries_due_at"),
    "next due": (lambda work: work.deliveries.next_due(), "deliveries_due_at"),
    "tokens": (lambda work: work.deliveries.claim_tokens(), "deliveries_claim_token"),
    "lost claims": (lambda work: work.deliveries.release_claims("x"), "deliveries_claim_token"),
    "all states": (lambda work: work.deliveries.list("t", DeliveryQuery(paging=NEXT)), "deliveries_state"),
    "dead ones": (
        lambda work: work.deliveries.list("t", DeliveryQuery(states=(DeliveryState.DEAD,), endpoint_id="hook")),
        "deliveries_state",
    ),
    "an instance's": (
        lambda work: work.deliveries.list("t", DeliveryQuery(states=(DeliveryState.SENT,), instance_id="i1")),
        "deliveries_instance_id|deliveries_state",
    ),
    "counts": (lambda work: work.deliveries.counts("t", at(0)), "deliveries_(state|tenant_id_ended_at)"),
    "hand-over": (lambda work: work.deliveries.drop("t", ["d1"], at(9)), "deliveries_"),
    "stranded": (lambda work: work.deliveries.put_back_stranded("t", 9), "deliveries_"),
    "old deliveries": (lambda work: work.deliveries.purge("t", at(9), 9), "deliveries_tenant_id_ended_at"),
}
"""What is asked, and the indexes that its first statement goes by."""


@pytest.fixture
def filled(stores):
    """Five notices and five deliveries of a tenant, one of which was sent; notices of others, as PostgreSQL knows."""
    numbers = range(5)
    notices = [notice(f"n{number}", task_id=f"k{number}", created_at=at(number)) for number in numbers]
    save(stores.stores, "t", notices=notices, deliveries=[delivery(f"d{number}") for number in numbers])
    if stores.kind == "postgresql":
        # Whatever statistics an earlier test has left, one index would do as well as another for a handful of rows.
        others = [
            notice(f"o{number}", recipient_id=f"p{number % 30}", task_id=f"o{number}", created_at=at(100 + number))
            for number in range(300)
        ]
        save(stores.stores, "t", notices=others)
        with stores.engine.begin() as connection:
            connection.exec_driver_sql("ANALYZE notices")
    with stores.stores.writing("t") as work:
        (one,) = work.deliveries.claim_due(at(0), 1, "y", at(60))
        one.state, one.ended_at = DeliveryState.SENT, at(1)
        work.deliveries.settle("t", one, attempt(one.id), "y")
    return stores


# These hold no more than what is asked for: they may be read as a whole.
OF_ITS_OWN = re.compile(r"(deliveries_(claim_token|due_at\w*))\b")


def walks(kind, steps):
    """Return the steps that read the whole of a table or of an index that holds all of a table's rows."""
    if kind == "postgresql":
        return [step for step in steps if "Seq Scan" in step]
    whole = [step for step in steps if re.match(r"SCAN (platform_)?(notices|deliver)[a-z_]*($| USING)", step)]
    return [step for step in whole if not OF_ITS_OWN.search(step)]


@pytest.mark.parametrize("case", CASES)
def test_a_question_goes_by_its_index(filled, case):
    ask, index = CASES[case]
    seen = statements_of(filled, ask)
    plans = {statement: explained(filled, statement, values) for statement, values in seen}
    assert {statement: steps for statement, steps in plans.items() if walks(filled.kind, steps)} == {}
    first = next(iter(plans.values()))
    assert any(re.search(index, step) for step in first), "\n".join(first)


def test_whether_a_line_waits_is_one_look_into_its_index(filled):
    asked = statements_of(filled, CASES["claim"][0])
    statement, values = next(one for one in asked if "open_line" in one[0])
    steps = explained(filled, statement, values)
    found = [step for step in steps if "open_line" in step]
    assert any("ix_deliveries_tenant_id_open_line_sequence" in step for step in found), "\n".join(steps)
    if filled.kind == "sqlite":
        assert any("open_line=?" in step for step in found), "\n".join(steps)
