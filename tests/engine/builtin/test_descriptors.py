"""The descriptors, member by member, as the tables of spec 4 with its amendments have them.

A row says name, editor, kind, type and section; ``*`` stands behind the name of a required property. Not here, because
every node has them as members of its own: the time limit with its action and target (4.20), retry, background,
compensation.
"""

from __future__ import annotations

import pytest

from webapp.engine.activities.registry import ActivityRegistry
from webapp.engine.builtin import BUILTIN
from webapp.engine.descriptors import ActivityDescriptor, PropertyDescriptor

DESCRIPTORS = {descriptor.type: descriptor for descriptor in ActivityRegistry(BUILTIN).descriptors()}

CHILD = """
DefinitionName* definition template string setup
DefinitionVersion number literal number setup
"""
GIVEN = """
Variables keyValue literal object data
VariableExpressions keyValue expression object data
ResultVariable text literal string data
"""

TABLES = {
    "Start": """
        SignalName text literal string setup
        Cron text literal cron time
        TimeZone text literal timeZone time
        CatchUp choice literal string time
        DelaySeconds duration literalOrExpression number time
        StartAt expression literalOrExpression instant time
    """,
    "End": "Outcome template template string setup",
    "Terminate": "Reason template template string setup",
    "UserTask": """
        Title template template string setup
        AssigneeRules assigneeRules literal array people
        Assignees list literal array people
        AssigneesExpression expression expression string people
        CompletionPolicy choice literal string people
        CompletionThreshold number literalOrExpression number people
        EmptyAssigneeStrategy choice literal string people
        FallbackAssignees list literal array people
        SkipIfAlreadyApproved switch literal boolean people
        CcUserIds list literal array people
        AllowedOutcomes list literal array decision
        CommentRequired list literal array decision
        ReturnTargets list literal array decision
        Resubmit choice literal string decision
        AllowReturn switch literal boolean decision
        AllowTransfer switch literal boolean decision
        AllowDelegate switch literal boolean decision
        AllowAddSigners switch literal boolean decision
        Form form literal object data
        FormData json literal object data
        ShowVariables list literal array data
        WritableVariables list literal array data
        Priority choice template string time
        DueInSeconds duration literalOrExpression number time
        DueAt expression literalOrExpression instant time
        RemindAfterSeconds duration literalOrExpression number time
        RemindEverySeconds duration literalOrExpression number time
        MaxReminders number literal number time
        WorkCalendar text literal workCalendar time
        TimeZone text literal timeZone time
    """,
    "Decision": "",
    "Parallel": "",
    "Join": "Mode choice literal string setup",
    "Delay": """
        DurationSeconds duration literalOrExpression number setup
        Until expression literalOrExpression instant setup
        Cron text literal cron setup
        WorkCalendar text literal workCalendar time
        TimeZone text literal timeZone time
    """,
    "Http": """
        Url* template template string setup
        Method choice literal string setup
        Headers keyValue template object setup
        Body longText template any setup
        ContentType text literal string setup
        TimeoutSeconds duration literal number time
        ResultVariable text literal string data
        FailOnErrorStatus switch literal boolean data
    """,
    "SubWorkflow": f"""
        {CHILD}
        WaitForCompletion switch literal boolean setup
        FailOnChildFault switch literal boolean setup
        {GIVEN}
    """,
    "ForEach": f"""
        {CHILD}
        ItemsExpression expression expression array setup
        Parallel switch literal boolean setup
        FailFast switch literal boolean setup
        ItemVariableName text literal string data
        {GIVEN}
    """,
    "ExternalTask": """
        Topic* template template string setup
        Variables keyValue literal object setup
        VariableExpressions keyValue expression object setup
        Retries number literal number setup
    """,
    "PublishEvent": """
        EventName* template template string setup
        Payload keyValue template object setup
    """,
    "WaitSignal": """
        SignalName* template template string setup
        AcceptAnyCorrelation switch literal boolean setup
    """,
    "EventGateway": "Events* json literal array setup",
    "SetVariable": """
        Values keyValue literal object setup
        Expressions keyValue expression object setup
    """,
    "Log": """
        Message template template string setup
        Level choice literal string setup
    """,
    "Fault": "Message template template string setup",
    "Compensate": "NodeIds list literal array setup",
}

SHAPES = {
    "Start": ("ends", "Matched", "", True),
    "End": ("ends", "None", "", False),
    "Terminate": ("ends", "None", "", False),
    "UserTask": ("people", "Matched", "approved rejected timeout", True),
    "Decision": ("routing", "Exclusive", "", False),
    "Parallel": ("routing", "All", "", False),
    "Join": ("routing", "Matched", "", False),
    "Delay": ("time", "Matched", "", True),
    "Http": ("connect", "Matched", "", False),
    "SubWorkflow": ("subflow", "Matched", "completed faulted canceled terminated", True),
    "ForEach": ("subflow", "Matched", "", True),
    "ExternalTask": ("connect", "Matched", "", True),
    "PublishEvent": ("connect", "Matched", "", False),
    "WaitSignal": ("connect", "Matched", "", True),
    "EventGateway": ("connect", "Exclusive", "timer timeout", True),
    "SetVariable": ("data", "Matched", "", False),
    "Log": ("data", "Matched", "", False),
    "Fault": ("errors", "None", "", False),
    "Compensate": ("errors", "Matched", "", False),
}
"""Category, which arrows are taken, outcomes, and whether it waits."""

DEFAULTS = {
    "Start.CatchUp": "One",
    "UserTask.CompletionPolicy": "Any",
    "UserTask.EmptyAssigneeStrategy": "Fault",
    "UserTask.SkipIfAlreadyApproved": False,
    "UserTask.Resubmit": "flow",
    "UserTask.AllowReturn": True,
    "UserTask.AllowTransfer": True,
    "UserTask.AllowDelegate": True,
    "UserTask.AllowAddSigners": True,
    "UserTask.Priority": "normal",
    "Join.Mode": "WaitAll",
    "Http.Method": "GET",
    "Http.ContentType": "application/json",
    "Http.FailOnErrorStatus": True,
    "SubWorkflow.WaitForCompletion": True,
    "SubWorkflow.FailOnChildFault": True,
    "ForEach.Parallel": False,
    "ForEach.FailFast": True,
    "ForEach.ItemVariableName": "item",
    "ExternalTask.Retries": 3,
    "WaitSignal.AcceptAnyCorrelation": False,
    "Log.Level": "Information",
}

OPTIONS = {
    "Start.CatchUp": "One Skip All",
    "UserTask.CompletionPolicy": "Any All Sequential Ratio",
    "UserTask.EmptyAssigneeStrategy": "Fault Skip Reject Starter AssignTo",
    "UserTask.Resubmit": "flow direct",
    "UserTask.Priority": "low normal high urgent",
    "Join.Mode": "WaitAll WaitAny",
    "Http.Method": "GET POST PUT PATCH DELETE HEAD OPTIONS",
    "Log.Level": "Trace Debug Information Warning Error Critical",
}


def line(one: PropertyDescriptor) -> str:
    star = "*" if one.required else ""
    return f"{one.name}{star} {one.editor.value} {one.kind.value} {one.type} {one.section}"


@pytest.mark.parametrize("activity_type", TABLES)
def test_the_properties_are_those_of_the_table(activity_type: str) -> None:
    wanted = sorted(row.strip() for row in TABLES[activity_type].splitlines() if row.strip())
    assert sorted(line(one) for one in DESCRIPTORS[activity_type].properties) == wanted


@pytest.mark.parametrize("descriptor", DESCRIPTORS.values(), ids=lambda descriptor: descriptor.type)
def test_an_activity_has_its_category_mode_and_outcomes(descriptor: ActivityDescriptor) -> None:
    category, mode, outcomes, waits = SHAPES[descriptor.type]
    assert (descriptor.category.value, descriptor.outgoing_mode.value) == (category, mode)
    assert (descriptor.outcomes, descriptor.waits) == (tuple(outcomes.split()), waits)


def test_the_defaults_and_options_are_those_of_the_tables() -> None:
    every = {f"{type_}.{one.name}": one for type_, found in DESCRIPTORS.items() for one in found.properties}
    assert {name: one.default for name, one in every.items() if one.default is not None} == DEFAULTS
    assert {name: " ".join(one.options) for name, one in every.items() if one.options} == OPTIONS


def test_the_tables_are_about_all_nineteen() -> None:
    assert len(DESCRIPTORS) == 19
    assert set(TABLES) == set(SHAPES) == set(DESCRIPTORS)


def test_what_is_typed_by_hand_shows_how() -> None:
    """JSON, schedules, zones and moments have no form of their own: the empty field shows one."""
    for descriptor in DESCRIPTORS.values():
        for one in descriptor.properties:
            if one.editor.value == "json" or one.type in ("cron", "timeZone", "instant"):
                assert one.example, f"{descriptor.type}.{one.name}"
