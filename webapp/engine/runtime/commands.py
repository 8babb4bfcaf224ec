"""What goes into a wave and what comes out of it: options, the command, the wave not yet stored."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import msgspec

from webapp.engine.assignees import AssigneeProvider
from webapp.engine.clock import IdSource
from webapp.engine.expressions import ExpressionEvaluator
from webapp.engine.instances.journal import Event, LogLine
from webapp.engine.instances.model import WorkflowInstance
from webapp.engine.ports.directory import Directory
from webapp.engine.ports.stores import WriteSet


class EngineOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The engine's settings (spec 8.9)."""

    max_node_executions_per_burst: int = 1_000
    max_sub_workflow_depth: int = 16
    not_resumable_backoff_seconds: int | float | Decimal = 300


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """Who wants what: ``id`` is stored in the instance row, so that an unknown commit can be settled (spec 3.22)."""

    id: str
    action: str
    actor_id: str | None
    on_behalf_of: str | None = None
    as_operator: bool = False
    request_id: str | None = None


class Wave(msgspec.Struct, kw_only=True):
    """What a command did, in memory, not yet stored.

    A command that found nothing to do has an empty write set: ``instance`` in it is None.
    """

    write_set: WriteSet
    instance: WorkflowInstance
    events: list[Event]
    log_lines: list[LogLine]
    outside_effects: bool = False


class Kit(msgspec.Struct, frozen=True, kw_only=True):
    """What every wave needs from outside."""

    options: EngineOptions
    evaluator: ExpressionEvaluator
    ids: IdSource
    providers: Mapping[str, AssigneeProvider]
    directory: Directory | None = None
