"""Scenario 23: a template renders texts and integers without a fraction."""

from __future__ import annotations

from tests.peer.scenario import VARIABLES
from tests.support.engine import Installation
from tests.support.flows import END, START, flow, node

TEMPLATE = "{{name}}的请假申请，金额 {{amount + 1}} 元"


def test_template(house: Installation) -> None:
    house.publish(flow("template", [START, node("ask", "UserTask", {"Assignees": ["u1"], "Title": TEMPLATE}), END]))
    house.start("template", VARIABLES)
    assert house.task("u1").title == "张三的请假申请，金额 20001 元"
