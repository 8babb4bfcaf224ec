"""The operations on an instance: start, resume, due bookmarks, retry, cancel (spec 3.2, 3.12, 3.13, 3.16)."""

from __future__ import annotations

from datetime import datetime

from webapp.engine.activities.compiled import CompiledDefinition
from webapp.engine.errors import (
    CONFLICT_BOOKMARK,
    DENIED_ACTOR,
    NOTFOUND_BOOKMARK,
    Conflict,
    Denied,
    InputInvalid,
    NotFound,
    Unexpected,
)
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.limits import MAX_REMARK, length_problems
from webapp.engine.instances.model import InstanceStatus, PendingToken, WorkflowInstance
from webapp.engine.instances.requests import StartRequest, initial_variables
from webapp.engine.numbers import JsonObject, copy_json
from webapp.engine.ports.stores import InstanceSnapshot
from webapp.engine.runtime import children, compensation, due_times, ending, events
from webapp.engine.runtime.commands import Command, Kit, Wave
from webapp.engine.runtime.effects import WaveState, nothing_done
from webapp.engine.runtime.executor import Executor
from webapp.engine.runtime.queue import Fresh, Item, Resumption, Retrial


def start(
    kit: Kit,
    compiled: CompiledDefinition,
    request: StartRequest,
    command: Command,
    partition: str | None,
    now: datetime,
) -> Wave:
    """Start an instance and run its first wave (spec 3.2).

    :raises InputInvalid: too deep, a variable missing or of the wrong type, a text too long.
    """
    maximum = kit.options.max_sub_workflow_depth
    if request.depth > maximum:
        raise InputInvalid("workflow.depth.exceeded", params={"depth": request.depth, "max": maximum}, path="depth")
    instance = _new_instance(kit, compiled, request, partition, now)
    wave = WaveState(kit, compiled, instance, command, now)
    instance.sequence = wave.number()
    timeout = compiled.definition.timeout
    # Computed first: a calendar that is gone must refuse the start before anything has run.
    deadline = None if timeout is None else due_times.instance_deadline(wave, timeout)
    wave.instance_event(events.INSTANCE_STARTED)
    Executor(wave, [Fresh(compiled.start, [], [])]).run()
    # A first wave that faulted may be retried, and has a deadline then as well.
    if deadline is not None and instance.status in (InstanceStatus.RUNNING, InstanceStatus.FAULTED):
        wave.add_instance_bookmark(BookmarkKind.INSTANCE_TIMEOUT, deadline)
    return wave.finish(wave.entry())


def _new_instance(
    kit: Kit, compiled: CompiledDefinition, request: StartRequest, partition: str | None, now: datetime
) -> WorkflowInstance:
    definition = compiled.definition
    instance_id = request.instance_id or kit.ids.new()
    title = request.title if request.title and request.title.strip() else definition.title
    return WorkflowInstance(
        id=instance_id,
        tenant_id=partition,
        definition_id=definition.id,
        definition_name=definition.name,
        definition_version=definition.version,
        definition_title=definition.title,
        title=title,
        variables=initial_variables(definition, request),
        correlation_id=request.correlation_id or None,
        starter_id=request.starter_id,
        requested_by=request.requested_by,
        parent_instance_id=request.parent_instance_id,
        parent_node_instance_id=request.parent_node_instance_id,
        root_instance_id=request.root_instance_id or instance_id,
        depth=request.depth,
        created_at=now,
        started_at=now,
        scheduled_at=request.scheduled_at,
    )


def resume(
    wave: WaveState, snapshot: InstanceSnapshot, bookmark_id: str, inputs: JsonObject, expected_key: str | None
) -> Wave:
    """Resume one bookmark with a caller's inputs (spec 3.16).

    :raises NotFound: no such bookmark. :raises Denied: its key is not the expected one.
    :raises Conflict: the instance does not run, or this kind of bookmark is not resumed.
    """
    bookmark = wave.waits.open.get(bookmark_id)
    if bookmark is None:
        raise NotFound("workflow.bookmark.not_found", code=NOTFOUND_BOOKMARK)
    if expected_key is not None and bookmark.key != expected_key:
        raise Denied("workflow.task.not_assignee", code=DENIED_ACTOR)
    check_resumable(bookmark, snapshot)
    Executor(wave, [item_of(bookmark, copy_json(inputs))]).run()
    return wave.finish(wave.entry(task=bookmark if bookmark.kind is BookmarkKind.USER_TASK else None))


def check_resumable(bookmark: Bookmark, snapshot: InstanceSnapshot) -> None:
    """Refuse a bookmark of an instance that does not run, or one that no node instance waits on."""
    status = snapshot.instance.status
    if status is not InstanceStatus.RUNNING:
        raise Conflict(
            "workflow.bookmark.not_running",
            code=CONFLICT_BOOKMARK,
            params={"status": status},
            details={"status": status},
        )
    if all(node_instance.id != bookmark.node_instance_id for node_instance in snapshot.node_instances):
        raise Conflict("workflow.bookmark.not_resumable", code=CONFLICT_BOOKMARK, params={"kind": bookmark.kind})


def item_of(bookmark: Bookmark, inputs: JsonObject) -> Item:
    """Return the item of the queue that consumes a bookmark."""
    if bookmark.kind is BookmarkKind.RETRY:
        return Retrial(bookmark.node_instance_id or "", bookmark)
    return Resumption(bookmark, inputs)


def retry(
    wave: WaveState,
    reason: str | None,
    *,
    restart: bool = False,
    force: bool = False,
    running_child: str | None = None,
    order: str | None = None,
) -> Wave:
    """Run the failed node of a Faulted instance again, and the tokens its fault left behind (spec 3.13, 3.8).

    A node that failed because a child did waits for that child again, whose retry is owed, so that nothing is done
    twice; *restart* starts a new child instead. *running_child*: that one is being retried already. *order*:
    the parent's, which then need not be told (spec 3.22). *force*: although the fault has undone what was done before.

    :raises Conflict: the instance is not Faulted, no node is to blame, or its fault was compensated.
    """
    _check_reason(reason)
    instance = wave.instance
    if instance.status is not InstanceStatus.FAULTED:
        raise Conflict("workflow.instance.not_faulted", params={"status": instance.status})
    node_instance = wave.touch(instance.fault_node_instance_id)
    if node_instance is None:
        raise Conflict("workflow.instance.not_retryable")
    if not force and compensation.was_compensated(wave):
        raise Conflict("workflow.instance.compensated")
    items: list[Item] = [token_of(wave, token) for token in instance.pending_tokens]
    instance.retry_order = order
    if instance.parent_instance_id is not None and order is None:
        children.tell_parent_of_retry(wave)
    if not restart and children.is_stopped_by_child(wave):
        children.reattach(wave, node_instance, running=running_child)
    else:
        items.insert(0, Retrial(node_instance.id))
    children.recheck(wave)
    instance.status = InstanceStatus.RUNNING
    instance.fault = instance.fault_node_id = instance.fault_node_instance_id = None
    instance.ended_at = None
    instance.pending_tokens = []
    wave.waits.restore_due_times()
    wave.instance_event(events.INSTANCE_RESUMED)
    Executor(wave, items).run()
    return wave.finish(wave.entry(reason=reason))


def token_of(wave: WaveState, token: PendingToken) -> Fresh:
    """Return a token that a fault left behind, ready to go on."""
    node = wave.compiled.nodes.get(token.node_id)
    if node is None:
        raise Unexpected("workflow.node.missing", params={"id": token.node_id})
    return Fresh(node, list(token.caused_by), list(token.via_transition_ids), list(token.back), list(token.late))


def cancel(wave: WaveState, reason: str | None) -> Wave:
    """Cancel an instance; one that has ended otherwise than by a fault stays as it is (spec 3.13, decision D9)."""
    return close(wave, reason, terminates=False)


def close(wave: WaveState, reason: str | None, *, terminates: bool) -> Wave:
    """Cancel or terminate an instance; one that has ended otherwise than by a fault stays as it is."""
    _check_reason(reason)
    status = wave.instance.status
    if status.ended and status is not InstanceStatus.FAULTED:
        return nothing_done(wave.instance)
    if terminates:
        ending.terminate(wave, reason)
    else:
        ending.cancel(wave, reason)
    return wave.finish(wave.entry(reason=reason))


def _check_reason(reason: str | None) -> None:
    problems = length_problems("reason", reason, MAX_REMARK)
    if problems:
        raise InputInvalid("workflow.instance.invalid", problems=problems)
