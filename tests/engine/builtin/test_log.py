"""Log (spec 4.15)."""

from __future__ import annotations

import pytest

from tests.engine.builtin.single import fault_of, single
from webapp.engine.instances.journal import LogLine
from webapp.engine.numbers import JsonDecimal


@pytest.mark.parametrize(
    ("level", "written"),
    [("Warning", "Warning"), ("cRITICAL", "Critical"), ("trace", "Trace"), ("Loud", "Information"), (3, "Information")],
)
def test_a_log_line_has_a_level(level: object, written: str) -> None:
    run = single("Log", {"Message": "Hello {{who}}", "Level": level}, {"who": "Ada"})
    assert run.log_lines == [LogLine(level=written, message="Hello Ada", instance_id=run.instance.id, node_id="node")]


@pytest.mark.parametrize(
    ("message", "written"),
    [(None, ""), (5, "5"), (JsonDecimal("1.50"), "1.50"), (True, "true"), (False, "false"), ("plain {x}", "plain {x}")],
)
def test_what_is_no_text_is_written_as_text(message: object, written: str) -> None:
    properties = {} if message is None else {"Message": message}
    assert [line.message for line in single("Log", properties).log_lines] == [written]


@pytest.mark.parametrize("message", [[1], {"a": 1}])
def test_a_list_or_an_object_is_no_text(message: object) -> None:
    assert fault_of(single("Log", {"Message": message})).args == {"name": "Message", "type": "string"}


def test_a_template_that_fails_is_a_fault() -> None:
    found = fault_of(single("Log", {"Message": "{{missing}}"}))
    assert (found.key, found.args) == ("workflow.property.failed", {"name": "Message"})


def test_a_template_that_cannot_be_read_is_a_fault_of_its_node() -> None:
    assert fault_of(single("Log", {"Message": "{{missing"})).inner is not None
