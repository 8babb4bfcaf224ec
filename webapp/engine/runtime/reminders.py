"""Reminders of a user task node, and the word that it is overdue (spec 3.22, 6.4)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import structs

from webapp.engine.activities.api import BookmarkRequest
from webapp.engine.activities.reminders import COUNT, DUE, EVERY, MOST, REASON
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.journal import AuditEntry, Event
from webapp.engine.runtime import due_times, events
from webapp.engine.runtime.effects import WaveState
from webapp.engine.schedules import later, positive
from webapp.engine.tasks.user_tasks import undo_until


def remind(wave: WaveState, bookmark: Bookmark) -> Sequence[AuditEntry]:
    """Tell everybody whom the node still waits for, and arm the next reminder if there is one."""
    wave.waits.consume(bookmark)
    node_instance = wave.touch(bookmark.node_instance_id)
    if node_instance is None:
        return ()
    overdue = bookmark.payload.get(REASON) == DUE
    waits = wave.waits.of_node(node_instance.id)
    open_tasks = [one for one in waits if one.kind is BookmarkKind.USER_TASK and undo_until(one) is None]
    count = int(bookmark.payload.get(COUNT, 0)) + 1
    for task in open_tasks:
        data = {**events.task_data(wave.instance, task, []), **({} if overdue else {COUNT: count})}
        wave.events.append(Event(topic=events.TASK_OVERDUE if overdue else events.TASK_REMINDED, data=data))
    if not overdue:
        due_at = _next(wave, bookmark, count)
        if due_at is not None:
            payload = {**bookmark.payload, COUNT: count}
            request = BookmarkRequest(kind=BookmarkKind.REMINDER, due_at=due_at, payload=payload)
            wave.add_bookmark(node_instance, request)
    if not open_tasks:
        return ()
    told = {"reminded": [task.key for task in open_tasks]}
    entry = wave.entry(task=open_tasks[0], details=told)
    return (structs.replace(entry, action="overdue" if overdue else "remind"),)


def _next(wave: WaveState, bookmark: Bookmark, count: int) -> datetime | None:
    """Return when to remind again: at the same pace, however late this one was; never in a burst."""
    every, most = bookmark.payload.get(EVERY), bookmark.payload.get(MOST)
    if every is None or (most is not None and count >= most):
        return None
    from_now = due_times.later(wave, wave.compiled.nodes.get(bookmark.node_id or ""), every)
    if positive(every) is None or from_now != later(wave.now, every):
        # A span of days or of working hours has no pace but its own.
        return from_now
    on_time = later(bookmark.due_at or wave.now, every)
    return on_time if on_time > wave.now else from_now
