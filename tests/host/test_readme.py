"""The README's example of an application that joins its own transaction, run as it stands there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.flows import END, START, flow, node

README = Path(__file__).parents[2] / "README.md"
EXAMPLE = re.compile(r"<!-- host: [^\n]*-->\n```python\n(.*?)```", re.DOTALL)
ORDER = flow("order", [START, node("ask", "UserTask", {"Assignees": ["emma"]}), END])


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The names of the example, its tables made, an account and a flow there."""
    monkeypatch.setenv("WAYPOST_DATA", str(tmp_path))
    monkeypatch.setenv("WAYPOST_SECRET_KEY", "a key for tests only")
    (text,) = EXAMPLE.findall(README.read_text("utf-8"))
    names: dict[str, Any] = {"__name__": "shop"}
    exec(compile(text, "README.md", "exec"), names)  # noqa: S102  # the point of the test
    waypost, app, db = names["waypost"], names["app"], names["db"]
    waypost.upgrade()
    emma = waypost.services.accounts.create(name="emma", password="emma!", roles=("administrator",))
    actor = waypost.services.accounts.actor(emma)
    waypost.services.catalog.publish(actor, waypost.services.catalog.create(actor, ORDER).id)
    with app.app_context():
        db.create_all()
    yield names
    with app.app_context():
        db.engine.dispose()
    waypost.close()


def test_an_order_and_its_instance_are_there_together(example: dict[str, Any]) -> None:
    answer = example["app"].test_client().post("/orders", json={"total": 12})
    instance_id = answer.get_json()["instance"]
    with example["app"].app_context():
        order = example["db"].session.execute(example["db"].select(example["Order"])).scalar_one()
        assert (order.total, order.instance_id) == (12, instance_id)
    waypost = example["waypost"]
    instance = waypost.services.instances.get(waypost.actor("emma"), instance_id)
    assert (instance.status, instance.variables["total"]) == ("Running", 12)


def test_an_order_that_cannot_be_stored_leaves_no_instance(example: dict[str, Any]) -> None:
    client = example["app"].test_client()
    assert client.post("/orders", json={"total": None}).status_code == 500
    waypost = example["waypost"]
    assert waypost.services.instances.query(waypost.actor("emma")).total == 0
    assert client.post("/orders", json={"total": 1}).status_code == 200
