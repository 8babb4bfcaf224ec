"""Delivering a signal to one wait (spec 3.16, 3.17)."""

from __future__ import annotations

from collections.abc import Callable

from webapp.engine.activities.compiled import CompiledDefinition
from webapp.engine.errors import NOTFOUND_BOOKMARK, NotFound
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.numbers import JsonObject, copy_json
from webapp.engine.ports.stores import InstanceSnapshot
from webapp.engine.runtime.commands import Command, Wave
from webapp.engine.runtime.effects import WaveState
from webapp.engine.runtime.executor import Executor
from webapp.engine.runtime.operations import check_resumable
from webapp.engine.runtime.queue import Resumption

Begin = Callable[[InstanceSnapshot, CompiledDefinition, Command], WaveState]


class SignalOperations:
    """What the engine does with signals; part of its facade."""

    def __init__(self, begin: Begin) -> None:
        self._begin = begin

    def deliver(
        self,
        snapshot: InstanceSnapshot,
        compiled: CompiledDefinition,
        bookmark_id: str,
        payload: JsonObject,
        command: Command,
        *,
        taken_signal_id: str | None = None,
    ) -> Wave:
        """Resume a wait with the signal's payload; *taken_signal_id* is the kept signal that it takes with it.

        :raises NotFound: nothing waits there any more. :raises Conflict: the instance does not run.
        """
        wave = self._begin(snapshot, compiled, command)
        bookmark = wave.waits.open.get(bookmark_id)
        if bookmark is None or bookmark.kind is not BookmarkKind.SIGNAL:
            raise NotFound("workflow.bookmark.not_found", code=NOTFOUND_BOOKMARK)
        check_resumable(bookmark, snapshot)
        Executor(wave, [Resumption(bookmark, copy_json(payload))]).run()
        done = wave.finish(wave.entry(task=bookmark, details={"signal": bookmark.key}))
        if taken_signal_id is not None:
            done.write_set.taken_signal_ids = [taken_signal_id]
        return done
