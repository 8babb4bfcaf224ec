"""What goes into a wave and what comes out of it: options, the command, the wave not yet stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

import msgspec

from webapp.engine.assignees import AssigneeProvider
from webapp.engine.cancellation import CancellationToken
from webapp.engine.clock import Clock, IdSource
from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.expressions import ExpressionEvaluator
from webapp.engine.instances.journal import Event, LogLine
from webapp.engine.instances.model import WorkflowInstance
from webapp.engine.notifications.recipients import NodeMessage
from webapp.engine.ports.calendars import Calendars
from webapp.engine.ports.directory import Directory
from webapp.engine.ports.outcomes import OutcomeHandler
from webapp.engine.ports.stores import WriteSet


class EngineOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The engine's settings (spec 8.9)."""

    max_node_executions_per_burst: int = 1_000
    max_sub_workflow_depth: int = 16
    not_resumable_backoff_seconds: int | float | Decimal = 300
    time_zone: str = "UTC"


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """Who wants what: ``id`` is stored in the instance row, so that an unknown commit can be settled (spec 3.22).

    ``cancellation``, when given, tells that the caller has gone: what was begun is rolled back. Requests of the web
    have none, and a server that is told to stop finishes its waves. ``batched``: its wave is one of several that are
    written together (8.10); a node with outside effects that it reaches is left to the background, and what else must
    be alone raises :class:`~webapp.engine.ports.transactions.RunAlone`.
    """

    id: str
    action: str
    actor_id: str | None
    on_behalf_of: str | None = None
    as_operator: bool = False
    request_id: str | None = None
    cancellation: CancellationToken | None = None
    batched: bool = False


class Wave(msgspec.Struct, kw_only=True):
    """What a command did, in memory, not yet stored.

    A command that found nothing to do has an empty write set: ``instance`` in it is None. ``node_messages``: what the
    listeners of nodes had to say. ``definition`` and ``command``: whose and by whom, when something was done.
    """

    write_set: WriteSet
    instance: WorkflowInstance
    events: list[Event]
    log_lines: list[LogLine]
    outside_effects: bool = False
    node_messages: list[NodeMessage] = []
    definition: WorkflowDefinition | None = None
    command: Command | None = None


class Kit(msgspec.Struct, frozen=True, kw_only=True):
    """What every wave needs from outside."""

    options: EngineOptions
    evaluator: ExpressionEvaluator
    ids: IdSource
    clock: Clock
    outcome_handlers: Sequence[OutcomeHandler] = ()
    providers: Mapping[str, AssigneeProvider]
    directory: Directory | None = None
    calendars: Calendars | None = None
