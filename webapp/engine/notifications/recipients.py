"""Who is told what of a transition: the table of spec 10, Events (pure: a wave in, tellings out)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.instances import topics
from webapp.engine.instances.bookmarks import Bookmark, Priority
from webapp.engine.instances.journal import AuditEntry, Event
from webapp.engine.instances.model import REJECTED, WorkflowInstance
from webapp.engine.instances.principals import is_group
from webapp.engine.notifications.mentions import mentioned
from webapp.engine.notifications.model import EventType, NoticeType, Severity
from webapp.engine.numbers import JsonObject
from webapp.engine.schedules import instant_text

_SEVERITIES = {Priority.URGENT.value: Severity.ERROR, Priority.HIGH.value: Severity.WARNING}

BY_HAND = frozenset({"cancel", "terminate", "withdraw"})
"""Commands by which a person ends a request: who gave it need not be told of it."""


class NodeMessage(msgspec.Struct, frozen=True, kw_only=True):
    """What a node's listener has to say: a path of its own, without templates (spec 10, Node listeners).

    ``listener``: its number in the node's list. ``occurrence``: the node's try count. ``failure``: why there is no
    body; then the command must not be written.
    """

    recipients: tuple[str, ...]
    title: str
    body: str
    node_id: str
    node_instance_id: str
    listener: int
    occurrence: int
    failure: Exception | None = None


class Transition(msgspec.Struct, frozen=True, kw_only=True):
    """A wave as far as notices go; ``made`` and ``changed``: its tasks that are still open, by id.

    ``refused``: the trail's lines of decisions that could not be carried out any more.
    """

    instance: WorkflowInstance
    definition: WorkflowDefinition
    events: Sequence[Event]
    made: Mapping[str, Bookmark]
    changed: Mapping[str, Bookmark]
    tries: Mapping[str, int]
    node_messages: Sequence[NodeMessage] = ()
    refused: Sequence[AuditEntry] = ()
    actor_id: str | None = None
    action: str = ""


class People(Protocol):
    """What is asked about people while recipients are found; answered from a copy in the process."""

    def members(self, group: str) -> Collection[str]:
        """Return the enabled accounts of ``role:NAME`` or ``department:NAME``."""

    def known(self, names: Collection[str]) -> Collection[str]:
        """Return those of the names that are accounts of the instance's partition."""

    def applicant(self) -> str | None:
        """Return whose request it is: asked at most once for a transition that needs it."""


class Telling(msgspec.Struct, frozen=True, kw_only=True):
    """One person to be told one thing.

    ``origin`` and ``occurrence`` as in the notice. ``task_id``: a task that the recipient can decide. ``names``: the
    values for texts; people in it (``PEOPLE``) are login names, ``dueAt`` is an instant. ``text``: a node's own title
    and body.
    """

    recipient_id: str
    event_type: EventType
    type: NoticeType
    severity: Severity
    origin: str
    occurrence: int
    node_id: str | None = None
    task_id: str | None = None
    names: Mapping[str, str | None] = {}
    text: tuple[str, str] | None = None


PEOPLE = ("starter", "assignee", "actor", "absent")
"""Names whose values are login names until they are shown."""


def tellings(transition: Transition, people: People) -> list[Telling]:
    """Return who is told what, in the order of the events, ends of instances last; each recipient of an occasion once.

    Who is told that a task was added, sent back or escalated to them is not told of its creation as well.
    """
    found: dict[tuple[str, ...], Telling] = {}
    for one in _Finder(transition, people).all():
        key = (one.origin, one.event_type, one.recipient_id, str(one.occurrence))
        found.setdefault(key, one)
    told = {(one.task_id, one.recipient_id) for one in found.values() if one.event_type in _INSTEAD}
    kept = [
        one
        for one in found.values()
        if one.event_type is not EventType.TASK_CREATED or (one.task_id, one.recipient_id) not in told
    ]
    # Events tell the decision after all that came of it; to a reader the end of the request is the last word.
    return sorted(kept, key=lambda one: one.type is NoticeType.BUSINESS)


_INSTEAD = (EventType.TASK_ADDED, EventType.TASK_RETURNED, EventType.TASK_ESCALATED)


class _Finder:
    """Goes through the events of one transition."""

    def __init__(self, transition: Transition, people: People) -> None:
        self._it = transition
        self._people = people
        self._escalated: set[tuple[str, str]] = set()
        self._mentioned: set[str] = set()
        self._copied: set[tuple[str, str]] = set()
        self._tasks = {**transition.changed, **transition.made}

    def all(self) -> Iterator[Telling]:
        """Yield what is told, repeats included."""
        for event in self._it.events:
            find = _FINDERS.get(event.topic)
            if find is not None:
                yield from find(self, event.data)
            if event.topic in _COMMENTED:
                yield from self._mentions(event.data)
        for entry in self._it.refused:
            yield from self._refused(entry)
        for message in self._it.node_messages:
            yield from self._of_node(message)

    def created(self, data: JsonObject) -> Iterator[Telling]:
        """A task: its assignee; one that a group shares: those who may take it. Its copies: the copied."""
        task = self._it.made.get(data["taskId"])
        if task is not None:
            for name in self._holders(task.key, task.claimed_by):
                yield self._about_task(EventType.TASK_CREATED, task, name, task.round)
        node_instance_id = str(data["nodeInstanceId"])
        for name in data["ccUserIds"]:
            if (node_instance_id, name) in self._copied:
                continue
            self._copied.add((node_instance_id, name))
            yield Telling(
                recipient_id=name,
                event_type=EventType.CARBON_COPY,
                type=NoticeType.TODO,
                severity=severity_of(data["priority"]),
                origin=node_instance_id,
                occurrence=self._it.tries.get(node_instance_id, 1),
                node_id=data["nodeId"],
                names=self._names(data["title"], assignee=data["assigneeId"], dueAt=data["dueAt"]),
            )

    def transferred(self, data: JsonObject) -> Iterator[Telling]:
        """A task that has another assignee now: handed over, lent, or given back by the one it was lent to."""
        task = self._tasks.get(data["taskId"])
        if task is not None and task.key is not None:
            for name in self._members(task.key):
                yield self._about_task(EventType.TASK_TRANSFERRED, task, name, task.round, **_said(data))

    def added(self, data: JsonObject) -> Iterator[Telling]:
        """Signers that were added: those that have their task already can go to it."""
        for name in data["assignees"]:
            task = self._task_of(name, data["nodeId"])
            for person in self._members(name):
                yield self._joining(EventType.TASK_ADDED, data, task, person, **_said(data))

    def returned(self, data: JsonObject) -> Iterator[Telling]:
        """A task sent back: those who have the earlier step again."""
        for task in self._it.made.values():
            if task.node_id == data["toNodeId"]:
                for name in self._holders(task.key, task.claimed_by):
                    yield self._joining(EventType.TASK_RETURNED, data, task, name, **_said(data))

    def urged(self, data: JsonObject) -> Iterator[Telling]:
        """An urged task: its assignee, each time."""
        yield from self._again(EventType.TASK_URGED, data, data["count"], count=str(data["count"]), **_said(data))

    def reminded(self, data: JsonObject) -> Iterator[Telling]:
        """A reminder: the assignee, each time."""
        yield from self._again(EventType.TASK_REMINDER, data, data["count"], count=str(data["count"]))

    def overdue(self, data: JsonObject) -> Iterator[Telling]:
        """A due date that has passed: the assignee."""
        yield from self._again(EventType.TASK_OVERDUE, data, 1)

    def escalated(self, data: JsonObject) -> Iterator[Telling]:
        """An escalation: the assignee of each open task, and each target once."""
        node_id = data["nodeId"]
        yield from self._again(EventType.TASK_ESCALATED, data, 1)
        holders = {one.data["assigneeId"] for one in self._it.events if one.topic == topics.TASK_ESCALATED}
        for name in data["targets"]:
            for person in self._members(name):
                if (node_id, person) not in self._escalated and name not in holders:
                    self._escalated.add((node_id, person))
                    yield self._joining(EventType.TASK_ESCALATED, data, self._task_of(name, node_id), person)

    def completed(self, data: JsonObject) -> Iterator[Telling]:
        """A decision: the applicant, unless it is the applicant's own."""
        applicant = self._people.applicant()
        if applicant is None or applicant == data["actorId"]:
            return
        yield Telling(
            recipient_id=applicant,
            event_type=EventType.TASK_COMPLETED,
            type=NoticeType.APPROVAL,
            severity=severity_of(data["priority"]),
            origin=data["taskId"],
            occurrence=data["round"],
            node_id=data["nodeId"],
            names=self._names(
                data["title"],
                assignee=data["onBehalfOf"] or data["actorId"],
                dueAt=data["dueAt"],
                outcome=data["outcome"],
                **_said(data),
            ),
        )

    def ended(self, data: JsonObject) -> Iterator[Telling]:
        """An instance that has come to its end by itself: the applicant."""
        outcome = data["instance"]["outcome"]
        event_type = EventType.INSTANCE_REJECTED if outcome == REJECTED else EventType.INSTANCE_COMPLETED
        yield from self._about_instance(event_type, self._applicants(), outcome=outcome)

    def canceled(self, data: JsonObject) -> Iterator[Telling]:
        """A canceled instance: the applicant, unless it was the applicant who did it."""
        yield from self._stopped(EventType.INSTANCE_CANCELED, data)

    def terminated(self, data: JsonObject) -> Iterator[Telling]:
        """A terminated instance: the applicant, unless it was the applicant who did it."""
        yield from self._stopped(EventType.INSTANCE_TERMINATED, data)

    def faulted(self, data: JsonObject) -> Iterator[Telling]:
        """A faulted instance: the applicant and the definition's owners."""
        failed, nodes = data["instance"], self._it.definition.nodes
        label = next((node.label for node in nodes if node.id == failed["faultNodeId"]), None)
        code = None if failed["fault"] is None else failed["fault"]["code"]
        owners = [person for name in self._it.definition.owners for person in self._members(name)]
        names = [*self._applicants(), *owners]
        yield from self._about_instance(EventType.INSTANCE_FAULTED, names, node=label, fault=code)

    def _stopped(self, event_type: EventType, data: JsonObject) -> Iterator[Telling]:
        actor = self._it.actor_id
        names = [one for one in self._applicants() if not (one == actor and self._it.action in BY_HAND)]
        reason = data["instance"]["cancellationReason"]
        yield from self._about_instance(event_type, names, actor=actor, reason=reason)

    def _applicants(self) -> list[str]:
        """The applicant is told of the request's end, not of each part that it has started on its way."""
        if self._it.instance.parent_instance_id is not None:
            return []
        applicant = self._people.applicant()
        return [] if applicant is None else [applicant]

    def _about_instance(
        self, event_type: EventType, recipients: Iterable[str], **more: str | None
    ) -> Iterator[Telling]:
        instance = self._it.instance
        for name in recipients:
            yield Telling(
                recipient_id=name,
                event_type=event_type,
                type=NoticeType.BUSINESS,
                severity=severity_of(self._it.definition.priority),
                origin=instance.id,
                occurrence=instance.revision,
                names=self._names(None, **more),
            )

    def _about_task(
        self, event_type: EventType, task: Bookmark, recipient: str, occurrence: int, **more: str | None
    ) -> Telling:
        due = task.task_due_at
        names = self._names(task.title, assignee=task.key, dueAt=None if due is None else instant_text(due), **more)
        return Telling(
            recipient_id=recipient,
            event_type=event_type,
            type=NoticeType.APPROVAL,
            severity=severity_of(task.priority),
            origin=task.id,
            occurrence=occurrence,
            node_id=task.node_id,
            task_id=task.id,
            names=names,
        )

    def _joining(
        self, event_type: EventType, data: JsonObject, task: Bookmark | None, recipient: str, **more: str | None
    ) -> Telling:
        """Somebody who comes to a step; without a task of their own yet it is the one that it happened to."""
        revision = self._it.instance.revision
        if task is not None:
            return self._about_task(event_type, task, recipient, revision, **more)
        return Telling(
            recipient_id=recipient,
            event_type=event_type,
            type=NoticeType.APPROVAL,
            severity=severity_of(data["priority"]),
            origin=data["taskId"],
            occurrence=revision,
            node_id=data["nodeId"],
            names=self._names(data["title"], assignee=recipient, dueAt=data["dueAt"], **more),
        )

    def _again(self, event_type: EventType, data: JsonObject, occurrence: int, **more: str | None) -> Iterator[Telling]:
        """What is told of an open task that stays as it is; its round is part of the origin: counts begin anew."""
        names = self._names(data["title"], assignee=data["assigneeId"], dueAt=data["dueAt"], **more)
        for name in self._holders(data["assigneeId"], data["claimedBy"]):
            yield Telling(
                recipient_id=name,
                event_type=event_type,
                type=NoticeType.APPROVAL,
                severity=severity_of(data["priority"]),
                origin=f"{data['taskId']}/{data['round']}",
                occurrence=occurrence,
                node_id=data["nodeId"],
                task_id=data["taskId"],
                names=names,
            )

    def _mentions(self, data: JsonObject) -> Iterator[Telling]:
        comment, actor = data.get("comment"), data["actorId"]
        for name in mentioned(comment or "", self._people.known):
            if name == actor or name in self._mentioned:
                continue
            self._mentioned.add(name)
            yield Telling(
                recipient_id=name,
                event_type=EventType.MENTION,
                type=NoticeType.TODO,
                severity=severity_of(data["priority"]),
                origin=data["taskId"],
                occurrence=self._it.instance.revision,
                node_id=data["nodeId"],
                names=self._names(data["title"], **_said(data)),
            )

    def _refused(self, entry: AuditEntry) -> Iterator[Telling]:
        """A held decision that could not be carried out (6.7, Undo): who made it; the task may be open again."""
        said, node_id = entry.after or {}, entry.node_id
        name = said.get("id")
        if name is None:
            return
        task = next((one for one in self._it.changed.values() if one.key == name and one.node_id == node_id), None)
        label = next((node.label for node in self._it.definition.nodes if node.id == node_id), None)
        more = {"outcome": said.get("outcome"), "comment": entry.comment}
        revision = self._it.instance.revision
        if task is not None:
            yield self._about_task(EventType.DECISION_FAILED, task, name, revision, **more)
            return
        yield Telling(
            recipient_id=name,
            event_type=EventType.DECISION_FAILED,
            type=NoticeType.APPROVAL,
            severity=severity_of(self._it.definition.priority),
            origin=self._it.instance.id,
            occurrence=revision,
            node_id=node_id,
            names=self._names(label, assignee=name, **more),
        )

    def _of_node(self, message: NodeMessage) -> Iterator[Telling]:
        for name in message.recipients:
            for person in self._members(name):
                yield Telling(
                    recipient_id=person,
                    event_type=EventType.NODE_LISTENER,
                    type=NoticeType.BUSINESS,
                    severity=severity_of(self._it.definition.priority),
                    origin=f"{message.node_instance_id}/{message.listener}",
                    occurrence=message.occurrence,
                    node_id=message.node_id,
                    text=(message.title, message.body),
                )

    def _task_of(self, name: str, node_id: str) -> Bookmark | None:
        return next((one for one in self._it.made.values() if one.key == name and one.node_id == node_id), None)

    def _holders(self, key: str | None, claimed_by: str | None) -> Collection[str]:
        """Return whose turn it is: a task that somebody else has taken waits for nobody but them."""
        if key is None or claimed_by not in (None, key):
            return ()
        return self._members(key)

    def _members(self, name: str) -> Collection[str]:
        return sorted(self._people.members(name)) if is_group(name) else (name,)

    def _names(self, title: str | None, **more: str | None) -> dict[str, str | None]:
        instance = self._it.instance
        request = instance.title or instance.definition_title or instance.definition_name
        return {
            "title": title or request,
            "instanceTitle": request,
            "definition": instance.definition_title or instance.definition_name,
            "businessKey": instance.correlation_id,
            "starter": instance.starter_id,
            **more,
        }


Find = Callable[[_Finder, dict[str, Any]], Iterator[Telling]]

_FINDERS: Mapping[str, Find] = {
    topics.TASK_CREATED: _Finder.created,
    topics.TASK_TRANSFERRED: _Finder.transferred,
    topics.TASK_DELEGATED: _Finder.transferred,
    topics.TASK_ADDED: _Finder.added,
    topics.TASK_RETURNED: _Finder.returned,
    topics.TASK_URGED: _Finder.urged,
    topics.TASK_REMINDED: _Finder.reminded,
    topics.TASK_OVERDUE: _Finder.overdue,
    topics.TASK_ESCALATED: _Finder.escalated,
    topics.TASK_COMPLETED: _Finder.completed,
    topics.INSTANCE_COMPLETED: _Finder.ended,
    topics.INSTANCE_CANCELED: _Finder.canceled,
    topics.INSTANCE_TERMINATED: _Finder.terminated,
    topics.INSTANCE_FAULTED: _Finder.faulted,
}

_COMMENTED = frozenset(
    {
        topics.TASK_COMPLETED,
        topics.TASK_TRANSFERRED,
        topics.TASK_DELEGATED,
        topics.TASK_ADDED,
        topics.TASK_REMOVED,
        topics.TASK_RETURNED,
        topics.TASK_URGED,
    }
)

TOLD = frozenset(_FINDERS)
"""Topics of which somebody may be told; a wave without any of them, and without a listener's message, tells nobody."""


def severity_of(priority: str | None) -> Severity:
    """Return how loud a notice of that priority is: urgent is Error, high is Warning, everything else Info."""
    return _SEVERITIES.get(priority or "", Severity.INFO)


def _said(data: JsonObject) -> dict[str, str | None]:
    return {"actor": data["actorId"], "comment": data["comment"]}
