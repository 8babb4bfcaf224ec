"""The words around a task: its group in the list, its buttons, and what is said once it is over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from webapp.services.queries import TaskSummary
from webapp.services.views import TaskDetail
from webapp.web.i18n import PageText
from webapp.web.words import Words

DEFAULT_OUTCOMES = ("approved", "rejected")
_LOOKS = {"approved": ("check", "a"), "rejected": ("x", "r")}


@dataclass(frozen=True, kw_only=True)
class Group:
    """Neighbours in the list under one heading; a list sorted by title or workflow has none."""

    title: str
    tasks: Sequence[TaskSummary]


@dataclass(frozen=True, kw_only=True)
class Button:
    """One outcome that may be chosen."""

    value: str
    label: str
    kind: str
    icon: str
    key: str


@dataclass(frozen=True, kw_only=True)
class Closing:
    """What stands above a task that is over."""

    title: str
    text: str
    short: str
    race: bool


def group_tasks(tasks: Sequence[TaskSummary], sorted_by: str, page: PageText) -> list[Group]:
    """Return the tasks in their order under headings that fit the sort."""
    heading = {"dueAt": _due_heading, "createdAt": _age_heading, "priority": _priority_heading}.get(sorted_by)
    if heading is None:
        return [Group(title="", tasks=tasks)] if tasks else []
    return [
        Group(title=page.text(f"inbox.group.{name}"), tasks=list(members))
        for name, members in groupby(tasks, key=lambda task: heading(task, page))
    ]


def _due_heading(task: TaskSummary, page: PageText) -> str:
    if task.due_at is None:
        return "no_due"
    now = page.now()
    if task.due_at < now:
        return "late"
    days = (task.due_at.astimezone(page.zone).date() - now.astimezone(page.zone).date()).days
    return "today" if days == 0 else "week" if days < 7 else "later"


def _age_heading(task: TaskSummary, page: PageText) -> str:
    days = (page.now().astimezone(page.zone).date() - task.created_at.astimezone(page.zone).date()).days
    return "today" if days <= 0 else "yesterday" if days == 1 else "this_week" if days < 7 else "older"


def _priority_heading(task: TaskSummary, page: PageText) -> str:
    return f"priority_{task.priority.value}"


def buttons(task: TaskDetail, page: PageText) -> list[Button]:
    """Return the outcomes in the definition's order, the first that goes forward as the one primary button."""
    labels = task.allowed_outcomes or list(DEFAULT_OUTCOMES)
    forward = next((label for label in labels if label != "rejected"), None)
    made = []
    for label in labels:
        icon, key = _LOOKS.get(label, ("", ""))
        kind = "primary" if label == forward else "danger" if label == "rejected" else ""
        made.append(Button(value=label, label=page.verb(label), kind=kind, icon=icon, key=key))
    return sorted(made, key=lambda button: button.kind != "primary")


def closing(task: TaskDetail, words: Words, page: PageText, *, race: bool) -> Closing:
    """Return who ended a task, when and how; after a lost race also what became of what was typed."""
    if task.status != "ended" or task.ended_at is None:
        return Closing(title="", text="", short="", race=False)
    reason = task.end_reason.value if task.end_reason else "other"
    ago = page.relative_time(task.ended_at)
    outcome = page.outcome(task.outcome) if task.outcome else ""
    if task.completed_by and outcome:
        title = page.text("inbox.closed.decided", name=words.name(task.completed_by), ago=ago, outcome=outcome)
        short = page.text("inbox.closed.by", outcome=outcome, name=words.name(task.completed_by))
    else:
        key = f"inbox.closed.{reason}"
        title = page.text(key if page.has(key) else "inbox.closed.other", ago=ago)
        short = page.text("inbox.closed.short")
    text = page.text("inbox.closed.race" if race else "inbox.closed.nothing_to_do")
    return Closing(title=title, text=text, short=short, race=race)
