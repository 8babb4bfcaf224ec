"""The questions behind a task's actions: what each does in words, and what it asks for (spec 6.4, 6.7, 12 Inbox)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from webapp.accounts.model import Account, Actor
from webapp.accounts.permissions import TASKS_ALL
from webapp.services.views import ReturnTarget, TaskDetail
from webapp.web.forms import FormField
from webapp.web.i18n import PageText
from webapp.web.words import Words

COMMENT_LENGTH = "10000"
POSITIONS = ("parallel", "before", "after")
WAYS_BACK = ("flow", "direct")
_UNDECIDED = ("pending", "waiting")
_ICONS: Mapping[str, str] = {
    "claim": "user-check",
    "return": "corner-up-left",
    "transfer": "arrow-right-left",
    "delegate": "arrow-up-right",
    "add": "user-plus",
    "remove": "minus",
    "release": "rotate-ccw",
    "urge": "bell-ring",
    "recall": "undo-2",
}
IN_ROW = ("return", "transfer")
"""Actions with a button of their own; the others stand in the menu."""


@dataclass(frozen=True, kw_only=True)
class Dialog:
    """One action: the button that leads to it, and the question."""

    name: str
    url: str
    icon: str
    action: str
    title: str
    text: str
    submit: str
    fields: Sequence[FormField] = ()
    refusals: Sequence[str] = ()
    open: bool = False

    @property
    def in_row(self) -> bool:
        """Whether it has a button of its own."""
        return self.name in IN_ROW


@dataclass(frozen=True, kw_only=True)
class Asking:
    """What the questions of one task are made from; ``posted`` is what was typed into ``refused``."""

    task: TaskDetail
    actor: Actor
    words: Words
    page: PageText
    url: Callable[[str], str]
    people: Sequence[Account] = ()
    targets: Sequence[ReturnTarget] = ()
    may_recall: bool = False
    refused: str = ""
    refusals: Sequence[str] = ()
    posted: Mapping[str, str] = field(default_factory=dict)


def dialogs_of(asking: Asking) -> list[Dialog]:
    """Return the actions that the reader may take on the task now, in the order of the page."""
    return [_dialog(asking, name) for name in _ICONS if _offered(asking, name)]


def _offered(asking: Asking, name: str) -> bool:
    task = asking.task
    if name == "recall":
        return asking.may_recall
    if task.status != "open":
        return False
    if name == "return":
        return bool(asking.targets)
    return bool(getattr(task.rights, name))


def _dialog(asking: Asking, name: str) -> Dialog:
    text, task = asking.page.text, asking.task
    mine = asking.refused == name
    if name == "release" and task.delegated_by is not None:
        words = text("inbox.release.text_lent", name=asking.words.name(task.delegated_by))
    else:
        words = text(f"inbox.{name}.text")
    fields = [_kept(one, asking) if mine else one for one in _FIELDS.get(name, _nothing)(asking)]
    return Dialog(
        name=name,
        url=asking.url(name),
        icon=_ICONS[name],
        action=text(f"inbox.{name}.action"),
        title=text(f"inbox.{name}.title"),
        text=words,
        submit=text(f"inbox.{name}.submit"),
        fields=fields,
        refusals=asking.refusals if mine else (),
        open=mine,
    )


def _kept(one: FormField, asking: Asking) -> FormField:
    return replace(one, value=asking.posted.get(one.name, ""))


def _nothing(asking: Asking) -> list[FormField]:
    return []


def _person(asking: Asking, action: str, options: Sequence[tuple[str, str]]) -> FormField:
    text = asking.page.text
    return FormField(
        name="who",
        scope=action,
        label=text(f"inbox.{action}.who"),
        kind="choice",
        required=True,
        options=[("", text("inbox.choose_person")), *options],
    )


def _comment(asking: Asking, action: str, *, required: bool = False) -> FormField:
    return FormField(
        name="comment",
        scope=action,
        label=asking.page.text("inbox.comment.label"),
        help=asking.page.text("inbox.comment.mentions"),
        kind="area",
        rows=2,
        required=required,
        attrs={"maxlength": COMMENT_LENGTH},
    )


def _choice(asking: Asking, action: str, name: str, values: Sequence[str], chosen: str) -> FormField:
    text = asking.page.text
    return FormField(
        name=name,
        scope=action,
        label=text(f"inbox.{action}.{name}"),
        kind="choice",
        value=chosen,
        options=[(value, text(f"inbox.{action}.{name}_{value}")) for value in values],
    )


def _everybody(asking: Asking) -> list[tuple[str, str]]:
    here = {signer.id for signer in asking.task.signers if signer.state != "removed"} | {asking.task.assignee_id}
    return [
        (one.name, f"{one.label} ({one.name})")
        for one in asking.people
        if one.name != asking.actor.name and one.name not in here
    ]


def _transfer(asking: Asking) -> list[FormField]:
    return [_person(asking, "transfer", _everybody(asking)), _comment(asking, "transfer")]


def _delegate(asking: Asking) -> list[FormField]:
    return [_person(asking, "delegate", _everybody(asking)), _comment(asking, "delegate")]


def _add(asking: Asking) -> list[FormField]:
    return [
        _person(asking, "add", _everybody(asking)),
        _choice(asking, "add", "position", POSITIONS, "parallel"),
        _comment(asking, "add"),
    ]


def _remove(asking: Asking) -> list[FormField]:
    operator = asking.actor.may(TASKS_ALL)
    leaving = [
        (signer.id, asking.words.name(signer.id, first=True))
        for signer in asking.task.signers
        if signer.state in _UNDECIDED and (operator or signer.added_by == asking.actor.name)
    ]
    return [_person(asking, "remove", leaving), _comment(asking, "remove")]


def _return(asking: Asking) -> list[FormField]:
    where = FormField(
        name="to",
        scope="return",
        label=asking.page.text("inbox.return.to"),
        kind="choice",
        required=True,
        value=asking.targets[-1].node_id,
        options=[(target.node_id, target.node_name) for target in asking.targets],
    )
    return [
        where,
        _choice(asking, "return", "resubmit", ("", *WAYS_BACK), ""),
        _comment(asking, "return", required=True),
    ]


def _urge(asking: Asking) -> list[FormField]:
    return [_comment(asking, "urge")]


_FIELDS: Mapping[str, Callable[[Asking], list[FormField]]] = {
    "transfer": _transfer,
    "delegate": _delegate,
    "add": _add,
    "remove": _remove,
    "return": _return,
    "urge": _urge,
}
