"""External tasks: what worker programs fetch, complete, give back and hold on to (spec 6.7, 7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

import msgspec

from webapp.accounts.model import Actor
from webapp.accounts.permissions import EXTERNAL_TASKS_WORK
from webapp.engine.clock import Clock, IdSource
from webapp.engine.errors import (
    CONFLICT_BOOKMARK,
    NOTFOUND_BOOKMARK,
    Conflict,
    InputInvalid,
    NotFound,
    Problem,
    WorkflowError,
)
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.limits import MAX_KEY, blank_problems, length_problems
from webapp.engine.instances.requests import check_document
from webapp.engine.json_input import item_path
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.external_tasks import LockedTask, TopicLock
from webapp.engine.ports.stores import InstanceSnapshot, Partition
from webapp.engine.runtime.commands import Command, Wave
from webapp.engine.runtime.engine import Engine
from webapp.engine.schedules import later
from webapp.engine.tasks import external_tasks as rules
from webapp.services.access import require
from webapp.services.commands import Commands
from webapp.services.definitions import Prepared
from webapp.services.storage import Storage
from webapp.services.views import ExternalTaskResult, FetchedTask, FetchResult
from webapp.services.waiting_room import WaitingRoom

MAX_TASKS = 1_000
MAX_TOPICS = 50
MAX_RETRIES = 1_000_000
MAX_LOCK_SECONDS = 365 * 24 * 3600
MAX_WAIT_SECONDS = 30
RETRY_AFTER_SECONDS = 1

Number = int | Decimal
Act = Callable[[InstanceSnapshot, Prepared, Command], Wave]


class TopicRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A topic that a worker asks for, and for how long it wants to hold each task."""

    topic: str
    lock_seconds: Number


class ExternalTaskService:
    """The use cases of worker programs; all need the permission ``external-tasks:work``."""

    def __init__(
        self,
        *,
        engine: Engine,
        storage: Storage,
        commands: Commands,
        clock: Clock,
        ids: IdSource,
        waiting_room: WaitingRoom,
    ) -> None:
        self._engine = engine
        self._storage = storage
        self._commands = commands
        self._clock = clock
        self._ids = ids
        self._room = waiting_room
        commands.listeners.append(self._committed)

    def fetch_and_lock(
        self,
        actor: Actor,
        worker_id: str,
        topics: Sequence[TopicRequest],
        max_tasks: int,
        wait_seconds: Number = 0,
    ) -> FetchResult:
        """Lock up to *max_tasks* tasks, the oldest first; wait for one up to *wait_seconds* when there is none.

        An answer without tasks may say after how many seconds to come again: then all seats for waiting were taken.

        :raises InputInvalid: a number out of its range, a blank name, too many topics.
        """
        require(actor, EXTERNAL_TASKS_WORK)
        _check_fetch(worker_id, topics, max_tasks, wait_seconds)

        def look() -> Sequence[LockedTask] | None:
            return self._lock(actor.partition, worker_id, topics, max_tasks) or None

        found = look()
        if found is not None or wait_seconds <= 0:
            return _fetched(found or ())
        with self._room.seat() as seated:
            if not seated:
                return FetchResult(items=[], retry_after=RETRY_AFTER_SECONDS)
            keys = [_key(actor.partition, asked.topic) for asked in topics]
            return _fetched(self._room.until(keys, look, float(wait_seconds)) or ())

    def complete(
        self,
        actor: Actor,
        task_id: str,
        worker_id: str,
        variables: JsonObject | None = None,
        outcome: str | None = None,
    ) -> ExternalTaskResult:
        """Hand in the result of a task: the variables are merged, the outcome is the label.

        :raises NotFound: no such task ever was. :raises Denied: the worker does not hold its lock.
        :raises Conflict: the task is over, or its instance does not run.
        """
        require(actor, EXTERNAL_TASKS_WORK)
        written = variables if variables is not None else {}
        _refuse([*rules.worker_problems(worker_id), *rules.completion_problems(written, outcome)])
        check_document(written, "variables")

        def act(snapshot: InstanceSnapshot, prepared: Prepared, command: Command) -> Wave:
            return self._engine.external_tasks.complete(
                snapshot,
                prepared.compiled,
                task_id,
                worker_id=worker_id,
                variables=written,
                outcome=outcome,
                command=command,
            )

        return self._act(actor, task_id, "work", act)

    def fail(
        self,
        actor: Actor,
        task_id: str,
        worker_id: str,
        error: str,
        details: str | None = None,
        retries: int | None = None,
        retry_delay_seconds: Number = 0,
    ) -> ExternalTaskResult:
        """Give a task back with an error: *retries* are those left (default: one fewer); without one the node fails.

        :raises NotFound: no such task ever was. :raises Denied: the worker does not hold its lock.
        :raises Conflict: the task is over, or its instance does not run.
        """
        require(actor, EXTERNAL_TASKS_WORK)
        _refuse([*rules.worker_problems(worker_id), *rules.failure_problems(error, details)])
        _refuse(_range("retries", retries, -MAX_RETRIES, MAX_RETRIES, "services.external.retries"))
        _refuse(_range("retryDelaySeconds", retry_delay_seconds, 0, MAX_LOCK_SECONDS, "services.external.retry_delay"))

        def act(snapshot: InstanceSnapshot, prepared: Prepared, command: Command) -> Wave:
            return self._engine.external_tasks.fail(
                snapshot,
                prepared.compiled,
                task_id,
                worker_id=worker_id,
                error=error,
                details=details,
                retries=retries,
                retry_delay=Decimal(retry_delay_seconds),
                command=command,
            )

        return self._act(actor, task_id, "workFailed", act)

    def extend(self, actor: Actor, task_id: str, worker_id: str, lock_seconds: Number) -> ExternalTaskResult:
        """Hold a task for so many seconds from now; that may be shorter than before.

        :raises NotFound: no such task ever was. :raises Denied: the worker does not hold its lock.
        :raises Conflict: the task is over, or its instance does not run.
        """
        require(actor, EXTERNAL_TASKS_WORK)
        _refuse([*rules.worker_problems(worker_id), *_lock_problems("lockSeconds", lock_seconds)])

        def act(snapshot: InstanceSnapshot, prepared: Prepared, command: Command) -> Wave:
            until = later(self._clock.now(), lock_seconds)
            return self._engine.external_tasks.extend(
                snapshot, prepared.compiled, task_id, worker_id=worker_id, until=until, command=command
            )

        return self._act(actor, task_id, "extendLock", act)

    @property
    def waiting(self) -> int:
        """How many calls wait now."""
        return self._room.taken

    def close(self) -> None:
        """Answer everybody who waits: the process ends."""
        self._room.close()

    def _lock(
        self, partition: Partition, worker_id: str, topics: Sequence[TopicRequest], limit: int
    ) -> Sequence[LockedTask]:
        now = self._clock.now()
        names = [asked.topic for asked in topics]
        # Most looks find nothing: they must not take the write lock that SQLite has but one of.
        if not self._storage.read(partition, lambda work: work.external_tasks.any_available(partition, names, now)):
            return ()
        locks = [TopicLock(topic=asked.topic, until=later(now, asked.lock_seconds)) for asked in topics]
        token = self._ids.new()
        return self._storage.write(
            partition,
            lambda work: work.external_tasks.lock_available(partition, locks, now, limit, worker_id, token),
        )

    def _act(self, actor: Actor, task_id: str, action: str, act: Act) -> ExternalTaskResult:
        partition = actor.partition
        bookmark = self._storage.read(partition, lambda work: work.bookmarks.find(partition, task_id))
        if bookmark is None or bookmark.kind is not BookmarkKind.EXTERNAL_TASK or bookmark.instance_id is None:
            raise self._missing(partition, task_id)
        command = self._commands.command(actor, action)

        def decide(snapshot: InstanceSnapshot, prepared: Prepared) -> Wave:
            try:
                return act(snapshot, prepared, command)
            except NotFound as gone:
                # It was there a moment ago: somebody else was faster, which is no 404 (9.4).
                raise _over(task_id, status=snapshot.instance.status.value) from gone

        def lost() -> WorkflowError:
            return self._missing(partition, task_id)

        wave = self._commands.change(partition, bookmark.instance_id, decide, lost=lost)
        return _result(task_id, bookmark, wave)

    def _missing(self, partition: Partition, task_id: str) -> WorkflowError:
        """Return why there is no such task: it is over while its instance is kept, or it never was."""
        named = rules.named_instance(task_id)
        if named is not None:
            instance_id, number = named
            instance = self._storage.read(partition, lambda work: work.instances.find(partition, instance_id))
            if instance is not None and 0 < number <= instance.last_sequence:
                return _over(task_id, status=instance.status.value)
        return NotFound("workflow.external.not_found", code=NOTFOUND_BOOKMARK, params={"id": task_id})

    def _committed(self, wave: Wave) -> None:
        """Wake whoever waits for a topic that this commit put something under."""
        written = (*wave.write_set.new_bookmarks, *wave.write_set.changed_bookmarks)
        topics = {one.key or "" for one in written if one.kind is BookmarkKind.EXTERNAL_TASK}
        if topics:
            self._room.announce([_key(wave.write_set.partition, topic) for topic in topics])


def _key(partition: Partition, topic: str) -> str:
    return f"{partition or ''}\x1f{topic}"


def _over(task_id: str, **details: str) -> Conflict:
    return Conflict("services.external.over", code=CONFLICT_BOOKMARK, params={"id": task_id}, details=details)


def _result(task_id: str, before: Bookmark, wave: Wave) -> ExternalTaskResult:
    write_set = wave.write_set
    lock = next((one for one in write_set.lock_changes if one.bookmark_id == task_id), None)
    after = next((one for one in write_set.changed_bookmarks if one.id == task_id), before)
    open_still = lock is not None
    return ExternalTaskResult(
        id=task_id,
        topic=before.key or "",
        instance_id=wave.instance.id,
        instance_status=wave.instance.status,
        status="open" if open_still else "ended",
        retries=rules.retries_left(after) if open_still else 0,
        locked_until=lock.available_at if lock is not None and lock.worker_id is not None else None,
    )


def _fetched(found: Sequence[LockedTask]) -> FetchResult:
    return FetchResult(items=[_task(one) for one in found])


def _task(locked: LockedTask) -> FetchedTask:
    bookmark = locked.bookmark
    variables = bookmark.payload.get(rules.VARIABLES)
    return FetchedTask(
        id=bookmark.id,
        topic=bookmark.key or "",
        worker_id=bookmark.worker_id or "",
        variables=variables if isinstance(variables, dict) else {},
        instance_id=bookmark.instance_id or "",
        definition_name=locked.definition_name,
        correlation_id=bookmark.correlation_id,
        retries=rules.retries_left(bookmark),
        locked_until=bookmark.available_at,
    )


def _check_fetch(worker_id: str, topics: Sequence[TopicRequest], max_tasks: int, wait_seconds: Number) -> None:
    problems = rules.worker_problems(worker_id)
    if not 1 <= len(topics) <= MAX_TOPICS or len({asked.topic for asked in topics}) < len(topics):
        problems.append(Problem(path="topics", key="services.external.topics", params={"max": MAX_TOPICS}))
    for index, asked in enumerate(topics[:MAX_TOPICS]):
        where = item_path("topics", index)
        problems += blank_problems(f"{where}.topic", asked.topic)
        problems += length_problems(f"{where}.topic", asked.topic, MAX_KEY)
        problems += _lock_problems(f"{where}.lockSeconds", asked.lock_seconds)
    problems += _range("maxTasks", max_tasks, 1, MAX_TASKS, "services.external.max_tasks")
    problems += _range("waitSeconds", wait_seconds, 0, MAX_WAIT_SECONDS, "services.external.wait_seconds")
    _refuse(problems)


def _lock_problems(path: str, seconds: Number) -> list[Problem]:
    if 0 < seconds <= MAX_LOCK_SECONDS:
        return []
    return [Problem(path=path, key="services.external.lock_seconds", params={"max": MAX_LOCK_SECONDS})]


def _range(path: str, value: Number | None, least: int, most: int, key: str) -> list[Problem]:
    if value is None or least <= value <= most:
        return []
    return [Problem(path=path, key=key, params={"max": most})]


def _refuse(problems: Sequence[Problem]) -> None:
    if problems:
        raise InputInvalid("services.input.invalid", problems=problems)
