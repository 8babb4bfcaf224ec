"""The flows of the golden histories: how each gets to where it is recorded, and by hand what must come of it."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.support.flows import END, START, edge, flow, node
from webapp.engine.numbers import JsonObject

Commands = list[list[Any]]


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """A golden history before it is recorded."""

    about: str
    definitions: list[JsonObject]
    before: Commands
    after: Commands
    expected: JsonObject


ASKING = flow("asking", [START, node("ask", "UserTask", {"Assignees": ["u2"]}), END])
DOUBLE = flow("double", [START, node("twice", "SetVariable", {"Expressions": {"doubled": "item * 2"}}), END])


def task(who: list[str] | None = None, **settings: Any) -> JsonObject:
    """Return a flow with a task ``ask``, and an end for each of its outcomes."""
    properties = {**({} if who is None else {"Assignees": who}), **settings.pop("properties", {})}
    ends = [node(label, "End", {"Outcome": label}) for label in ("approved", "rejected", "timeout")]
    edges = [edge("start", "ask"), *(edge("ask", one["id"], f"outcome == '{one['id']}'") for one in ends)]
    return flow("bill", [START, node("ask", "UserTask", properties, **settings), *ends], edges)


def one(activity: str, properties: JsonObject, **settings: Any) -> JsonObject:
    """Return a flow of Start, the node ``x``, End."""
    more = {name: settings.pop(name) for name in ("timeout", "timeout_action") if name in settings}
    return flow("flow", [START, node("x", activity, properties, **settings), END], **more)


def ended(label: str, *executions: str, **more: Any) -> JsonObject:
    """Return that a task's flow completed with a label."""
    path = ["start Completed 1", *(executions or ("ask Completed 1",)), f"{label} Completed 1"]
    return {"status": "Completed", "outcome": label, "path": path, "waiting": [], **more}


def went(
    status: str = "Completed", x: str = "x Completed 1", end: str | None = "end Completed 1", **more: Any
) -> JsonObject:
    """Return that a flow of one node went through it."""
    path = ["start Completed 1", x, *([end] if end is not None else [])]
    return {"status": status, "path": path, "waiting": [], **more}


BEGIN: Commands = [["start", "bill"]]
RUN: Commands = [["start", "flow"]]
LISTED: Commands = [["start", "flow", {"items": [1, 2]}]]
HOUR = 3_600


def _policy(name: str, **properties: Any) -> JsonObject:
    return task(["u1", "u2", "u3"], properties={"CompletionPolicy": name, **properties})


FORK = flow(
    "fork",
    [START, node("split", "Parallel"), node("a", "UserTask", {"Assignees": ["u1"]}),
     node("b", "UserTask", {"Assignees": ["u2"]}), node("c", "Delay", {"DurationSeconds": HOUR}),
     node("join", "Join"), END],
    [edge("start", "split"), *(edge("split", name) for name in "abc"), *(edge(name, "join") for name in "abc"),
     edge("join", "end")],
)  # fmt: skip
RACE = {
    **FORK,
    "nodes": [{**one, "properties": {"Mode": "WaitAny"}} if one["id"] == "join" else one for one in FORK["nodes"]],
}
BOTH = ["start Completed 1", "split Completed 1", "a Completed 1", "b Completed 1", "c Completed 1", "join Completed 1",
        "end Completed 1"]  # fmt: skip
FAILING = flow(
    "failing",
    [START, node("split", "Parallel"), node("bad", "TestFlaky", {"SucceedOnAttempt": 2}), node("good", "SetVariable",
     {"Values": {"good": 1}}), node("join", "Join"), END],
    [edge("start", "split"), edge("split", "bad"), edge("split", "good"), edge("bad", "join"), edge("good", "join"),
     edge("join", "end")],
)  # fmt: skip
TWO_STEPS = flow(
    "bill",
    [START, node("first", "UserTask", {"Assignees": ["u1"]}), node("second", "UserTask", {"Assignees": ["u2"]}), END],
)
UNDOING = flow(
    "undoing",
    [START, node("pay", "TestCompensable"), node("ask", "UserTask", {"Assignees": ["u1"]}), END],
    compensate_on_cancel=True,
)
GATEWAY = flow(
    "flow",
    [START, node("x", "EventGateway", {"Events": [{"signalName": "paid"}, {"signalName": "refused"},
     {"timerSeconds": HOUR, "outcome": "late"}]}),
     node("p", "End", {"Outcome": "p"}), node("l", "End", {"Outcome": "l"})],
    [edge("start", "x"), edge("x", "p", "outcome == 'paid'"), edge("x", "l", "outcome == 'late'")],
)  # fmt: skip
PARENT = one("SubWorkflow", {"DefinitionName": "asking", "ResultVariable": "asked"})
LIST = {"DefinitionName": "asking", "ItemsExpression": "items", "ResultVariable": "results"}
TIMER = flow(
    "report", [node("start", "Start", {"Cron": "0 9 * * *"}), node("x", "UserTask", {"Assignees": ["u1"]}), END]
)

STORIES: dict[str, Story] = {
    "task_any": Story(
        about="UserTask, policy Any, two of three left",
        definitions=[_policy("Any")], before=BEGIN, after=[["decide", "u3", "rejected"]], expected=ended("rejected"),
    ),
    "task_all": Story(
        about="UserTask, policy All, one has approved",
        definitions=[_policy("All")], before=[*BEGIN, ["decide", "u2", "approved"]],
        after=[["decide", "u1", "approved"], ["decide", "u3", "approved"]], expected=ended("approved"),
    ),
    "task_sequential": Story(
        about="UserTask, policy Sequential, the second has it",
        definitions=[_policy("Sequential")], before=[*BEGIN, ["decide", "u1", "approved"]],
        after=[["decide", "u2", "approved"], ["decide", "u3", "approved"]], expected=ended("approved"),
    ),
    "task_ratio": Story(
        about="UserTask, policy Ratio of one half, one vote for, one against: the third decides",
        definitions=[_policy("Ratio", CompletionThreshold=0.5)],
        before=[*BEGIN, ["decide", "u1", "approved"], ["decide", "u2", "rejected"]],
        after=[["decide", "u3", "approved"]], expected=ended("approved"),
    ),
    "task_claimed": Story(
        about="UserTask of a group, claimed by a member",
        definitions=[task(properties={"AssigneeRules": [{"type": "User", "values": ["role:hr"], "claimable": True}]})],
        before=[*BEGIN, ["claim", "ann", "role:hr"]], after=[["decide", "ann", "approved"]], expected=ended("approved"),
    ),
    "task_returned": Story(
        about="a task that was sent back and comes straight again",
        definitions=[TWO_STEPS],
        before=[*BEGIN, ["decide", "u1", "approved"], ["return", "u2", "first"]],
        after=[["decide", "u1", "approved"], ["decide", "u2", "approved"]],
        expected={"status": "Completed", "waiting": [], "path": [
            "start Completed 1", "first Completed 1", "second Canceled 1", "first Completed 1", "second Completed 1",
            "end Completed 1"]},
    ),
    "reminder": Story(
        about="Reminder bookmarks of a task, one sent",
        definitions=[task(["u1"], properties={"RemindAfterSeconds": 60, "RemindEverySeconds": 60, "MaxReminders": 3,
                                              "DueInSeconds": 90})],
        before=[*BEGIN, ["elapse", 61]], after=[["elapse", 60], ["decide", "u1", "approved"]],
        expected=ended("approved"),
    ),
    **{
        f"timeout_{action.lower()}": Story(
            about=f"NodeTimeout of a task, action {action}",
            definitions=[task(["u1"], timeout_seconds=HOUR, timeout_action=action)], before=BEGIN,
            after=[["elapse", HOUR]], expected=expected,
        )
        for action, expected in {
            "Outcome": ended("timeout"), "Approve": ended("approved"), "Reject": ended("rejected"),
            "Fault": {"status": "Faulted", "fault": "workflow.node.timed_out", "waiting": [],
                      "path": ["start Completed 1", "ask Faulted 1"]},
        }.items()
    },
    "timeout_transfer": Story(
        about="NodeTimeout of a task, action Transfer",
        definitions=[task(["u1"], timeout_seconds=HOUR, timeout_action="Transfer", timeout_target=["u9"])],
        before=BEGIN, after=[["elapse", HOUR], ["decide", "u9", "approved"]], expected=ended("approved"),
    ),
    "timeout_escalate": Story(
        about="NodeTimeout of a task, action Escalate",
        definitions=[task(["u1"], timeout_seconds=HOUR, timeout_action="Escalate", timeout_target=["u9"])],
        before=BEGIN, after=[["elapse", HOUR], ["decide", "u9", "approved"]],
        expected={"status": "Completed", "outcome": "approved"},
    ),
    "timer": Story(
        about="Timer of a Delay", definitions=[one("Delay", {"DurationSeconds": HOUR})], before=RUN,
        after=[["elapse", HOUR]], expected=went(),
    ),
    "signal": Story(
        about="Signal with a correlation id", definitions=[one("WaitSignal", {"SignalName": "paid"})],
        before=[["start", "flow", {}, "o-1"]],
        after=[["signal", "paid", {"by": "other"}, "o-2"], ["signal", "paid", {"amount": 1.50}, "o-1"]],
        expected=went(variables={"amount": 1.50, "by": None}),
    ),
    "gateway": Story(
        about="Signals and a Timer of an EventGateway", definitions=[GATEWAY], before=[["start", "flow", {}, "o-1"]],
        after=[["elapse", HOUR]], expected=went(end="l Completed 1", outcome="l"),
    ),
    "retry": Story(
        about="Retry after a fault, the second attempt succeeds",
        definitions=[one("TestFlaky", {"SucceedOnAttempt": 2},
                         retry_policy={"maxAttempts": 2, "firstDelaySeconds": 30})],
        before=RUN, after=[["elapse", 30]], expected=went(x="x Completed 2", variables={"flakyDone": True}),
    ),
    "background": Story(
        about="Retry of a background node", definitions=[one("SetVariable", {"Values": {"slow": 1}}, background=True)],
        before=RUN, after=[["elapse", 0]], expected=went(variables={"slow": 1}),
    ),
    "external_task": Story(
        about="ExternalTask, locked by a worker",
        definitions=[one("ExternalTask", {"Topic": "ship", "Variables": {"n": 7}})],
        before=[*RUN, ["fetch", "ship", 600]], after=[["work", {"parcel": "P"}]],
        expected=went(variables={"parcel": "P"}),
    ),
    "instance_timeout": Story(
        about="InstanceTimeout, action Cancel",
        definitions=[one("UserTask", {"Assignees": ["u1"]}, timeout=HOUR, timeout_action="Cancel")], before=RUN,
        after=[["elapse", HOUR]], expected=went("Canceled", "x Canceled 1", None),
    ),
    "definition_timer": Story(
        about="DefinitionTimer of a cron start; 08:00 UTC now, due at 09:00", definitions=[TIMER], before=[],
        after=[["elapse", HOUR], ["decide", "u1", "approved"]],
        expected={**went(), "roots": 1, "waiting": []},
    ),
    "sub_workflow": Story(
        about="SubWorkflow bookmark, the child waits for somebody", definitions=[ASKING, PARENT], before=RUN,
        after=[["decide", "u2", "approved"]],
        expected=went(children=["asking Completed"], variables={"asked": {"outcome": "approved"}}),
    ),
    "list_in_turn": Story(
        about="ForEach one after the other, the first item done",
        definitions=[ASKING, one("ForEach", LIST)], before=[*LISTED, ["decide", "u2", "approved"]],
        after=[["decide", "u2", "rejected"]],
        expected=went(children=["asking Completed"] * 2, variables={"results": [
            {"item": 1, "index": 0, "outcome": "approved"}, {"item": 2, "index": 1, "outcome": "rejected"}]}),
    ),
    "list_at_once": Story(
        about="ForEach all at once, then canceled with its children",
        definitions=[ASKING, one("ForEach", {**LIST, "Parallel": True})], before=LISTED, after=[["cancel"]],
        expected=went("Canceled", "x Canceled 1", None, children=["asking Canceled"] * 2),
    ),
    "follow_up_start": Story(
        about="a follow-up: the child is owed and not started yet",
        definitions=[DOUBLE, one("SubWorkflow", {"DefinitionName": "double", "Variables": {"item": 21},
                                                 "ResultVariable": "r"})],
        before=[["crash"], *RUN], after=[["elapse", 61]],
        expected=went(children=["double Completed"], variables={"r": {"item": 21, "doubled": 42}}),
    ),
    "follow_up_end": Story(
        about="a follow-up: the child has ended, its parent is not told yet", definitions=[ASKING, PARENT],
        before=[*RUN, ["crash"], ["decide", "u2", "approved"]], after=[["elapse", 61]],
        expected=went(children=["asking Completed"], variables={"asked": {"outcome": "approved"}}),
    ),
    "follow_up_cancel": Story(
        about="a follow-up: the parent is canceled, the child is not told yet", definitions=[ASKING, PARENT],
        before=[*RUN, ["crash"], ["cancel"]], after=[["elapse", 61], ["elapse", 61]],
        expected=went("Canceled", "x Canceled 1", None, children=["asking Canceled"]),
    ),
    "join_half": Story(
        about="a Join that one of three branches has reached", definitions=[FORK],
        before=[["start", "fork"], ["decide", "u1", "approved"]],
        after=[["elapse", HOUR], ["decide", "u2", "approved"]],
        expected={"status": "Completed", "path": BOTH, "waiting": []},
    ),
    "join_fired": Story(
        about="a WaitAny Join that has fired", definitions=[RACE],
        before=[["start", "fork"], ["decide", "u1", "approved"]],
        after=[["elapse", HOUR], ["decide", "u2", "approved"]],
        expected={"status": "Completed", "path": BOTH, "waiting": []},
    ),
    "faulted": Story(
        about="a Faulted instance with a token left behind, to be retried", definitions=[FAILING],
        before=[["start", "failing"]], after=[["retry"]],
        expected={"status": "Completed", "waiting": [], "variables": {"good": 1, "flakyDone": True}, "path": [
            "start Completed 1", "split Completed 1", "bad Completed 2", "good Completed 1", "join Completed 1",
            "end Completed 1"]},
    ),
    "suspended": Story(
        about="a Suspended instance whose timer was pushed back", definitions=[one("Delay", {"DurationSeconds": HOUR})],
        before=[*RUN, ["suspend"], ["elapse", HOUR]], after=[["resume"], ["elapse", 0]], expected=went(),
    ),
    "compensation": Story(
        about="what was done is undone by a cancel", definitions=[UNDOING], before=[["start", "undoing"]],
        after=[["cancel"]],
        expected={"status": "Canceled", "waiting": [],
                  "path": ["start Completed 1", "pay Compensated 1", "ask Canceled 1"]},
    ),
}  # fmt: skip
