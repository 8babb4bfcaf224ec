"""The words around a task: its group in the list, its buttons, and what is said once it is over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import groupby
from math import ceil

from webapp.services.queries import DoneTaskSummary, TaskSummary
from webapp.services.views import Signer, TaskDetail
from webapp.web.i18n import PageText
from webapp.web.words import Words

DEFAULT_OUTCOMES = ("approved", "rejected")
_BY_DECISION = ("completed", "sibling", "other")
_LOOKS = {"approved": ("check", "a"), "rejected": ("x", "r")}


@dataclass(frozen=True, kw_only=True)
class Group:
    """Neighbours in the list under one heading; a list sorted by title or workflow has none."""

    title: str
    tasks: Sequence[TaskSummary | DoneTaskSummary]


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


def group_tasks(tasks: Sequence[TaskSummary | DoneTaskSummary], sorted_by: str, page: PageText) -> list[Group]:
    """Return the tasks in their order under headings that fit the sort."""
    heading = {"dueAt": _due_heading, "createdAt": _age_heading, "priority": _priority_heading}.get(sorted_by)
    if heading is None:
        return [Group(title="", tasks=tasks)] if tasks else []
    waiting = [task for task in tasks if isinstance(task, TaskSummary)]
    return [
        Group(title=page.text(f"inbox.group.{name}"), tasks=list(members))
        for name, members in groupby(waiting, key=lambda task: heading(task, page))
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


@dataclass(frozen=True, kw_only=True)
class Result:
    """What became of one of several tasks, in one line."""

    title: str
    text: str = ""
    task_id: str = ""
    done: bool = False


@dataclass(frozen=True, kw_only=True)
class SignerLine:
    """One person or group that decides: their state, and how they stand to the others.

    ``name`` is how a sentence calls them ("You"), ``person`` their own name.
    """

    name: str
    person: str
    state: str
    icon: str
    text: str
    mine: bool = False
    at: datetime | None = None
    notes: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far the people are who decide a task together; ``share`` in percent."""

    text: str
    share: int


_STATES = {
    "approved": ("completed", "circle-check"),
    "rejected": ("faulted", "circle-x"),
    "pending": ("waiting", "clock"),
    "waiting": ("canceled", "hourglass"),
}


def signer_lines(task: TaskDetail, words: Words, page: PageText) -> list[SignerLine]:
    """Return who decides, in their order, with who comes before or after whom and who handles it for whom."""
    return [_signer_line(signer, words, page) for signer in task.signers]


def _signer_line(signer: Signer, words: Words, page: PageText) -> SignerLine:
    state, icon = _STATES.get(signer.state, ("canceled", "minus"))
    custom = signer.outcome and signer.outcome not in ("approved", "rejected") and signer.state == "rejected"
    related = {
        "before": signer.before,
        "after": signer.after,
        "handled": signer.delegate,
        "added": signer.added_by if signer.state in ("pending", "waiting") else None,
    }
    notes = [page.text(f"inbox.signer.{key}", name=words.name(name)) for key, name in related.items() if name]
    if signer.unknown:
        notes.append(page.text("inbox.signer.unknown"))
    return SignerLine(
        name=words.name(signer.id, first=True),
        person=words.own_name(signer.id),
        state=state,
        icon=icon,
        text=page.outcome(signer.outcome or "") if custom else page.text(f"inbox.signer.{signer.state}"),
        mine=words.is_reader(signer.id),
        at=signer.at,
        notes=notes,
    )


def progress(task: TaskDetail, page: PageText) -> Progress | None:
    """Return how far a step is that several must approve; None when one is enough."""
    here = [signer for signer in task.signers if signer.state != "removed"]
    done = sum(signer.state == "approved" for signer in here)
    if not here or task.policy not in ("All", "Sequential", "Ratio") or (len(here) == 1 and task.policy != "Ratio"):
        return None
    needed = len(here)
    if task.policy == "Ratio" and task.threshold is not None:
        needed = max(1, ceil(Decimal(task.threshold) * len(here)))
    key = "inbox.progress.ratio" if task.policy == "Ratio" else "inbox.signers_done"
    against = sum(signer.state == "rejected" for signer in here)
    return Progress(
        text=page.text(key, done=done, needed=needed, total=len(here), against=against),
        share=min(100, round(100 * done / needed)),
    )


def closing(task: TaskDetail, words: Words, page: PageText, *, race: bool) -> Closing:
    """Return who ended a task, when and how, or until when its decision can be undone.

    After a lost race also what became of what was typed.
    """
    if task.status == "decided" and task.undo_until is not None:
        return _decided(task, words, page)
    if task.status != "ended" or task.ended_at is None:
        return Closing(title="", text="", short="", race=False)
    reason = task.end_reason.value if task.end_reason else "other"
    ago = page.relative_time(task.ended_at)
    outcome = page.outcome(task.outcome) if task.outcome else ""
    if task.completed_by and outcome and reason in _BY_DECISION:
        title = page.text("inbox.closed.decided", name=_decider(task, words, page), ago=ago, outcome=outcome)
        short = page.text("inbox.closed.by", outcome=outcome, name=words.name(task.completed_by))
    else:
        key = f"inbox.closed.{reason}"
        title = page.text(key if page.has(key) else "inbox.closed.other", ago=ago)
        short = page.text("inbox.closed.short")
    text = page.text("inbox.closed.race" if race else "inbox.closed.nothing_to_do")
    return Closing(title=title, text=text, short=short, race=race)


def _decided(task: TaskDetail, words: Words, page: PageText) -> Closing:
    outcome = page.outcome(task.outcome or "")
    until = page.clock_time(task.undo_until) if task.undo_until is not None else ""
    return Closing(
        title=page.text("inbox.closed.pending", name=_decider(task, words, page), outcome=outcome),
        text=page.text("inbox.closed.until", time=until),
        short=page.text("inbox.closed.by", outcome=outcome, name=words.name(task.completed_by)),
        race=False,
    )


def _decider(task: TaskDetail, words: Words, page: PageText) -> str:
    name = words.name(task.completed_by)
    if task.on_behalf_of is None:
        return name
    return page.text("inbox.closed.for", name=name, absent=words.name(task.on_behalf_of))
