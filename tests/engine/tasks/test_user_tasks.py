"""What may be said about a user task (spec 6.2, 6.7, 25)."""

from __future__ import annotations

import pytest

from webapp.engine.tasks import user_tasks


@pytest.mark.parametrize(
    ("name", "reserved"),
    [
        ("outcome", True),
        ("lastError", True),
        ("actorId", True),
        ("comment", True),
        ("__x", True),
        ("_x", False),
        ("Outcome", False),
        ("amount", False),
    ],
)
def test_reserved_names(name: str, reserved: bool) -> None:
    assert user_tasks.reserved(name) is reserved


@pytest.mark.parametrize(
    ("allowed", "outcome", "allows"),
    [
        (None, "anything", True),
        ([], "anything", True),
        (["yes"], "yes", True),
        (["yes"], "Yes", False),
        (["yes"], "yes ", False),
    ],
)
def test_outcomes_compare_ordinally_and_an_empty_list_allows_all(
    allowed: list[str] | None, outcome: str, allows: bool
) -> None:
    payload = {} if allowed is None else {"allowedOutcomes": allowed}
    assert user_tasks.allows(payload, outcome) is allows


def test_what_a_resumed_task_writes_leaves_out_the_decision() -> None:
    inputs = {"actorId": "u", "outcome": "approved", "comment": None, "__timeout": True, "lastError": 1, "x": 2}
    assert user_tasks.extra_variables(inputs) == {"x": 2}


def test_history_grows_without_changing_the_list_that_was_there() -> None:
    first: list[object] = []
    state = {"history": first}
    user_tasks.remember(state, action="add", at="now", node_id="n", actor_id="u", target=["v"])
    assert first == []
    assert state["history"] == [
        {
            "action": "add",
            "at": "now",
            "nodeId": "n",
            "actorId": "u",
            "outcome": None,
            "comment": None,
            "target": ["v"],
        }
    ]
