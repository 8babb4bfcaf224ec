"""Scenario 31: two branches join; what follows sees both their variables; join and successor ran once."""

from __future__ import annotations

from tests.support.engine import Installation
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.instances.model import InstanceStatus

DOCUMENT = flow(
    "join",
    [
        START,
        node("both", "Parallel"),
        node("left", "SetVariable", {"Values": {"a": 1}}),
        node("right", "SetVariable", {"Values": {"b": 2}}),
        node("join", "Join"),
        node("after", "SetVariable", {"Expressions": {"sum": "a + b"}}),
        END,
    ],
    [
        edge("start", "both"),
        edge("both", "left"),
        edge("both", "right"),
        edge("left", "join"),
        edge("right", "join"),
        edge("join", "after"),
        edge("after", "end"),
    ],
)


def test_join_wait_all(house: Installation) -> None:
    house.publish(DOCUMENT)
    instance = house.instance(house.start("join").id)

    assert instance.status is InstanceStatus.COMPLETED
    assert instance.variables["sum"] == 3
    path = house.path(instance.id)
    assert (path.count("join"), path.count("after")) == (1, 1)
    assert instance.join_states == {}
