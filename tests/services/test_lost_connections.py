"""A server that drops the connection in the middle of a command's write: applied again, once (spec 3.22, 13)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.engine import ADMIN, Installation
from tests.support.flows import END, START, flow, node
from tests.support.postgresql import break_connection
from tests.support.stores import on_postgresql
from webapp.engine.errors import UNAVAILABLE_STORE, Unavailable
from webapp.engine.instances.model import InstanceStatus
from webapp.stores.sql.writing import Writing

APPROVAL = flow("approval", [START, node("ask", "UserTask", {"Assignees": ["u1"]}), END])


def drop_connection(monkeypatch: pytest.MonkeyPatch, times: int) -> list[int]:
    """Have the server end the connection of so many writes after the instance's row was written."""
    dropped: list[int] = []
    write = Writing._write_nodes

    def strike(self: Writing, *args: Any) -> Any:
        if len(dropped) < times:
            connection = self._transaction.connection
            pid = connection.connection.driver_connection.info.backend_pid  # type: ignore[union-attr]  # psycopg's
            break_connection(pid)
            dropped.append(pid)
        return write(self, *args)

    monkeypatch.setattr(Writing, "_write_nodes", strike)
    return dropped


@on_postgresql
def test_a_write_that_lost_its_connection_is_applied_again(
    house: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.publish(APPROVAL)
    house.start("approval")
    dropped = drop_connection(monkeypatch, 2)
    instance = house.decide("u1", "approved")
    assert len(dropped) == 2
    assert (instance.status, instance.revision) == (InstanceStatus.COMPLETED, 2)
    assert house.path(instance.id) == ["start", "ask", "end"]
    assert [entry.action for entry in house.services.instances.history(ADMIN, instance.id).items] == [
        "start",
        "complete",
    ]


@on_postgresql
def test_five_lost_connections_leave_everything_as_it_was(house: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    house.publish(APPROVAL)
    instance = house.start("approval")
    dropped = drop_connection(monkeypatch, 5)
    with pytest.raises(Unavailable) as refused:
        house.decide("u1", "approved")
    assert (refused.value.code, len(dropped)) == (UNAVAILABLE_STORE, 5)
    assert house.instance(instance.id).revision == 1
    assert house.decide("u1", "approved").status is InstanceStatus.COMPLETED
