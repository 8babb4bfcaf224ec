"""What runs because its time has come: the due bookmarks of one instance (spec 3.12, 3.22, D16)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from webapp.engine.definitions.model import InstanceTimeoutAction
from webapp.engine.errors import UNEXPECTED
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.journal import AuditEntry
from webapp.engine.instances.model import InstanceStatus, WorkflowFault
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.stores import InstanceSnapshot
from webapp.engine.runtime import ending, escalations, operations, reminders, timeouts
from webapp.engine.runtime.commands import Wave
from webapp.engine.runtime.effects import WaveState, nothing_done
from webapp.engine.runtime.executor import Executor
from webapp.engine.schedules import later
from webapp.engine.tasks.user_tasks import undo_until

AFTER_UNDO_SECONDS = 1
"""How long after the last moment to undo a decision a time limit comes again: the decision is carried out first."""


def due(wave: WaveState, bookmark_ids: Sequence[str]) -> Wave:
    """Run the due bookmarks of one instance together, in due order (spec 3.12).

    What is gone or not due any more is skipped; while the instance does not run, each is pushed back.
    """
    ready = [
        bookmark
        for bookmark_id in dict.fromkeys(bookmark_ids)
        if (bookmark := wave.waits.open.get(bookmark_id)) is not None
        and bookmark.due_at is not None
        and bookmark.due_at <= wave.now
    ]
    if not ready:
        return nothing_done(wave.instance)
    if wave.instance.status is not InstanceStatus.RUNNING:
        for bookmark in ready:
            _push_back(wave, bookmark)
        return wave.finish(None)
    ready = [bookmark for bookmark in ready if not _is_decided(wave, bookmark)]
    if not ready:
        return wave.finish(None)
    ready.sort(key=lambda bookmark: (bookmark.due_at, bookmark.sequence))
    deadline = next((bookmark for bookmark in ready if bookmark.kind is BookmarkKind.INSTANCE_TIMEOUT), None)
    running = [bookmark for bookmark in ready if bookmark is not deadline and not _only_tells(bookmark)]
    if running:
        Executor(wave, [operations.item_of(bookmark, {}) for bookmark in running]).run()
    told = [entry for bookmark in ready if _only_tells(bookmark) for entry in _tell(wave, bookmark)]
    if deadline is not None and wave.instance.status is InstanceStatus.RUNNING:
        _time_out(wave, deadline)
    done = wave.finish(wave.entry() if running or deadline is not None or not told else told.pop(0))
    done.write_set.audit += told
    return done


def resume(
    wave: WaveState, snapshot: InstanceSnapshot, bookmark_id: str, inputs: JsonObject, expected_key: str | None
) -> Wave:
    """Resume one bookmark with a caller's inputs, whatever its kind (spec 3.16); what only tells does so now.

    :raises WorkflowError: as :func:`operations.resume` does.
    """
    bookmark = wave.waits.open.get(bookmark_id)
    if bookmark is None or not _only_tells(bookmark) or expected_key not in (None, bookmark.key):
        return operations.resume(wave, snapshot, bookmark_id, inputs, expected_key)
    operations.check_resumable(bookmark, snapshot)
    told = list(_tell(wave, bookmark))
    return wave.finish(told[0] if told else wave.entry())


def _only_tells(bookmark: Bookmark) -> bool:
    """Whether its node stays where it is: a reminder, or a timeout that changes whose task it is."""
    return bookmark.kind is BookmarkKind.REMINDER or timeouts.changes_signers(bookmark)


def _tell(wave: WaveState, bookmark: Bookmark) -> Sequence[AuditEntry]:
    if bookmark.id not in wave.waits.open or wave.instance.status is not InstanceStatus.RUNNING:
        # The node, or the instance, has ended in this very wave.
        return ()
    if bookmark.kind is BookmarkKind.REMINDER:
        return reminders.remind(wave, bookmark)
    return escalations.change_signers(wave, bookmark)


def _is_decided(wave: WaveState, bookmark: Bookmark) -> bool:
    """Whether a time limit must wait for somebody who decided in time, and can still undo it (spec 6.7, Undo)."""
    if bookmark.kind is not BookmarkKind.NODE_TIMEOUT:
        return False
    siblings = wave.waits.of_node(bookmark.node_instance_id or "")
    undoable = [until for one in siblings if (until := undo_until(one)) is not None]
    if undoable:
        wave.waits.change(bookmark).due_at = later(max(*undoable, wave.now), AFTER_UNDO_SECONDS)
    return bool(undoable)


def _push_back(wave: WaveState, bookmark: Bookmark) -> None:
    own = wave.waits.change(bookmark)
    own.original_due_at = own.original_due_at or own.due_at
    own.due_at = later(wave.now, Decimal(str(wave.kit.options.not_resumable_backoff_seconds)))


def _time_out(wave: WaveState, deadline: Bookmark) -> None:
    wave.waits.consume(deadline)
    match wave.compiled.definition.timeout_action:
        case InstanceTimeoutAction.CANCEL:
            ending.cancel(wave, None)
        case InstanceTimeoutAction.TERMINATE:
            ending.terminate(wave, None)
        case _:
            ending.fault(wave, [], WorkflowFault(code=UNEXPECTED, key="workflow.instance.timed_out"), None)
