"""What a worker does with a task it holds: complete, fail, extend its lock (spec 7)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal

from webapp.engine.activities.compiled import CompiledDefinition
from webapp.engine.instances.bookmarks import Bookmark
from webapp.engine.instances.model import OUTCOME
from webapp.engine.numbers import JsonObject, copy_json
from webapp.engine.ports.external_tasks import LockChange
from webapp.engine.ports.stores import InstanceSnapshot, WriteSet
from webapp.engine.runtime.commands import Command, Wave
from webapp.engine.runtime.effects import WaveState
from webapp.engine.runtime.executor import Executor
from webapp.engine.runtime.operations import check_resumable
from webapp.engine.runtime.queue import Resumption
from webapp.engine.schedules import later
from webapp.engine.tasks import external_tasks as tasks

Begin = Callable[[InstanceSnapshot, CompiledDefinition, Command], WaveState]


class ExternalTaskOperations:
    """What the engine does for worker programs; part of its facade."""

    def __init__(self, begin: Begin) -> None:
        self._begin = begin

    def complete(
        self,
        snapshot: InstanceSnapshot,
        compiled: CompiledDefinition,
        task_id: str,
        *,
        worker_id: str,
        variables: JsonObject,
        outcome: str | None,
        command: Command,
    ) -> Wave:
        """Resume the node with the worker's variables and outcome.

        :raises NotFound: no such task. :raises Denied: the worker does not hold it. :raises Conflict: the instance does
            not run.
        """
        wave = self._begin(snapshot, compiled, command)
        bookmark = _held(wave, snapshot, task_id, worker_id)
        inputs = copy_json(variables)
        if outcome is not None:
            inputs[OUTCOME] = outcome
        Executor(wave, [Resumption(bookmark, inputs)]).run()
        return wave.finish(wave.entry(task=bookmark, outcome=outcome, details={"workerId": worker_id}))

    def fail(
        self,
        snapshot: InstanceSnapshot,
        compiled: CompiledDefinition,
        task_id: str,
        *,
        worker_id: str,
        error: str,
        details: str | None,
        retries: int | None,
        retry_delay: Decimal,
        command: Command,
    ) -> Wave:
        """Give the task back for another attempt, or make the node fail when none is left.

        :raises NotFound: no such task. :raises Denied: the worker does not hold it. :raises Conflict: the instance does
            not run.
        """
        wave = self._begin(snapshot, compiled, command)
        bookmark = _held(wave, snapshot, task_id, worker_id)
        left = tasks.retries_left(bookmark) - 1 if retries is None else retries
        told = {"workerId": worker_id, "error": error, "retries": max(left, 0)}
        if left <= 0:
            Executor(wave, [Resumption(bookmark, tasks.failure_inputs(error, details))]).run()
            return wave.finish(wave.entry(task=bookmark, details=told))
        own = wave.waits.change(bookmark)
        own.payload = {
            **bookmark.payload,
            tasks.RETRIES: left,
            tasks.LAST_FAILURE: {"error": error, "details": details},
        }
        done = wave.finish(wave.entry(task=bookmark, details=told))
        available_at = later(wave.now, retry_delay) if retry_delay > 0 else None
        done.write_set.lock_changes = [_lock_change(bookmark, None, None, available_at)]
        return done

    def extend(
        self,
        snapshot: InstanceSnapshot,
        compiled: CompiledDefinition,
        task_id: str,
        *,
        worker_id: str,
        until: datetime,
        command: Command,
    ) -> Wave:
        """Move the end of the lock; the instance itself is not written, so a busy worker makes no revisions.

        :raises NotFound: no such task. :raises Denied: the worker does not hold it. :raises Conflict: the instance does
            not run.
        """
        wave = self._begin(snapshot, compiled, command)
        bookmark = _held(wave, snapshot, task_id, worker_id)
        change = _lock_change(bookmark, worker_id, bookmark.lock_token, until)
        write_set = WriteSet(partition=wave.instance.tenant_id, lock_changes=[change])
        return Wave(write_set=write_set, instance=wave.instance, events=[], log_lines=[])


def _held(wave: WaveState, snapshot: InstanceSnapshot, task_id: str, worker_id: str) -> Bookmark:
    bookmark = tasks.check_held(wave.waits.open.get(task_id), worker_id, wave.now)
    check_resumable(bookmark, snapshot)
    return bookmark


def _lock_change(
    bookmark: Bookmark, worker_id: str | None, token: str | None, available_at: datetime | None
) -> LockChange:
    return LockChange(
        bookmark_id=bookmark.id,
        expected_token=bookmark.lock_token,
        worker_id=worker_id,
        lock_token=token,
        available_at=available_at,
    )
