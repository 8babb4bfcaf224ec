"""Version 4's definition documents as today's (spec 0, 1.17, 21; decision D25): what is known is converted.

What version 4 could do and this version cannot, or what would silently mean something else, is a problem with its path
and never a guess. What is merely wrong in a draft is left for publishing, which tells it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from webapp.engine.definitions.model import IDENTIFIER_PATTERN, NAME_PATTERN
from webapp.engine.definitions.shapes import TWICE, Problems
from webapp.engine.errors import Problem
from webapp.engine.json_input import item_path, member_path
from webapp.engine.numbers import JsonObject, JsonValue

CODE = "workflow.definition.v4.code"
SCRIPT = "workflow.definition.v4.script"
LAST_ERROR = "workflow.definition.v4.last_error"

KEYS = (CODE, SCRIPT, LAST_ERROR)

INT_MAX = 2_147_483_647
"""The priority that version 4's builder gave to default transitions (spec 1.3)."""

_CODE = "code"
_MEMBERS = {_CODE: "name", "enablecompensation": "compensateOnCancel"}
_SHOWN_NAME = "name"

_DEFINITION = {"definitioncode": "DefinitionName", "definitionname": "DefinitionName"}
_PROPERTIES: dict[str, tuple[str, ...]] = {
    "Terminate": ("Reason",),
    "SetVariable": ("Values", "Expressions"),
    "Join": ("Mode",),
    "Delay": ("DurationSeconds",),
    "UserTask": (
        "Assignees",
        "AssigneesExpression",
        "CompletionPolicy",
        "Title",
        "FormData",
        "CcUserIds",
        "AllowedOutcomes",
    ),
    "PublishEvent": ("EventName", "Payload"),
    "WaitSignal": ("SignalName", "AcceptAnyCorrelation"),
    "SubWorkflow": (
        "DefinitionVersion",
        "Variables",
        "VariableExpressions",
        "WaitForCompletion",
        "ResultVariable",
        "FailOnChildFault",
    ),
    "ForEach": (
        "ItemsExpression",
        "DefinitionVersion",
        "ItemVariableName",
        "Variables",
        "Parallel",
        "FailFast",
        "ResultVariable",
    ),
    "Log": ("Message", "Level"),
    "Fault": ("Message",),
    "Http": (
        "Url",
        "Method",
        "Headers",
        "Body",
        "ContentType",
        "TimeoutSeconds",
        "ResultVariable",
        "FailOnErrorStatus",
    ),
}
"""The properties of version 4's activities; spec 4 marks them [v4]."""

_EXPRESSIONS = frozenset(("AssigneesExpression", "ItemsExpression", "Expressions", "VariableExpressions"))
_LITERALS = frozenset(("Values", "Variables"))
_SCRIPT_TYPE = "script"

_IDENTIFIER = re.compile(IDENTIFIER_PATTERN)
_NAME = re.compile(NAME_PATTERN)
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_TEMPLATE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
# Its members and whether there is one at all are read as they always were.
_LAST_ERROR_AS_TEXT = re.compile(r"(?<![\w.])lastError\b(?!\s*(?:\.|\[|[!=]=\s*null\b))")


def is_version_4(document: JsonObject) -> bool:
    """Whether a document is one of version 4: only there a definition has a ``code``."""
    return any(name.lower() == _CODE for name in document)


def member_names(document: JsonObject) -> Callable[[str], str | None]:
    """Return what tells today's name of a definition's member, given in lower case; None: it has none of its own.

    Where there is a ``code``, ``name`` was what people see.
    """
    old = is_version_4(document)

    def rename(folded: str) -> str | None:
        return "displayName" if old and folded == _SHOWN_NAME else _MEMBERS.get(folded)

    return rename


def property_name(name: str) -> str:
    """Return today's name of a property that was called otherwise (decision D25)."""
    return "DefinitionName" if name.lower() == "definitioncode" else name


def upgrade(members: JsonObject, problems: Problems) -> None:
    """Convert the content of one of version 4's documents in place; its members have today's names already.

    What has the wrong shape is left alone: the codec tells it.
    """
    name = members.get("name")
    if isinstance(name, str) and not _NAME.fullmatch(name):
        problems.append(Problem(path=_CODE, key=CODE, params={"code": name}))
    for path, node in _objects(members, "nodes"):
        _upgrade_node(node, path, problems)
    transitions = [transition for _, transition in _objects(members, "transitions")]
    _forget_unusable_ids(transitions)
    _forget_default_priorities(transitions)
    for path, transition in _objects(members, "transitions"):
        _check_expression(transition.get("condition"), member_path(path, "condition"), problems)


def _objects(members: JsonObject, part: str) -> Iterator[tuple[str, JsonObject]]:
    items = members.get(part)
    for index, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, dict):
            yield item_path(part, index), item


def _upgrade_node(node: JsonObject, path: str, problems: Problems) -> None:
    activity = node.get("activityType")
    if not isinstance(activity, str):
        return
    if activity.lower() == _SCRIPT_TYPE:
        params = {"id": str(node.get("id"))}
        problems.append(Problem(path=member_path(path, "activityType"), key=SCRIPT, params=params))
        return
    seconds = node.get("timeoutSeconds")
    if isinstance(seconds, int) and not isinstance(seconds, bool) and seconds <= 0:
        # It meant that the node waits for ever (spec 1.2, 3.7).
        node["timeoutSeconds"] = None
    properties = node.get("properties")
    if isinstance(properties, dict):
        where = member_path(path, "properties")
        node["properties"] = _upgraded_properties(activity, properties, where, problems)


def _upgraded_properties(activity: str, properties: JsonObject, path: str, problems: Problems) -> JsonObject:
    """Return the properties under their documented names, and tell where they take ``lastError`` for a text."""
    proper = {name.lower(): name for name in _PROPERTIES.get(activity, ())}
    if activity in ("SubWorkflow", "ForEach"):
        proper.update(_DEFINITION)
    upgraded: JsonObject = {}
    for name, value in properties.items():
        target = proper.get(name.lower(), name)
        where = member_path(path, name)
        if target in upgraded:
            problems.append(Problem(path=where, key=TWICE, params={"name": target}))
        upgraded[target] = value
        if target in _EXPRESSIONS:
            _check_each(value, where, problems, _check_expression)
        elif target not in _LITERALS:
            _check_each(value, where, problems, _check_template)
    return upgraded


Check = Callable[[JsonValue, str, Problems], None]


def _check_each(value: JsonValue, path: str, problems: Problems, check: Check) -> None:
    if isinstance(value, dict):
        for name, member in value.items():
            check(member, member_path(path, name), problems)
    else:
        check(value, path, problems)


def _check_template(text: JsonValue, path: str, problems: Problems) -> None:
    if isinstance(text, str):
        _check_expression(" ; ".join(_TEMPLATE.findall(text)), path, problems)


def _check_expression(text: JsonValue, path: str, problems: Problems) -> None:
    """Tell of an expression that takes ``lastError`` for the text it was; it is a fault now (spec 3.8)."""
    if isinstance(text, str) and _LAST_ERROR_AS_TEXT.search(_QUOTED.sub("''", text)):
        problems.append(Problem(path=path, key=LAST_ERROR))


def _forget_unusable_ids(transitions: list[JsonObject]) -> None:
    """Drop ids that are no identifiers, such as its builder's ``a->b#1``, and second ones: new ones are given."""
    seen = set()
    for transition in transitions:
        own = transition.get("id")
        if isinstance(own, str) and (own in seen or not _IDENTIFIER.fullmatch(own)):
            transition["id"] = None
        seen.add(own if isinstance(own, str) else None)


def _forget_default_priorities(transitions: list[JsonObject]) -> None:
    """Drop the highest of all priorities from default transitions, which come last without it."""
    kept = {
        str(transition.get("sourceNodeId"))
        for transition in transitions
        if transition.get("isDefault") is True and transition.get("priority") != INT_MAX
    }
    for transition in transitions:
        highest = transition.get("isDefault") is True and transition.get("priority") == INT_MAX
        if highest and str(transition.get("sourceNodeId")) not in kept:
            transition["priority"] = None
