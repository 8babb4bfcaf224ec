"""What a request waits for, how it ended and what happened to it, in sentences (spec 12, Inbox and Monitor)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from markupsafe import Markup

from webapp.engine.definitions.model import VariableDefinition
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus, WorkflowFault
from webapp.engine.instances.principals import is_group
from webapp.engine.numbers import JsonObject
from webapp.services.queries import TaskSummary
from webapp.services.views import InstanceOverview, TrailEntry, Wait
from webapp.web.formats import duration, number
from webapp.web.i18n import PageText, json_text
from webapp.web.wait_words import LIMITS, WaitLine, span_of, wait_line

IDLE_AFTER_SECONDS = 3_600


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A label and its value, both ready to be shown."""

    label: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Cause:
    """One link of a chain of causes."""

    message: str
    key: str


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of a trail; ``state`` colours its mark."""

    text: str | Markup
    icon: str
    state: str = ""
    sub: str = ""
    comment: str = ""
    at: datetime | None = None
    fault: Sequence[Cause] = ()
    idle: bool = False


@dataclass(frozen=True, kw_only=True)
class Say:
    """The state of a request in one sentence."""

    state: str
    icon: str
    title: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of the way, done or waited for."""

    title: str
    text: str
    icon: str
    state: str = ""


_MARKS: Mapping[str, tuple[str, str]] = {
    "start": ("", "circle-play"),
    "complete": ("completed", "check"),
    "transfer": ("", "arrow-right-left"),
    "add": ("", "user-plus"),
    "cancel": ("canceled", "ban"),
    "retry": ("running", "rotate-ccw"),
    "suspend": ("suspended", "circle-pause"),
    "resume": ("running", "circle-play"),
    "terminate": ("canceled", "octagon-x"),
    "withdraw": ("canceled", "undo-2"),
    "return": ("", "undo-2"),
    "recall": ("", "undo-2"),
    "jump": ("running", "corner-down-right"),
    "migrate": ("", "arrow-up-right"),
    "updateVariables": ("", "pencil"),
    "undo": ("", "undo-2"),
    "remove": ("", "minus"),
    "claim": ("", "user-check"),
    "release": ("", "corner-up-left"),
    "delegate": ("", "arrow-right-left"),
    "urge": ("", "bell-ring"),
    "remind": ("", "bell"),
    "overdue": ("waiting", "triangle-alert"),
    "escalate": ("waiting", "users"),
    "handOver": ("waiting", "arrow-right-left"),
    "autoApproved": ("completed", "check"),
    "decide": ("completed", "check"),
    "decideFailed": ("faulted", "x"),
    "signal": ("", "radio-tower"),
    "resumeBookmark": ("running", "circle-play"),
    "work": ("completed", "plug"),
    "workFailed": ("faulted", "plug"),
    "extendLock": ("", "hourglass"),
}
_NODE_MARKS: Mapping[str, tuple[str, str]] = {
    "Completed": ("completed", "check"),
    "Faulted": ("faulted", "x"),
    "Canceled": ("canceled", "ban"),
    "Compensated": ("canceled", "rotate-ccw"),
    "Suspended": ("waiting", "clock"),
    "Running": ("running", "loader-circle"),
}
_ENDS: Mapping[InstanceStatus, tuple[str, str]] = {
    InstanceStatus.COMPLETED: ("completed", "circle-check"),
    InstanceStatus.CANCELED: ("canceled", "ban"),
    InstanceStatus.TERMINATED: ("canceled", "octagon-x"),
    InstanceStatus.FAULTED: ("faulted", "octagon-alert"),
    InstanceStatus.SUSPENDED: ("suspended", "circle-pause"),
}
_REJECTING = frozenset({"rejected", "timeout", "error"})


def waiting_names(tasks: Sequence[TaskSummary]) -> dict[str, list[str]]:
    """Return for each instance the logins of those whose task is open, in their order."""
    waiting: dict[str, list[str]] = {}
    for task in tasks:
        people = waiting.setdefault(task.instance_id, [])
        if task.assignee_id not in people:
            people.append(task.assignee_id)
    return waiting


def _newest_first(entries: Sequence[TrailEntry]) -> list[TrailEntry]:
    """Return the trail with each command below what it caused at the same instant, and nothing told twice."""
    decided = {(entry.node_id, entry.at) for entry in entries if entry.action == "complete"}
    told = [
        entry
        for entry in entries
        if not (entry.activity_type == "UserTask" and entry.kind == "node" and (entry.node_id, entry.at) in decided)
    ]
    return sorted(told, key=lambda entry: (entry.at, entry.kind != "command"), reverse=True)


class Words:
    """Makes the sentences of one request for one reader."""

    def __init__(self, page: PageText, names: Mapping[str, str], reader: str) -> None:
        self._page = page
        self._names = names
        self._reader = reader

    def name(self, login: str | None, *, first: bool = False) -> str:
        """Return how a person is shown, ``first`` in a sentence or later; the reader is "you", nobody the system."""
        if login is not None and is_group(login):
            kind, _, name = login.partition(":")
            return self._page.text(f"ui.group.{kind}", name=name)
        if login is not None and login != self._reader:
            return self._names.get(login, login)
        word = "ui.nobody" if login is None else "ui.you"
        return self._page.text(f"{word}_first" if first else word)

    def own_name(self, login: str) -> str:
        """Return a person's or group's own name, also the reader's."""
        return self.name(login) if is_group(login) else self._names.get(login, login)

    def is_reader(self, login: str | None) -> bool:
        """Whether it is the reader."""
        return login == self._reader

    def waits_for(self, logins: Sequence[str]) -> str:
        """Return whom a request waits for, for one line of a list; empty when it waits for nobody."""
        if not logins:
            return ""
        return self._page.text("start.requests.waits_for", names=self._page.listed(self.name(one) for one in logins))

    def causes(self, fault: WorkflowFault | None) -> list[Cause]:
        """Return the chain of causes of a fault in the reader's language."""
        chain = []
        while fault is not None:
            chain.append(Cause(message=self._page.text(fault.key, **fault.args), key=fault.key))
            fault = fault.inner
        return chain

    def facts(self, document: JsonObject, variables: Sequence[VariableDefinition] = ()) -> list[Fact]:
        """Return values as labelled facts, by the titles and types that the variables declare."""
        known = {variable.name: variable for variable in variables}
        facts = []
        for key, value in document.items():
            declared = known.get(key)
            text = self._dated(declared.type, value) if declared and isinstance(value, str) else self.value(value)
            facts.append(Fact(label=(declared.title if declared else None) or key, text=text))
        return facts

    def _dated(self, type_name: str | None, value: str) -> str:
        try:
            if type_name == "date" and value:
                return self._page.day(date.fromisoformat(value))
            if type_name == "dateTime" and value:
                return self._page.exact_time(datetime.fromisoformat(value))
        except (ValueError, OverflowError):
            # Written by something that the start's type check did not see, or an instant beside the calendar of this
            # zone: shown as it stands.
            return value
        return self.value(value)

    def value(self, value: object) -> str:
        """Return a JSON value as a person reads it."""
        if value is None or value == "":
            return self._page.text("ui.value.none")
        if isinstance(value, bool):
            return self._page.text("ui.value.yes" if value else "ui.value.no")
        if isinstance(value, str):
            return value
        if isinstance(value, dict | list):
            return json_text(value)
        return number(value)  # type: ignore[arg-type]  # JSON has no other kind

    def waits(self, waits: Sequence[Wait]) -> list[WaitLine]:
        """Return what is waited for, people first, time limits and reminders last."""
        ordered = sorted(waits, key=lambda wait: (wait.kind in LIMITS, wait.kind is not BookmarkKind.USER_TASK))
        return [self._wait(wait) for wait in ordered]

    def _wait(self, wait: Wait) -> WaitLine:
        return wait_line(self._page, wait, self.name, self._reader)

    def _span(self, since: datetime | None) -> str:
        return span_of(self._page, since)

    def say(self, overview: InstanceOverview) -> Say:
        """Return the state of a request in words: whom it waits for, or how it ended."""
        instance = overview.instance
        if instance.status is InstanceStatus.RUNNING:
            return self._say_scheduled(overview) or self._say_waiting(overview.waits)
        state, icon = _ENDS[instance.status]
        outcome = self._page.outcome(instance.outcome) if instance.outcome else ""
        key = (
            "start.say.CompletedWith"
            if outcome and instance.status is InstanceStatus.COMPLETED
            else f"start.say.{instance.status.value}"
        )
        text = instance.cancellation_reason or self._page.text(f"{key}.text")
        if instance.status is InstanceStatus.SUSPENDED and instance.suspended_by is not None:
            text = self._page.text("start.say.Suspended.by", name=self.name(instance.suspended_by))
        if instance.outcome in _REJECTING and instance.status is InstanceStatus.COMPLETED:
            state, icon = "canceled", "circle-x"
        return Say(state=state, icon=icon, title=self._page.text(f"{key}.title", outcome=outcome), text=text)

    def _say_scheduled(self, overview: InstanceOverview) -> Say | None:
        """Return when a request begins whose start has been put off; None when it has begun."""
        starts = {node.id for node in overview.definition.nodes if node.activity_type == "Start"}
        for wait in overview.waits:
            if wait.node_id in starts and wait.kind is BookmarkKind.TIMER and wait.due_at is not None:
                title = self._page.text("start.say.scheduled.title", time=self._page.exact_time(wait.due_at))
                text = self._page.text("start.say.scheduled.text")
                return Say(state="waiting", icon="calendar", title=title, text=text)
        return None

    def _say_waiting(self, waits: Sequence[Wait]) -> Say:
        people = [wait for wait in waits if wait.kind is BookmarkKind.USER_TASK]
        if people:
            names = list(dict.fromkeys(self.name(wait.who) for wait in people))
            steps = list(dict.fromkeys(wait.node_name for wait in people))
            since = min((wait.since for wait in people if wait.since), default=None)
            span = self._span(since)
            key = "start.say.waiting.title" if span else "start.say.waiting.title_now"
            return Say(
                state="waiting",
                icon="clock",
                title=self._page.text(key, span=span, names=self._page.listed(names)),
                text=self._page.text("start.say.waiting.text", steps=self._page.listed(steps)),
            )
        others = [wait for wait in waits if wait.kind != "Join" and wait.kind not in LIMITS]
        if others:
            wait = self._wait(others[0])
            return Say(state="waiting", icon="hourglass", title=wait.text.striptags(), text=wait.sub)
        text = self._page.text("start.say.Running.text")
        return Say(state="running", icon="loader-circle", title=self._page.text("start.say.Running.title"), text=text)

    def steps(self, overview: InstanceOverview) -> list[Step]:
        """Return the people's steps in order, decided ones and those that wait; empty when there are none."""
        decided = [entry for entry in reversed(overview.trail) if entry.action in ("start", "complete")]
        steps = [self._step(entry) for entry in decided]
        for wait in overview.waits:
            if wait.kind is BookmarkKind.USER_TASK:
                steps.append(Step(title=wait.node_name, text=self.name(wait.who), icon="clock", state="waiting"))
        return steps[-5:] if len(steps) > 1 else []

    def _step(self, entry: TrailEntry) -> Step:
        if entry.action == "start":
            title = self._page.text("start.step.started")
            return Step(title=title, text=self._page.short_time(entry.at), icon="circle-check", state="completed")
        good = entry.outcome not in _REJECTING
        return Step(
            title=entry.node_name or "",
            text=self._page.text(
                "start.step.decided",
                name=self.name(entry.actor_id, first=True),
                outcome=self._page.outcome(entry.outcome or ""),
            ),
            icon="circle-check" if good else "circle-x",
            state="completed" if good else "faulted",
        )

    def trail(self, entries: Sequence[TrailEntry], *, idle: bool = False) -> list[Line]:
        """Return the trail, newest first; with ``idle`` long pauses are told in a line of their own."""
        lines: list[Line] = []
        later: datetime | None = None
        for entry in _newest_first(entries):
            if idle and later is not None and (later - entry.at).total_seconds() >= IDLE_AFTER_SECONDS:
                span = duration(later - entry.at, self._page.text)
                lines.append(Line(text=self._page.text("ui.trail.idle", span=span), icon="hourglass", idle=True))
            lines.append(self._line(entry))
            later = entry.at
        return lines

    def _line(self, entry: TrailEntry) -> Line:
        if entry.kind == "command":
            return self._command(entry)
        step = self._page.strong(entry.node_name or entry.node_id or "")
        if entry.kind == "fault":
            text = self._page.markup("ui.trail.fault", step=step)
            return Line(
                text=text,
                icon="x",
                state="faulted",
                at=entry.at,
                fault=self.causes(entry.fault),
                sub=self._tries(entry),
            )
        if entry.kind == "task":
            ended = entry.action != "taskCreated"
            key = f"ui.trail.task.{entry.reason if ended else 'created'}"
            text = self._page.markup(
                key if self._page.has(key) else "ui.trail.task.ended",
                step=step,
                name=self._page.strong(self.name(entry.assignee_id)),
            )
            return Line(text=text, icon="minus" if ended else "user", at=entry.at)
        state, icon = _NODE_MARKS.get(entry.status or "", ("", "circle-dot"))
        text = self._page.markup(f"ui.trail.node.{entry.status}", step=step)
        return Line(text=text, icon=icon, state=state, at=entry.at, sub=self._tries(entry))

    def _tries(self, entry: TrailEntry) -> str:
        return self._page.text("ui.trail.try", count=entry.try_count) if entry.try_count > 1 else ""

    def _command(self, entry: TrailEntry) -> Line:
        state, icon = _MARKS.get(entry.action, ("", "circle-dot"))
        if entry.action == "complete" and entry.outcome in _REJECTING:
            state, icon = "faulted", "x"
        key = f"ui.trail.command.{entry.action}"
        if entry.action == "start" and entry.actor_id is None:
            key = "ui.trail.command.started"
        if entry.assignee_id and self._page.has(f"{key}_to"):
            key = f"{key}_to"
        text = self._page.markup(
            key if self._page.has(key) else "ui.trail.command.other",
            name=self._page.strong(self.name(entry.actor_id, first=True)),
            step=self._page.strong(entry.node_name or entry.node_id or ""),
            outcome=self._page.outcome(entry.outcome or ""),
            to=self._page.strong(self.name(entry.assignee_id)) if entry.assignee_id else "",
            action=entry.action,
        )
        sub = self._page.text("ui.trail.for", name=self.name(entry.on_behalf_of)) if entry.on_behalf_of else ""
        sub = sub or self._details(entry)
        return Line(
            text=text, icon=icon, state=state, at=entry.at, comment=entry.comment or entry.reason or "", sub=sub
        )

    def _details(self, entry: TrailEntry) -> str:
        """Return what exactly a command changed, for the line below its sentence."""
        parts = []
        for name, value in entry.details.items():
            shown = self._page.listed(str(one) for one in value) if isinstance(value, list) else str(value)
            if shown:
                parts.append(self._page.text(f"ui.trail.detail.{name}", value=shown))
        return " · ".join(parts)
