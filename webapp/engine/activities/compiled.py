"""A definition compiled once: sorted edges, conditions, templates and expressions ready to run (spec 3.6, 4).

The wave looks nothing up but a node's own properties. What cannot be compiled does not stop the rest: it fails when it
is reached, as a fault of that node or of that edge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from webapp.engine.activities.api import Activity, ActivityContext, ActivityOutcome, ResumeInput
from webapp.engine.activities.registry import ActivityRegistry
from webapp.engine.assignees import RuleType
from webapp.engine.definitions import listeners as declared
from webapp.engine.definitions.graph import DefinitionGraph
from webapp.engine.definitions.model import Node, Transition, WorkflowDefinition
from webapp.engine.descriptors import ActivityDescriptor, Editor, Kind, OutgoingMode, PropertyDescriptor
from webapp.engine.errors import DefinitionInvalid
from webapp.engine.expressions import ExpressionError, ExpressionEvaluator
from webapp.engine.numbers import JsonObject, JsonValue

START = "Start"
END = "End"
JOIN = "Join"
COMPENSATE = "Compensate"
WAIT_ALL = "WaitAll"
WAIT_ANY = "WaitAny"
_JOIN_MODES = {"waitall": WAIT_ALL, "all": WAIT_ALL, "waitany": WAIT_ANY, "any": WAIT_ANY}

Scope = Mapping[str, JsonValue]
Read = Callable[[Scope], JsonValue]
Condition = Callable[[Scope], bool]
Execute = Callable[[ActivityContext], ActivityOutcome]
Compensate = Callable[[ActivityContext], None]
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


class CompiledListener(NamedTuple):
    """A listener of a node, ``number`` in the list of all of them; the body is a template."""

    number: int
    title: str
    body: Read


class CompiledNode:
    """A node with its activity, its properties ready to read, and its outgoing edges by priority."""

    __slots__ = (
        "activity", "compensate", "edges", "effects", "execute", "expressions", "id", "incoming", "is_compensable",
        "is_custom", "is_join", "join_mode", "listeners", "members", "mode", "name", "node", "properties", "resume",
        "templates", "unconditional",
    )  # fmt: skip

    def __init__(self, node: Node, activity: Activity | None, evaluator: ExpressionEvaluator) -> None:
        self.node = node
        self.id = node.id
        self.name = node.label
        self.activity = activity
        self.execute: Execute | None = None if activity is None else activity.execute
        self.resume: Resume | None = getattr(activity, "resume", None)
        self.compensate: Compensate | None = getattr(activity, "compensate", None)
        self.is_compensable = node.compensate_with is not None or self.compensate is not None
        self.effects: bool = getattr(activity, "effects", False)
        self.is_custom = activity is not None and activity.descriptor.custom
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
        self.listeners = _listeners(node, evaluator)
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
        elif not described.stands_for_itself(value):
            self.expressions[name] = _expression(value, evaluator)


class CompiledDefinition:
    """A definition ready to run; safe to share between threads, since nothing in it changes."""

    __slots__ = ("_forward", "definition", "needs_history", "nodes", "start")

    def __init__(
        self,
        definition: WorkflowDefinition,
        registry: ActivityRegistry,
        evaluator: ExpressionEvaluator,
        *,
        tells_outcome: bool = False,
    ) -> None:
        self.definition = definition
        self.nodes = {
            node.id: CompiledNode(node, registry.get(node.activity_type), evaluator) for node in definition.nodes
        }
        start = next((node for node in self.nodes.values() if node.node.activity_type == START), None)
        if start is None:
            raise DefinitionInvalid("workflow.definition.not_runnable", params={"name": definition.name})
        self.start = start
        self._mark_compensating()
        self._connect(evaluator)
        self._forward: DefinitionGraph | None = None
        self.needs_history = self._needs_history() or (tells_outcome and self._ends_early())
        """Whether a wave of it must know every node instance: it may compensate, or ask who completed a node."""

    @property
    def forward(self) -> DefinitionGraph:
        """The definition as a graph without the transitions that close a loop; made when it is first asked for."""
        if self._forward is None:
            self._forward = DefinitionGraph(self.definition).forward(self.start.id)
        return self._forward

    def _mark_compensating(self) -> None:
        """A node that undoes others is not undone itself."""
        for node in list(self.nodes.values()):
            other = self.nodes.get(node.node.compensate_with or "")
            if other is not None:
                other.is_compensable = False

    def _needs_history(self) -> bool:
        """Only what the definition itself asks for; commands such as a return bring their own reason."""
        nodes = self.nodes.values()
        if any(_asks_who(node.node) for node in nodes):
            return True
        if not any(node.is_compensable for node in nodes):
            return False
        definition = self.definition
        return (
            definition.compensate_on_cancel
            or definition.compensate_on_fault
            or any(node.node.activity_type == COMPENSATE for node in nodes)
        )

    def _ends_early(self) -> bool:
        """Whether an End may give the outcome in an earlier wave than the one that ends the instance."""
        nodes = self.nodes.values()
        forks = any(len(node.edges) > 1 and node.mode in (OutgoingMode.ALL, OutgoingMode.MATCHED) for node in nodes)
        return forks and any(node.node.activity_type == END and node.properties.get("Outcome") for node in nodes)

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


def _listeners(node: Node, evaluator: ExpressionEvaluator) -> dict[str, list[CompiledListener]]:
    """Return what the node tells, by when; what validation does not let through is left out."""
    found: dict[str, list[CompiledListener]] = {}
    for number, one in enumerate(node.listeners):
        on, body = one.get(declared.ON), one.get(declared.EXPRESSION)
        if one.get(declared.TYPE) != declared.NOTIFICATION or on not in declared.OCCASIONS:
            continue
        channel = one.get(declared.CHANNEL)
        title = channel if isinstance(channel, str) and channel.strip() else declared.DEFAULT_TITLE
        text = body if isinstance(body, str) else ""
        found.setdefault(on, []).append(CompiledListener(number, title, _template(text, evaluator)))
    return found


def _asks_who(node: Node) -> bool:
    """Whether a user task must know what people did earlier: who completed a node, who has approved."""
    properties = {name[:1].upper() + name[1:]: value for name, value in node.properties.items()}
    rules = properties.get("AssigneeRules")
    named = rules if isinstance(rules, list) else ()
    asks = any(isinstance(rule, dict) and rule.get("type") == RuleType.COMPLETED_BY for rule in named)
    return asks or properties.get("SkipIfAlreadyApproved") is True


def _condition(text: str | None, evaluator: ExpressionEvaluator) -> Condition | None:
    if text is None or not text.strip():
        return None
    try:
        compiled = evaluator.compile(text)
        # Asked for at each run: an expression that is run often replaces its way by a quicker one.
        return lambda scope: compiled.condition(scope)
    except ExpressionError as error:
        return _broken(error)


def _expression(text: str, evaluator: ExpressionEvaluator) -> Read:
    try:
        compiled = evaluator.compile(text)
        return lambda scope: compiled.evaluate(scope)
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
