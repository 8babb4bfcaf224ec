"""What a running activity sees of its instance and node (spec 14)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from webapp.engine.activities.api import ActivityFault, AssigneeResult
from webapp.engine.activities.compiled import CompiledNode, Read
from webapp.engine.assignees import (
    AssigneeError,
    AssigneeResolution,
    AssigneeRule,
    EmptyAssigneeStrategy,
    RuleType,
    read_rules,
    resolve,
)
from webapp.engine.cancellation import Cancellation, CancellationToken, Deadline
from webapp.engine.errors import UNEXPECTED, VALIDATION_EXPRESSION
from webapp.engine.expressions import ExpressionError
from webapp.engine.instances.bookmarks import Bookmark
from webapp.engine.instances.journal import Event, LogLine
from webapp.engine.instances.model import NodeInstance, WorkflowFault
from webapp.engine.numbers import JsonObject, JsonValue, copy_json
from webapp.engine.ports.transactions import RunAlone
from webapp.engine.runtime import due_times
from webapp.engine.runtime import events as topics
from webapp.engine.runtime.effects import WaveState
from webapp.engine.tasks.history import approvers, completed_by

_NEVER = Cancellation()


class NodeContext:
    """One run of one node."""

    __slots__ = ("_effect_key", "_node", "_node_instance", "_wave")

    def __init__(self, wave: WaveState, node: CompiledNode, node_instance: NodeInstance) -> None:
        if node.is_custom and wave.command.batched:
            raise RunAlone
        self._wave = wave
        self._node = node
        self._node_instance = node_instance
        self._effect_key = wave.effect(node.id) if node.effects else None

    @property
    def instance_id(self) -> str:
        """The instance's id."""
        return self._wave.instance.id

    @property
    def instance_title(self) -> str:
        """The instance's title."""
        return self._wave.instance.title

    @property
    def correlation_id(self) -> str | None:
        """The instance's correlation id."""
        return self._wave.instance.correlation_id

    @property
    def starter_id(self) -> str | None:
        """Who started the instance."""
        return self._wave.instance.starter_id

    @property
    def node_id(self) -> str:
        """The node's id in its definition."""
        return self._node.id

    @property
    def node_name(self) -> str:
        """The node's name."""
        return self._node.name

    @property
    def node_instance_id(self) -> str:
        """The id of this execution."""
        return self._node_instance.id

    @property
    def try_count(self) -> int:
        """1 on the first run."""
        return self._node_instance.try_count

    @property
    def now(self) -> datetime:
        """The wave's instant."""
        return self._wave.now

    @property
    def effect_key(self) -> str:
        """The key of this run's outside effect; only an activity with ``effects = True`` has one."""
        if self._effect_key is None:
            raise TypeError(f"{self._node.node.activity_type} has no effect_key: declare effects = True in its class")
        return self._effect_key

    @property
    def cancellation(self) -> CancellationToken:
        """Set when the caller does not wait any more."""
        return self._wave.command.cancellation or _NEVER

    def deadline(self, seconds: float) -> CancellationToken:
        """Return a token that the engine's clock sets after so many seconds."""
        return Deadline(self._wave.kit.clock, seconds)

    @property
    def default_priority(self) -> str | None:
        """The definition's own default for the priority of tasks."""
        return self._wave.compiled.definition.priority

    @property
    def variables(self) -> JsonObject:
        """The instance's variables; not to be changed."""
        return self._wave.variables.values

    @property
    def state(self) -> JsonObject:
        """This execution's private state: changed in place, kept over waits."""
        return self._node_instance.state

    @property
    def bookmarks(self) -> Sequence[Bookmark]:
        """This execution's open bookmarks (the one being resumed is already gone)."""
        return self._wave.waits.of_node(self._node_instance.id)

    def literal(self, name: str, default: JsonValue = None) -> JsonValue:
        """Return a copy of the property as it stands in the definition; null counts as absent."""
        value = self._raw(name)
        return default if value is None else copy_json(value)

    def text(self, name: str) -> str | None:
        """Return a template property rendered; numbers and booleans become text, lists and objects are a fault."""
        render = self._node.templates.get(name)
        if render is not None:
            rendered: str = self._read(name, render)
            return rendered
        value = self._raw(name)
        if value is None:
            return None
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str):
            return value
        if isinstance(value, int | Decimal):
            return format(value, "d" if isinstance(value, int) else "f")
        raise ActivityFault("workflow.property.type", code=UNEXPECTED, args={"name": name, "type": "string"})

    def evaluate(self, name: str) -> JsonValue:
        """Return the value of an expression property; a value that is no text stands for itself."""
        read = self._node.expressions.get(name)
        return copy_json(self._raw(name)) if read is None else self._read(name, read)

    def evaluate_each(self, name: str, more: JsonObject | None = None) -> JsonObject:
        """Return the values of a property that is an object of expressions or of templates; they see *more* too."""
        members = self._node.members.get(name)
        if members is not None:
            scope = {**self._wave.variables.scope, **more} if more else None
            return {key: copy_json(self._read(f"{name}.{key}", read, scope)) for key, read in members.items()}
        if self._raw(name) is None:
            return {}
        raise ActivityFault("workflow.property.type", code=UNEXPECTED, args={"name": name, "type": "object"})

    def evaluate_text(self, text: str) -> JsonValue:
        """Return the value of an expression that stands inside a structured property."""
        return self._wave.kit.evaluator.compile(text).evaluate(self._wave.variables.scope)

    def later(self, value: JsonValue, calendar: str | None = None, zone: str | None = None) -> datetime | None:
        """Return the instant at which a span from now on is over; None when the value is no span."""
        return due_times.later(self._wave, self._node, value, calendar, zone)

    def instant(self, value: JsonValue, zone: str | None = None) -> datetime | None:
        """Return the instant a value names, a date being its midnight in the zone; None when it names none."""
        return due_times.instant(self._wave, self._node, value, zone)

    def next_firing(self, cron: str, zone: str | None = None) -> datetime:
        """Return the first occurrence of a cron schedule after now."""
        return due_times.next_firing(self._wave, self._node, cron, zone)

    def render(self, text: str) -> str:
        """Return a template rendered that stands inside a structured property."""
        rendered: str = self._wave.kit.evaluator.compile_template(text).render(self._wave.variables.scope)
        return rendered

    def assignees(self) -> AssigneeResult:
        """Resolve the node's names, else its expression, and behind them its rules (spec 4.9)."""
        strategy = EmptyAssigneeStrategy.read(self._raw("EmptyAssigneeStrategy"))
        if strategy is None:
            args = {"strategy": self._raw("EmptyAssigneeStrategy")}
            raise ActivityFault("workflow.task.unknown_strategy", code=UNEXPECTED, args=args)
        try:
            found = resolve(
                self._rules(),
                self._wave.kit.providers,
                self._resolution,
                strategy=strategy,
                fallback=[name for name in self.literal("FallbackAssignees", []) if isinstance(name, str)],
                absent=self._absent(),
                members=self._members(),
            )
        except AssigneeError as error:
            return AssigneeResult(fault=WorkflowFault(code=error.code, key=error.key, args=error.arguments))
        except ExpressionError as error:
            whole = error.text == self._raw("AssigneesExpression")
            raise _property_fault("AssigneesExpression" if whole else "AssigneeRules", error) from error
        return AssigneeResult(ids=found.ids, claimable=found.claimable, label=found.label)

    def approvers(self) -> frozenset[str]:
        """Return who has approved an earlier task of the instance."""
        return approvers(one for one in self._wave.known_nodes() if one.id != self._node_instance.id)

    def remark(self, action: str, details: JsonObject) -> None:
        """Add a line to the instance's trail that tells what the node did by itself."""
        self._wave.remark(action, self._node.id, details)

    def transaction(self) -> Any:
        """Return the connection of the wave's transaction, for the application's own tables."""
        return self._wave.callbacks.transaction()

    def log(self, level: str, message: str) -> None:
        """Queue a line for the logger ``waypost.flow``, written after the commit."""
        line = LogLine(level=level, message=message, instance_id=self.instance_id, node_id=self._node.id)
        self._wave.log_lines.append(line)

    def publish(self, name: str, payload: JsonObject) -> None:
        """Queue a ``workflow.custom`` event."""
        data = {
            "eventName": name,
            "instanceId": self.instance_id,
            "correlationId": self.correlation_id,
            "payload": copy_json(payload),
        }
        self._wave.events.append(Event(topic=topics.CUSTOM, data=data))

    def _raw(self, name: str) -> JsonValue:
        properties = self._node.properties
        value = properties.get(name)
        # A custom activity may read a property that its descriptor does not list, in either spelling (D35).
        return properties.get(name[0].lower() + name[1:]) if value is None else value

    def _read(self, name: str, read: Read, scope: JsonObject | None = None) -> JsonValue:
        try:
            return read(self._wave.variables.scope if scope is None else scope)
        except ExpressionError as error:
            raise _property_fault(name, error) from error

    def _rules(self) -> list[AssigneeRule]:
        rules = []
        names = self.literal("Assignees")
        if names is not None:
            if not isinstance(names, list):
                raise AssigneeError("workflow.assignee.not_names")
            rules.append(AssigneeRule(type=RuleType.USER, values=tuple(names)))
        elif (text := self._raw("AssigneesExpression")) is not None:
            rules.append(AssigneeRule(type=RuleType.EXPRESSION, values=(text,)))
        return rules + read_rules(self.literal("AssigneeRules"))

    def _resolution(self, rule: AssigneeRule) -> AssigneeResolution:
        instance = self._wave.instance
        return AssigneeResolution(
            rule=rule,
            starter_id=instance.starter_id,
            evaluate=self.evaluate_text,
            completed_by=lambda node_id: completed_by(self._wave.known_nodes(), node_id),
            partition=instance.tenant_id,
            instance_id=instance.id,
            node_id=self._node.id,
            transaction=self.transaction,
        )

    def _absent(self) -> Callable[[Collection[str]], Collection[str]]:
        directory, partition = self._wave.kit.directory, self._wave.instance.tenant_id
        if directory is None:
            return lambda names: ()
        return lambda names: directory.disabled(partition, names)

    def _members(self) -> Callable[[str], Collection[str]]:
        directory, partition = self._wave.kit.directory, self._wave.instance.tenant_id
        if directory is None:
            return lambda group: ()
        return lambda group: directory.members(partition, group)


def _property_fault(name: str, error: ExpressionError) -> ActivityFault:
    inner = WorkflowFault(code=error.code, key=error.key, args=error.params)
    return ActivityFault("workflow.property.failed", code=VALIDATION_EXPRESSION, args={"name": name}, inner=inner)
