"""The texts of notices: ``{name}`` from a closed list, which template counts, what remains when one fails (spec 10).

There are no expressions: no attributes, no indexes, no formats. A value is put in as it is and never read as a
template. What is no name of the event type, ``{{ name }}`` included, stays as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from webapp.engine.notifications.escaping import one_line, plain_text, shortened
from webapp.engine.notifications.model import EventType, NoticeTemplate

MAX_TITLE = 200
MAX_BODY = 4_000
"""Characters of a title and a body, and of each value in them. Longer ones are cut, with an ellipsis."""

_REQUEST = ("title", "instanceTitle", "definition", "businessKey", "starter")
_TASK = (*_REQUEST, "assignee", "dueAt")
_ACTION = (*_TASK, "actor", "comment")
_ASKED = (*_TASK, "absent")
_HANDED = (*_ACTION, "absent")
_END = (*_REQUEST, "outcome")
_STOP = (*_REQUEST, "actor", "reason")

NAMES: Mapping[EventType, tuple[str, ...]] = {
    EventType.TASK_CREATED: _ASKED,
    EventType.TASK_TRANSFERRED: _HANDED,
    EventType.TASK_ADDED: _HANDED,
    EventType.TASK_RETURNED: _HANDED,
    EventType.TASK_URGED: (*_HANDED, "count"),
    EventType.TASK_REMINDER: (*_ASKED, "count"),
    EventType.TASK_OVERDUE: _ASKED,
    EventType.TASK_ESCALATED: _ASKED,
    EventType.TASK_COMPLETED: (*_ACTION, "outcome"),
    EventType.DECISION_FAILED: (*_TASK, "comment", "outcome"),
    EventType.CARBON_COPY: _TASK,
    EventType.INSTANCE_COMPLETED: _END,
    EventType.INSTANCE_REJECTED: _END,
    EventType.INSTANCE_CANCELED: _STOP,
    EventType.INSTANCE_TERMINATED: _STOP,
    EventType.INSTANCE_FAULTED: (*_REQUEST, "node", "fault"),
    EventType.MENTION: (*_REQUEST, "actor", "comment"),
}
"""The names that texts of an event type may hold. A node's listener has no templates: its texts stand in the node.

``title``: the task's, or the request's where there is no task. ``instanceTitle``: the request's, or the definition's
name. ``definition``: its name. ``businessKey``: the correlation id. ``starter``, ``assignee``, ``actor``: people, as
they are shown. ``actor``: who did it, nobody when a timer did. ``comment``: what they wrote. ``dueAt``: when the task
is due, as text. ``count``: which urging or reminder it is. ``outcome``: of the decision or of the request.
``absent``: in whose place a substitute is told. ``reason``: of the cancelling or terminating. ``node``: the step
that failed. ``fault``: the code of its fault.
"""

_PLACEHOLDER = re.compile(r"(?<!\{)\{([A-Za-z]{1,40})\}(?!\})")
_MEANT = re.compile(r"\{{1,3}[^{}\n]{1,80}\}{1,3}|\uff5b[^\uff5b\uff5d\n]{1,80}\uff5d")
"""What its writer may have meant as a name: any braces on one line, also the wide ones of a Chinese keyboard."""

Names = Mapping[str, str | None]
"""The values by name; None and a name of the event type that is not there are an empty text."""


class Text(NamedTuple):
    """What is filled in, or what came of it."""

    title: str
    body: str


class TemplateKey(NamedTuple):
    """What a template is for; ``business_type`` None: every category of definitions."""

    event_type: EventType
    business_type: str | None
    language: str


class PassedOver(NamedTuple):
    """A template that could not be used, for the log: its id, its version and why (a message that holds no values)."""

    template_id: str
    version: int
    why: str


class Rendered(NamedTuple):
    """The text of a notice. ``template_id`` None: the built-in text. ``passed_over``: templates that failed."""

    title: str
    body: str
    template_id: str | None
    template_version: int | None
    language: str
    passed_over: tuple[PassedOver, ...] = ()


def latest(templates: Iterable[NoticeTemplate]) -> dict[TemplateKey, NoticeTemplate]:
    """Return the template that counts of each text: its highest version, whether that one is enabled or not."""
    found: dict[TemplateKey, NoticeTemplate] = {}
    for one in templates:
        key = TemplateKey(one.event_type, one.business_type, one.language)
        if key not in found or found[key].version < one.version:
            found[key] = one
    return found


def candidates(
    templates: Mapping[TemplateKey, NoticeTemplate],
    event_type: EventType,
    business_type: str | None,
    language: str,
    default_language: str,
) -> Iterator[NoticeTemplate]:
    """Yield the enabled templates that fit, the most specific first.

    The language before the default language; in each the one for the category before the one for all.
    """
    for spoken in dict.fromkeys((language, default_language)):
        for category in dict.fromkeys((business_type or None, None)):
            found = templates.get(TemplateKey(event_type, category, spoken))
            if found is not None and found.enabled:
                yield found


def render_notice(
    event_type: EventType,
    templates: Mapping[TemplateKey, NoticeTemplate],
    business_type: str | None,
    language: str,
    default_language: str,
    names: Names,
    built_in: Text,
) -> Rendered:
    """Return the text of a notice: of the first template that fits and does not fail, else the built-in one.

    *templates* as ``latest`` makes them; *built_in* is in *language*. Of *names* only those of the event type are
    used. A template fails when its title comes out blank or it cannot be rendered at all.
    """
    allowed = allowed_names(event_type, names)
    failed: list[PassedOver] = []
    for one in candidates(templates, event_type, business_type, language, default_language):
        try:
            made = render_text(Text(one.title, one.body), allowed)
        except Exception as failure:
            failed.append(PassedOver(one.id, one.version, type(failure).__name__))
            continue
        if made.title:
            return Rendered(made.title, made.body, one.id, one.version, one.language, tuple(failed))
        failed.append(PassedOver(one.id, one.version, "blank title"))
    made = render_text(built_in, allowed)
    return Rendered(made.title, made.body, None, None, language, tuple(failed))


def allowed_names(event_type: EventType, names: Names) -> dict[str, str | None]:
    """Return the values of the event type's names; anything else in *names* is left behind."""
    return {name: names.get(name) for name in NAMES.get(event_type, ())}


def render_text(text: Text, names: Names) -> Text:
    """Return a title of one line and a body, each cut to its limit.

    A line of the body that has names, all of them without a value, is left out: "Comment: {comment}".
    """
    body = "\n".join(line for line in plain_text(text.body).split("\n") if _says_something(line, names))
    return Text(
        title=shortened(one_line(render(text.title, names, MAX_TITLE)), MAX_TITLE),
        body=shortened(plain_text(render(body, names, MAX_BODY)).strip(), MAX_BODY),
    )


def render(template_text: str, names: Names, most: int = MAX_BODY) -> str:
    """Return the text with each ``{name}`` of *names* replaced by its value, all cut to *most* characters.

    Each value is cut to as many. Names that are not among *names* stay as written, and so does every other use of
    braces. What is beyond the cut is not put together first: to repeat a long value costs no more than to name it.
    """
    pieces: list[str] = []
    room = most
    at = 0
    for match in _PLACEHOLDER.finditer(template_text):
        if match[1] not in names:
            continue
        found = (template_text[at : match.start()], shortened(names[match[1]] or "", most))
        pieces += found
        at = match.end()
        room -= sum(len(piece) for piece in found)
        if room < 0:
            break
    return shortened("".join((*pieces, template_text[at:])), most)


def unknown_names(event_type: EventType, text: str) -> list[str]:
    """Return what looks like a name but will stay as it is written, in its order, each once."""
    known = NAMES.get(event_type, ())
    without = _PLACEHOLDER.sub(lambda match: "\n" if match[1] in known else match[0], text)
    return list(dict.fromkeys(match[0] for match in _MEANT.finditer(without)))


def _says_something(line: str, names: Names) -> bool:
    used = [match[1] for match in _PLACEHOLDER.finditer(line) if match[1] in names]
    return not used or any((names[name] or "")[:MAX_BODY].strip() for name in used)
