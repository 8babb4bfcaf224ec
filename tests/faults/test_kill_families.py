"""``kill -9`` amid parents, children, workers, signals, background nodes and a batch: nothing lost, nothing twice."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.faults.caller import Answer, Caller, Unanswered
from tests.faults.families import CHILD, CHILD_PATH, HELD, PARENT, PARENT_PATH, Crowd, Ledger, definitions
from tests.support.postgresql import new_database, require_server
from tests.support.server import ServerProcess

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.timeout(300)]

ROUNDS = 2
FAMILIES_A_ROUND = 5
HELD_ONES = 15
DONE_WITHIN = 90.0
ACCOUNTS = ("admin", "employee", "operator", "worker")

KINDS = [
    "sqlite",
    pytest.param("postgresql", marks=pytest.mark.postgresql),
]


class Site:
    """A server and the tokens of its accounts."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self._tokens = server.tokens(*ACCOUNTS)

    def caller(self, who: str) -> Caller:
        return Caller(self.server.port, self._tokens[who])


@pytest.fixture(params=KINDS)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    with ExitStack() as stack:
        settings = {"WAYPOST_POLL_INTERVAL_SECONDS": "0.2"}
        if request.param == "postgresql":
            require_server()
            url = stack.enter_context(new_database())
            settings["WAYPOST_DATABASE_URL"] = url.render_as_string(hide_password=False)
        server = ServerProcess(tmp_path, settings=settings)
        stack.callback(server.stop)
        server.prepare()
        server.flask("user create worker --password worker-worker --role worker")
        made = Site(server)
        server.start()
        with made.caller("admin") as admin:
            for document in definitions():
                created = done(admin("POST", "/definitions/import", document), 201)
                done(admin("POST", f"/definitions/{created['id']}/publish"))
        yield made


def done(answer: Answer, status: int = 200) -> Any:
    assert answer.status == status, answer
    return answer.body


def test_families_survive_kills(site: Site) -> None:
    ledger = Ledger()
    batches = []
    for number in range(1, ROUNDS + 1):
        crowd = Crowd(site.caller, ledger, FAMILIES_A_ROUND * number)
        crowd.begin()
        wait_for(lambda wanted=FAMILIES_A_ROUND * number - 3: len(ledger.started) >= wanted, ledger)
        batches.append(end_held_ones(site, number))
        time.sleep(random.uniform(0, 0.8))
        site.server.kill()
        crowd.end()
        site.server.start()
    crowd = Crowd(site.caller, ledger, len(ledger.asked))
    crowd.begin()
    try:
        with site.caller("admin") as admin:
            wait_for(lambda: len(ended(admin)) == len(ledger.asked), ledger)
            wait_for(lambda: all(batch_of(admin, one)["status"] == "Completed" for one in batches), ledger)
    finally:
        crowd.end()
    assert ledger.wrong == []
    with site.caller("admin") as admin:
        every_family_is_whole(admin, ledger)
        for one in batches:
            every_item_ended_once(admin, one)
        assert "Traceback" not in site.server.log


def wait_for(holds: Any, ledger: Ledger) -> None:
    deadline = time.monotonic() + DONE_WITHIN
    while not holds():
        assert ledger.wrong == []
        assert time.monotonic() < deadline, ledger
        time.sleep(0.1)


def end_held_ones(site: Site, number: int) -> str:
    """Start a batch that terminates some; return its id, also when it was killed before it could answer."""
    with site.caller("admin") as admin:
        ids = [done(admin("POST", "/instances", {"name": HELD}), 201)["id"] for _ in range(HELD_ONES)]
        body = {"action": "terminate", "ids": ids, "reason": f"round {number}"}
        try:
            batch_id: str = done(admin("POST", "/instances/batch", body, key=f"batch-{number}"), 201)["id"]
        except Unanswered as error:
            raise AssertionError("nobody has killed it yet") from error
        return batch_id


def batch_of(admin: Caller, batch_id: str) -> Any:
    return done(admin("GET", f"/batches/{batch_id}"))


def every_item_ended_once(admin: Caller, batch_id: str) -> None:
    batch = batch_of(admin, batch_id)
    assert (batch["total"], batch["done"], batch["failed"]) == (HELD_ONES, HELD_ONES, 0)
    for item in admin.every(f"/batches/{batch_id}/items"):
        instance = done(admin("GET", f"/instances/{item['instanceId']}"))
        assert (instance["status"], instance["cancellationReason"]) == ("Terminated", batch["reason"])
        actions = [entry["action"] for entry in admin.whole(f"/instances/{instance['id']}/history")]
        assert Counter(actions) == {"start": 1, "terminate": 1}


def ended(admin: Caller) -> list[Any]:
    return admin.every(f"/instances?definitionName={PARENT}&status=Completed")


def every_family_is_whole(admin: Caller, ledger: Ledger) -> None:
    parents = admin.every(f"/instances?definitionName={PARENT}")
    # One instance for each key, although some were asked for twice.
    assert Counter(one["correlationId"] for one in parents) == dict.fromkeys(ledger.asked, 1)
    assert {one["correlationId"]: one["id"] for one in parents} == ledger.started
    for one in parents:
        parent = done(admin("GET", f"/instances/{one['id']}"))
        assert parent["status"] == "Completed", parent
        assert {name: parent["variables"][name] for name in ("a", "b", "d")} == {"a": 1, "b": 1, "d": 1}
        assert sorted(visited(admin, one["id"])) == PARENT_PATH
        assert [(child["item"], child["c"]) for child in parent["variables"]["children"]] == [("x", 1), ("y", 1)]
        children = admin.every(f"/instances?parentId={one['id']}")
        assert [child["status"] for child in children] == ["Completed", "Completed"]
        for child in children:
            assert child["definitionName"] == CHILD
            assert sorted(visited(admin, child["id"])) == CHILD_PATH
    assert set(Counter(ledger.worked.values()).values()) <= {1}


def visited(admin: Caller, instance_id: str) -> list[str]:
    nodes = admin.every(f"/instances/{instance_id}/nodes")
    assert {node["status"] for node in nodes} == {"Completed"}
    assert {node["tryCount"] for node in nodes} == {1}
    assert admin.whole(f"/instances/{instance_id}/bookmarks") == []
    return [node["nodeId"] for node in nodes]
