"""A definition compiled once: sorted edges, conditions, templates and expressions ready to run (spec 3.6, 4).

The wave looks nothing up but a node's own properties. What cannot be compiled does not stop the rest: it fails when it
is reached, as a fault of that node or of that edge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from webapp.engine.activities.api import Activity, ActivityContext, ActivityOutcome, ResumeInput
from webapp.engine.activities.registry import ActivityRegistry
from webapp.engine.definitions.model import Node, Transition, WorkflowDefinition
from webapp.engine.descriptors import ActivityDescriptor, Editor, Kind, OutgoingMode, PropertyDescriptor
from webapp.engine.errors import DefinitionInvalid
from webapp.engine.expressions import ExpressionError, ExpressionEvaluator
from webapp.engine.numbers import JsonObject, JsonValue
from webapp.engine.schedules import is_instant

START = "Start"
JOIN = "Join"
INSTANT = "instant"
"""A property's literal type: a text that is an RFC 3339 instant is that instant, any other is an expression (4.20)."""

WAIT_ALL = "WaitAll"
WAIT_ANY = "WaitAny"
_JOIN_MODES = {"waitall": WAIT_ALL, "all": WAIT_ALL, "waitany": WAIT_ANY, "any": WAIT_ANY}

Scope = Mapping[str, JsonValue]
Read = Callable[[Scope], JsonValue]
Condition = Callable[[Scope], bool]
Execute = Callable[[ActivityContext], ActivityOutcome]
Resume = Callable[[ActivityContext, ResumeInput], ActivityOutcome]


def join_mode(value: JsonValue) -> str | None:
    """Return the mode that a Join's ``Mode`` names, without case, aliases All and Any included; None when unknown."""
    if value is None:
        return WAIT_ALL
    return _JOIN_MODES.get(value.lower()) if isinstance(value, str) else None


class CompiledEdge:
    """A transition: its condition (None always holds) and the node it leads to."""

    __slots__ = ("condition", "id", "is_default", "target")

    def __init__(self, transition: Transition, target: CompiledNode, condition: Condition | None) -> None:
        self.id = transition.id
        self.target = target
        self.condition = condition
        self.is_default = transition.is_default


class CompiledNode:
    """A node with its activity, its properties ready to read, and its outgoing edges by priority."""

    __slots__ = (
        "activity", "edges", "effects", "execute", "expressions", "id", "incoming", "is_join", "join_mode",
        "members", "mode", "name", "node", "properties", "resume", "templates", "unconditional",
    )  # fmt: skip

    def __init__(self, node: Node, activity: Activity | None, evaluator: ExpressionEvaluator) -> None:
        self.node = node
        self.id = node.id
        self.name = node.label
        self.activity = activity
        self.execute: Execute | None = None if activity is None else activity.execute
        self.resume: Resume | None = getattr(activity, "resume", None)
        self.effects: bool = getattr(activity, "effects", False)
        self.mode = OutgoingMode.MATCHED if activity is None else activity.descriptor.outgoing_mode
        self.properties: JsonObject = {}
        self.templates: dict[str, Read] = {}
        self.expressions: dict[str, Read] = {}
        self.members: dict[str, dict[str, Read]] = {}
        self.edges: tuple[CompiledEdge, ...] = ()
        self.unconditional = True
        self.incoming = 0
        self.is_join = node.activity_type == JOIN
        self._read_properties(None if activity is None else activity.descriptor, evaluator)
        self.join_mode = join_mode(self.properties.get("Mode")) if self.is_join else None

    def _read_properties(self, descriptor: ActivityDescriptor | None, evaluator: ExpressionEvaluator) -> None:
        for key, value in self.node.properties.items():
            described = None if descriptor is None else descriptor.property(key)
            name = key if described is None else described.name
            if name != key and name in self.node.properties:
                continue  # the documented spelling wins over the camelCase one (decision D35)
            self.properties[name] = value
            if described is not None:
                self._compile_property(described, value, evaluator)

    def _compile_property(
        self, described: PropertyDescriptor, value: JsonValue, evaluator: ExpressionEvaluator
    ) -> None:
        name, kind = described.name, described.kind
        if described.editor is Editor.KEY_VALUE and kind is not Kind.LITERAL:
            if isinstance(value, dict):
                self.members[name] = {key: _member(kind, member, evaluator) for key, member in value.items()}
        elif not isinstance(value, str) or kind is Kind.LITERAL:
            return
        elif kind is Kind.TEMPLATE:
            self.templates[name] = _template(value, evaluator)
        elif not (described.type == INSTANT and is_instant(value)):
            self.expressions[name] = _expression(value, evaluator)


class CompiledDefinition:
    """A definition ready to run; safe to share between threads, since nothing in it changes."""

    __slots__ = ("definition", "nodes", "start")

    def __init__(
        self, definition: WorkflowDefinition, registry: ActivityRegistry, evaluator: ExpressionEvaluator
    ) -> None:
        self.definition = definition
        self.nodes = {
            node.id: CompiledNode(node, registry.get(node.activity_type), evaluator) for node in definition.nodes
        }
        start = next((node for node in self.nodes.values() if node.node.activity_type == START), None)
        if start is None:
            raise DefinitionInvalid("workflow.definition.not_runnable", params={"name": definition.name})
        self.start = start
        self._connect(evaluator)

    def _connect(self, evaluator: ExpressionEvaluator) -> None:
        leaving: dict[str, list[CompiledEdge]] = {}
        for transition in sorted(self.definition.transitions, key=lambda transition: transition.priority):
            source = self.nodes.get(transition.source_node_id)
            target = self.nodes.get(transition.target_node_id)
            if source is None or target is None:
                raise DefinitionInvalid("workflow.definition.not_runnable", params={"name": self.definition.name})
            target.incoming += 1
            condition = _condition(transition.condition, evaluator)
            leaving.setdefault(source.id, []).append(CompiledEdge(transition, target, condition))
        for node_id, edges in leaving.items():
            node = self.nodes[node_id]
            node.edges = tuple(edges)
            node.unconditional = all(edge.condition is None and not edge.is_default for edge in edges)


def _condition(text: str | None, evaluator: ExpressionEvaluator) -> Condition | None:
    if text is None or not text.strip():
        return None
    try:
        return evaluator.compile(text).condition
    except ExpressionError as error:
        return _broken(error)


def _expression(text: str, evaluator: ExpressionEvaluator) -> Read:
    try:
        return evaluator.compile(text).evaluate
    except ExpressionError as error:
        return _broken(error)


def _template(text: str, evaluator: ExpressionEvaluator) -> Read:
    if "{{" not in text:
        return lambda scope: text
    try:
        return evaluator.compile_template(text).render
    except ExpressionError as error:
        return _broken(error)


def _member(kind: Kind, value: JsonValue, evaluator: ExpressionEvaluator) -> Read:
    if not isinstance(value, str):
        return lambda scope: value
    return _template(value, evaluator) if kind is Kind.TEMPLATE else _expression(value, evaluator)


def _broken(error: ExpressionError) -> Callable[[Scope], bool]:
    diagnostics, text = error.diagnostics, error.text

    def fail(scope: Scope) -> bool:
        raise ExpressionError(diagnostics, text)

    return fail
