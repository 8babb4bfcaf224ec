"""Definitions that the API's tests start."""

from __future__ import annotations

from typing import Any

from tests.support.web import Caller

GREETING: dict[str, Any] = {
    "name": "demo.greeting",
    "nodes": [
        {"id": "start", "activityType": "Start"},
        {
            "id": "greet",
            "activityType": "SetVariable",
            "properties": {"Expressions": {"greeting": "'hello ' + upper(name)"}},
        },
        {"id": "end", "activityType": "End"},
    ],
    "transitions": [
        {"id": "t1", "sourceNodeId": "start", "targetNodeId": "greet"},
        {"id": "t2", "sourceNodeId": "greet", "targetNodeId": "end"},
    ],
    "variables": [{"name": "name", "required": True}],
}

APPROVAL: dict[str, Any] = {
    "name": "approval",
    "displayName": "Approval",
    "nodes": [
        {"id": "start", "activityType": "Start"},
        {
            "id": "decide",
            "name": "Decide",
            "activityType": "UserTask",
            "properties": {
                "Assignees": ["manager"],
                "Title": "{{what}}?",
                "AllowedOutcomes": ["approved", "rejected"],
                "ShowVariables": ["what"],
            },
        },
        {"id": "end", "activityType": "End", "properties": {"Outcome": "{{outcome}}"}},
    ],
    "transitions": [
        {"id": "t1", "sourceNodeId": "start", "targetNodeId": "decide"},
        {"id": "t2", "sourceNodeId": "decide", "targetNodeId": "end"},
    ],
    "variables": [{"name": "what", "type": "string", "required": True}],
}

FAULTY: dict[str, Any] = {
    "name": "faulty",
    "nodes": [
        {"id": "start", "activityType": "Start"},
        {"id": "fail", "activityType": "Fault", "properties": {"Message": "no paper"}},
    ],
    "transitions": [{"id": "t1", "sourceNodeId": "start", "targetNodeId": "fail"}],
}


def publish(designer: Caller, document: dict[str, Any]) -> Any:
    """Create and publish a definition; return it."""
    draft = designer.post("/definitions", document).expect(201)
    return designer.post(f"/definitions/{draft['id']}/publish").expect(200)


def start(caller: Caller, definition: str, /, **variables: Any) -> Any:
    """Start an instance; return it."""
    return caller.post("/instances", {"name": definition, "variables": variables}).expect(201)


def only_task(caller: Caller) -> Any:
    """Return the only open task of the caller."""
    tasks = caller.get("/tasks").expect(200)
    assert tasks["total"] == 1
    return tasks["items"][0]
