"""What every check looks at: the definition, its graph, its activities, and the texts that are evaluated."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple, Protocol

from webapp.engine.activities.compiled import START
from webapp.engine.activities.signals import EVENTS, GATEWAY, NAME, SECONDS, UNTIL
from webapp.engine.assignees import AssigneeProvider, RuleType
from webapp.engine.definitions import listeners as declared
from webapp.engine.definitions.graph import DefinitionGraph
from webapp.engine.definitions.model import Node, WorkflowDefinition
from webapp.engine.descriptors import ActivityDescriptor, Editor, Kind, PropertyDescriptor
from webapp.engine.expressions import ExpressionEvaluator, TextKind
from webapp.engine.json_input import item_path, member_path
from webapp.engine.numbers import JsonValue
from webapp.engine.schedules import is_instant


class Descriptors(Protocol):
    """Where validation looks activities up: an ``ActivityRegistry``, or what stands for one."""

    def descriptor(self, type_name: str) -> ActivityDescriptor | None:
        """Return the descriptor of that type, or None."""


class PropertyValue(NamedTuple):
    """A property as a node has it: its description, its value, where it stands."""

    described: PropertyDescriptor
    value: JsonValue
    path: str


class Site(NamedTuple):
    """A text that is evaluated when its node runs, or when an edge leaves its node."""

    text: str
    kind: TextKind
    path: str
    node_id: str
    transition_id: str | None = None
    checked_by_provider: bool = False
    own_names: frozenset[str] = frozenset()
    """Names that the activity itself puts beside the variables."""
    afterwards: bool = False
    """Whether it is evaluated when its node has run, as a condition is."""


class Subject:
    """A definition under validation."""

    def __init__(
        self,
        definition: WorkflowDefinition,
        registry: Descriptors,
        evaluator: ExpressionEvaluator,
        providers: Mapping[str, AssigneeProvider],
        calendars: Collection[str] | None = None,
    ) -> None:
        self.definition = definition
        self.evaluator = evaluator
        self.providers = providers
        self.calendars = calendars
        self.graph = DefinitionGraph(definition)
        self.nodes: dict[str, Node] = {}
        for node in definition.nodes:
            self.nodes.setdefault(node.id, node)
        self._registry = registry
        self.starts = [node for node in definition.nodes if node.activity_type == START]

    def descriptor(self, node: Node) -> ActivityDescriptor | None:
        """Return the descriptor of a node's activity; None when nothing runs it."""
        return self._registry.descriptor(node.activity_type)

    def label(self, node_id: str) -> str:
        """Return the name of a node, or its id when there is no such node."""
        return self.nodes[node_id].label if node_id in self.nodes else node_id

    def each_node(self) -> Iterator[tuple[str, Node]]:
        """Yield every node with its path."""
        return ((item_path("nodes", index), node) for index, node in enumerate(self.definition.nodes))

    def properties(self, node: Node, path: str) -> list[PropertyValue]:
        """Return the node's properties that its activity describes and that have a value."""
        descriptor = self.descriptor(node)
        if descriptor is None:
            return []
        described = [(descriptor.property(name), name, value) for name, value in node.properties.items()]
        base = member_path(path, "properties")
        return [
            PropertyValue(found, value, member_path(base, name))
            for found, name, value in described
            if found is not None and value is not None
        ]

    def property(self, node: Node, name: str) -> JsonValue:
        """Return the value of a property in either spelling; None when it is not there or not described."""
        return next((found.value for found in self.properties(node, "") if found.described.name == name), None)

    def _own_names(self, node: Node, described: PropertyDescriptor) -> frozenset[str]:
        """Return the names that only this property's expressions see: the item of a ForEach and its number."""
        if (node.activity_type, described.name) != ("ForEach", "VariableExpressions"):
            return frozenset()
        item = self.property(node, "ItemVariableName")
        return frozenset((item if isinstance(item, str) and item.strip() else "item", "index"))

    def sites(self) -> Iterator[Site]:
        """Yield every text that is evaluated: properties node by node, then conditions."""
        for path, node in self.each_node():
            for found in self.properties(node, path):
                yield from _property_sites(found, node.id, self._own_names(node, found.described))
                if (node.activity_type, found.described.name) == (GATEWAY, EVENTS):
                    yield from _event_sites(found, node.id)
            yield from _listener_sites(node, path)
        for index, transition in enumerate(self.definition.transitions):
            if transition.condition is not None and transition.condition.strip():
                path = member_path(item_path("transitions", index), "condition")
                source = transition.source_node_id
                yield Site(transition.condition, TextKind.CONDITION, path, source, transition.id)


def _property_sites(found: PropertyValue, node_id: str, own_names: frozenset[str]) -> Iterator[Site]:
    described, value, path = found
    if described.editor is Editor.ASSIGNEE_RULES:
        yield from _rule_sites(value, path, node_id)
    kind = _text_kind(described)
    if kind is None:
        return
    if described.editor is Editor.KEY_VALUE:
        if isinstance(value, dict):
            texts = ((member, member_path(path, name)) for name, member in value.items())
            yield from (
                Site(text, kind, where, node_id, own_names=own_names) for text, where in texts if isinstance(text, str)
            )
    elif isinstance(value, str) and not described.stands_for_itself(value):
        yield Site(value, kind, path, node_id)


def _event_sites(found: PropertyValue, node_id: str) -> Iterator[Site]:
    """Yield the texts in a gateway's events that are evaluated when it begins to wait."""
    kinds = {NAME: TextKind.TEMPLATE, SECONDS: TextKind.EXPRESSION, UNTIL: TextKind.EXPRESSION}
    for index, event in enumerate(found.value if isinstance(found.value, list) else []):
        for name, kind in kinds.items():
            text = event.get(name) if isinstance(event, dict) else None
            if isinstance(text, str) and text.strip() and not (name == UNTIL and is_instant(text)):
                yield Site(text, kind, member_path(item_path(found.path, index), name), node_id)


def _listener_sites(node: Node, path: str) -> Iterator[Site]:
    """Yield the texts that a node's listeners tell."""
    for index, listener in enumerate(node.listeners):
        text = listener.get(declared.EXPRESSION)
        if isinstance(text, str):
            where = member_path(item_path(member_path(path, "listeners"), index), declared.EXPRESSION)
            leaving = listener.get(declared.ON) == declared.LEAVE
            yield Site(text, TextKind.TEMPLATE, where, node.id, afterwards=leaving)


def _text_kind(described: PropertyDescriptor) -> TextKind | None:
    """Return how a text value of the property is read; None when it is taken literally."""
    if described.kind is Kind.TEMPLATE:
        return TextKind.TEMPLATE
    if described.kind is Kind.LITERAL:
        return None
    return TextKind.CONDITION if described.editor is Editor.CONDITION else TextKind.EXPRESSION


def _rule_sites(rules: JsonValue, path: str, node_id: str) -> Iterator[Site]:
    for index, rule in enumerate(rules if isinstance(rules, list) else []):
        if not isinstance(rule, dict) or rule.get("type") != RuleType.EXPRESSION:
            continue
        values = rule.get("values")
        for number, text in enumerate(values if isinstance(values, list) else []):
            if isinstance(text, str):
                where = item_path(member_path(item_path(path, index), "values"), number)
                yield Site(text, TextKind.EXPRESSION, where, node_id, checked_by_provider=True)
