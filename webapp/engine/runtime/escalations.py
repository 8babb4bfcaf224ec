"""A node's timeout that changes whose task it is: escalated to, or handed over to, its targets (spec 3.22, D14)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from webapp.engine.definitions.model import NodeTimeoutAction
from webapp.engine.instances.bookmarks import Bookmark
from webapp.engine.instances.journal import AuditEntry, EndReason, Event
from webapp.engine.instances.limits import MAX_SIGNERS
from webapp.engine.instances.model import NodeInstance
from webapp.engine.numbers import JsonObject
from webapp.engine.runtime import events
from webapp.engine.runtime.effects import WaveState
from webapp.engine.runtime.task_changes import NodeTasks
from webapp.engine.schedules import instant_text
from webapp.engine.tasks import signers as signing
from webapp.engine.tasks.signers import Position
from webapp.engine.tasks.user_tasks import remember


def change_signers(wave: WaveState, bookmark: Bookmark) -> Sequence[AuditEntry]:
    """Escalate to the node's targets, or hand its open tasks over to them; the bookmark is gone with it."""
    wave.waits.consume(bookmark)
    node = wave.compiled.nodes.get(bookmark.node_id or "")
    tasks = NodeTasks(wave, bookmark.node_instance_id)
    open_tasks = tasks.open()
    if not open_tasks:
        return ()
    targets = _present(wave, () if node is None else node.node.timeout_target or ())
    escalates = bookmark.key == NodeTimeoutAction.ESCALATE
    reached = _escalate(tasks, open_tasks, targets) if escalates else _hand_over(tasks, open_tasks, targets)
    details: JsonObject = {"targets": targets, "reached": reached}
    entry = structs.replace(
        wave.entry(task=open_tasks[0], details=details), action="escalate" if escalates else "handOver"
    )
    tasks.settle()
    return (entry,)


def _escalate(tasks: NodeTasks, open_tasks: Sequence[Bookmark], targets: Sequence[str]) -> list[str]:
    """Let the targets sign as well, after whom it waits for in Sequential; a claim must not hide it from them."""
    wave = tasks.wave
    room = max(0, MAX_SIGNERS - len(tasks.signers))
    beside = tasks.signer_of(open_tasks[0])
    added = signing.add(tasks.signers, targets[:room], by=None, position=Position.PARALLEL, beside=beside)
    for task in open_tasks:
        if task.claimed_by is not None:
            wave.waits.change(task).claimed_by = None
    _note(wave, tasks.node_instance, "escalate", list(targets))
    for task in open_tasks:
        facts: JsonObject = {"assigneeId": task.key, "targets": list(targets), "added": added}
        _tell(wave, events.TASK_ESCALATED, task, facts)
    return added


def _hand_over(tasks: NodeTasks, open_tasks: Sequence[Bookmark], targets: Sequence[str]) -> list[str]:
    """Give the open tasks to the targets, one each; those left over end, once a target has a task of the node."""
    wave = tasks.wave
    holders = {task.key for task in open_tasks}
    waiting = [target for target in targets if target in holders]
    fresh = [target for target in targets if signing.find(tasks.signers, target) is None]
    left = [task for task in open_tasks if task.key not in waiting]
    for task, target in zip(left, fresh, strict=False):
        holder = task.key or ""
        if signing.transfer(tasks.signers, holder, target) is None:
            continue
        tasks.hand(task, target, EndReason.TRANSFERRED)
        waiting.append(target)
        _tell(wave, events.TASK_TRANSFERRED, task, {"from": holder, "target": target, "comment": None})
    if waiting:
        for task in left[len(fresh) :]:
            signing.remove(tasks.signers, tasks.signer_of(task))
            wave.delete(task, EndReason.TRANSFERRED)
    _note(wave, tasks.node_instance, "transfer", waiting)
    return waiting


def _present(wave: WaveState, names: Sequence[str]) -> list[str]:
    """Return the targets whose accounts are not disabled."""
    targets = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    directory = wave.kit.directory
    gone = () if directory is None else directory.disabled(wave.instance.tenant_id, targets)
    return [name for name in targets if name not in gone]


def _note(wave: WaveState, node_instance: NodeInstance, action: str, target: list[str]) -> None:
    remember(
        node_instance.state,
        action=action,
        at=instant_text(wave.now),
        node_id=node_instance.node_id,
        actor_id=None,
        target=target,
    )


def _tell(wave: WaveState, topic: str, bookmark: Bookmark, facts: JsonObject) -> None:
    data = {**events.action_data(wave.instance, bookmark, wave.command), **facts}
    wave.events.append(Event(topic=topic, data=data))
