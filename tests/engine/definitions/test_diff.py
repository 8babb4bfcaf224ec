"""What differs between two definitions (spec 11)."""

from __future__ import annotations

import msgspec
import pytest

from webapp.engine.definitions.builder import DefinitionBuilder
from webapp.engine.definitions.diff import DefinitionDiff, ItemRef, MemberChange, diff_definitions, same_json
from webapp.engine.definitions.model import DefinitionStatus
from webapp.engine.numbers import JsonDecimal, JsonValue, decode, encode


def base() -> DefinitionBuilder:
    return (
        DefinitionBuilder("a", "A", extra_properties={"zoom": 1})
        .add_start()
        .add_node("task", "UserTask", "Decide", properties={"Title": "t", "Assignees": ["a"], "FormData": {"x": 1}})
        .add_transition("start", "task", id="t1")
        .add_variable("amount", "number", title="Amount")
    )


def test_equal_definitions_differ_in_nothing_whatever_the_catalog_wrote() -> None:
    before = base().build()
    after = msgspec.structs.replace(base().build(), id="2", version=2, status=DefinitionStatus.PUBLISHED)
    assert diff_definitions(before, after).empty


def test_added_and_removed_items_have_id_and_name() -> None:
    after = base().add_end("done", "Done").add_transition("task", "done", id="t2", name="yes").add_variable("note")
    added = diff_definitions(base().build(), after.build())
    assert added.nodes.added == [ItemRef(id="done", name="Done")]
    assert added.transitions.added == [ItemRef(id="t2", name="yes")]
    assert added.variables.added == [ItemRef(id="note", name="note")]
    assert not added.empty
    removed = diff_definitions(after.build(), base().build())
    assert removed.nodes.removed == [ItemRef(id="done", name="Done")]
    assert (removed.nodes.added, removed.nodes.changed, removed.settings) == ([], [], [])


def test_changes_name_the_path_and_both_values() -> None:
    after = (
        DefinitionBuilder("a", "B", extra_properties={"zoom": 2})
        .add_start(x=5)
        .add_node(
            "task", "UserTask", "Decide", properties={"Title": "u", "Assignees": ["a", "b"], "FormData": {"y": 1}}
        )
        .add_transition("start", "task", "amount > 1", id="t1")
        .add_variable("amount", "string", title="Amount")
    ).build()
    found = diff_definitions(base().build(), after)
    start, task = found.nodes.changed
    assert start.changes == [MemberChange(path="x", before=None, after=5)]
    assert [(change.path, change.before, change.after) for change in task.changes] == [
        ("properties.Title", "t", "u"),
        ("properties.Assignees", ["a"], ["a", "b"]),
        ("properties.FormData.x", 1, None),
        ("properties.FormData.y", None, 1),
    ]
    assert (task.id, task.name) == ("task", "Decide")
    assert [change.path for change in found.transitions.changed[0].changes] == ["condition"]
    assert (found.variables.changed[0].id, found.variables.changed[0].name) == ("amount", "Amount")
    assert [(change.path, change.after) for change in found.settings] == [
        ("displayName", "B"),
        ("extraProperties.zoom", 2),
    ]


def test_a_diff_has_a_wire_shape() -> None:
    found = diff_definitions(base().build(), base().add_end().build())
    assert decode(encode(found), DefinitionDiff) == found
    assert b'"added":[{"id":"end","name":"end"}]' in encode(found)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (1, JsonDecimal("1.0"), True),
        (1, True, False),
        (0, False, False),
        (True, True, True),
        ({"a": [1]}, {"a": [JsonDecimal("1.00")]}, True),
        ({"a": 1}, {"b": 1}, False),
        ([1], [1, 2], False),
        ([True], [1], False),
        (None, "", False),
    ],
)
def test_json_equality(left: JsonValue, right: JsonValue, same: bool) -> None:
    assert same_json(left, right) is same
