"""The tasks of one node while its signers change: policy evaluated, tasks made, withdrawn, shown (spec 6.7)."""

from __future__ import annotations

from webapp.engine.builtin.user_task import task_requests
from webapp.engine.errors import CONFLICT_BOOKMARK, Conflict
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.journal import EndReason
from webapp.engine.instances.model import NodeInstance
from webapp.engine.runtime.effects import WaveState
from webapp.engine.runtime.executor import Executor
from webapp.engine.runtime.queue import Settlement
from webapp.engine.tasks import signers as signing
from webapp.engine.tasks.policies import Policy, Rule, claimable, evaluate
from webapp.engine.tasks.signers import Signer


class NodeTasks:
    """The signers and open tasks of one user task node, changed in one wave; :meth:`settle` ends the change."""

    def __init__(self, wave: WaveState, node_instance_id: str | None) -> None:
        node_instance = wave.touch(node_instance_id)
        if node_instance is None:
            kind = BookmarkKind.USER_TASK
            raise Conflict("workflow.bookmark.not_resumable", code=CONFLICT_BOOKMARK, params={"kind": kind})
        self.wave = wave
        self.node_instance: NodeInstance = node_instance
        self.rule = Rule.of(node_instance.state)
        self.signers = signing.load(node_instance.state)

    def open(self) -> list[Bookmark]:
        """Return the node's open tasks."""
        found = self.wave.waits.of_node(self.node_instance.id)
        return [bookmark for bookmark in found if bookmark.kind is BookmarkKind.USER_TASK]

    def signer_of(self, bookmark: Bookmark) -> Signer:
        """Return whose task a bookmark is."""
        signer = signing.find(self.signers, bookmark.key or "")
        if signer is None:
            kind = BookmarkKind.USER_TASK
            raise Conflict("workflow.bookmark.not_resumable", code=CONFLICT_BOOKMARK, params={"kind": kind})
        return signer

    def task_of(self, signer: Signer) -> Bookmark | None:
        """Return a signer's open task, or None."""
        return next((bookmark for bookmark in self.open() if bookmark.key == signer.holder), None)

    def hand(
        self,
        bookmark: Bookmark,
        to: str,
        reason: EndReason,
        *,
        outcome: str | None = None,
        comment: str | None = None,
    ) -> Bookmark:
        """Give a task another holder: its round ends, the next opens; a claim of the task goes with it."""
        wave, actor = self.wave, self.wave.command.actor_id
        wave.tasks.decided(bookmark, reason, wave.command, actor_id=actor, outcome=outcome, comment=comment)
        own = wave.waits.change(bookmark)
        held = own.claimed_by is not None
        own.key, own.opened_at = to, None
        own.round += 1
        if held:
            self.mark_claimed(own, to)
        wave.tasks.opened(own)
        return own

    def mark_claimed(self, bookmark: Bookmark, by: str | None) -> None:
        """Note who has claimed a task; under Any that keeps everybody else from the node's other tasks too."""
        for one in self.open() if self.rule.policy is Policy.ANY else [bookmark]:
            if one.claimed_by != by:
                self.wave.waits.change(one).claimed_by = by

    def settle(self) -> None:
        """Evaluate the policy after a change, and do what follows from it: tasks opened, withdrawn, the node ended."""
        verdict = evaluate(self.rule, self.signers)
        state = self.node_instance.state
        if verdict.label is not None:
            signing.store(state, self.signers)
            Executor(self.wave, [Settlement(self.node_instance.id, verdict.label)]).run()
            return
        for name in verdict.withdrawn:
            self._withdraw(name)
        for request in task_requests(state, self.signers, verdict.opened, self._claimer()):
            self.wave.add_bookmark(self.node_instance, request)
        signing.store(state, self.signers)
        self._show()

    def _withdraw(self, name: str) -> None:
        signer = signing.find(self.signers, name)
        bookmark = None if signer is None else self.task_of(signer)
        if signer is not None and bookmark is not None:
            signer.task_id, signer.round = bookmark.id, bookmark.round
            self.wave.delete(bookmark, EndReason.REMOVED)

    def _claimer(self) -> str | None:
        if self.rule.policy is not Policy.ANY:
            return None
        return next((bookmark.claimed_by for bookmark in self.open() if bookmark.claimed_by is not None), None)

    def _show(self) -> None:
        """Bring the open tasks' columns up to date: progress, and whether they can be claimed."""
        done, total = signing.progress(self.signers)
        claimer = self._claimer()
        tasks = self.open()
        gone = claimer is not None and all(bookmark.key != claimer for bookmark in tasks)
        holders = {signer.holder: signer for signer in signing.present(self.signers)}
        for bookmark in tasks:
            signer = holders.get(bookmark.key or "")
            may = signer is not None and claimable(self.rule, total, signer)
            held = None if gone else bookmark.claimed_by
            shown = (bookmark.signers_done, bookmark.signers_total, bookmark.claimable, bookmark.claimed_by)
            if shown != (done, total, may, held):
                own = self.wave.waits.change(bookmark)
                own.signers_done, own.signers_total, own.claimable, own.claimed_by = done, total, may, held
