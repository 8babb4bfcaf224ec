"""Absences on the account's page: who acts for whom, from which day to which, in which workflows (spec 6.7, D34)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta

from webapp.accounts.model import Substitution
from webapp.accounts.permissions import ADMIN_USERS, INSTANCES_START
from webapp.engine.errors import WorkflowError
from webapp.web.deps import current_actor, services
from webapp.web.forms import FormField, problem_text
from webapp.web.shell import page_text

MAX_PEOPLE = 200
_FIELDS = {"substituteId": "substitute", "to": "to", "from": "from"}


@dataclass(frozen=True, kw_only=True)
class AbsenceLine:
    """One absence in words; ``ends`` when the reader may end it."""

    id: str
    text: str
    span: str
    where: str
    state: str
    ends: bool


@dataclass(frozen=True, kw_only=True)
class AbsenceForm:
    """The form and what is set; after a refusal with what was typed."""

    fields: Mapping[str, FormField]
    workflows: Sequence[tuple[str, str]]
    lines: Sequence[AbsenceLine]
    chosen: Sequence[str] = ()
    refusals: Sequence[str] = ()


@dataclass(kw_only=True)
class AbsencePosted:
    """What was typed, and what is wrong with it by field."""

    values: Mapping[str, str] = field(default_factory=dict)
    definitions: Sequence[str] = ()
    errors: dict[str, str] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)


def absence_form(posted: AbsencePosted | None = None) -> AbsenceForm:
    """Return the account page's section."""
    given = posted or AbsencePosted()
    return AbsenceForm(
        fields={name: _field(name, given) for name in ("substitute", "from", "to")},
        workflows=_workflows(),
        lines=_lines(),
        chosen=given.definitions,
        refusals=given.others,
    )


def set_absence(posted: AbsencePosted) -> bool:
    """Set an absence from what was typed; False when something is wrong, which then stands in *posted*."""
    first, last = _day(posted, "from"), _day(posted, "to")
    if first is None or last is None:
        return False
    try:
        services().substitutions.create(
            current_actor(),
            substitute=posted.values.get("substitute", ""),
            starts_at=first,
            ends_at=last + timedelta(days=1),
            definitions=posted.definitions,
        )
    except WorkflowError as refusal:
        _explain(posted, refusal)
        return False
    return True


def _day(posted: AbsencePosted, name: str) -> datetime | None:
    page = page_text()
    try:
        day = date.fromisoformat(posted.values.get(name, ""))
        return datetime.combine(day, time.min, tzinfo=page.zone).astimezone(UTC)
    except (ValueError, OverflowError):
        posted.errors[name] = page.text("start.field.date")
        return None


def _explain(posted: AbsencePosted, refusal: WorkflowError) -> None:
    text = page_text().text
    for problem in refusal.problems:
        at = _FIELDS.get(problem.path)
        if at is None:
            posted.others.append(problem_text(problem, text))
        else:
            posted.errors.setdefault(at, problem_text(problem, text))
    if not refusal.problems:
        posted.others.append(text(refusal.key, **refusal.params))


def _field(name: str, posted: AbsencePosted) -> FormField:
    text, error = page_text().text, posted.errors.get(name, "")
    label, value = text(f"account.absence.{name}"), posted.values.get(name, "")
    if name != "substitute":
        return FormField(
            name=name, scope="absence", label=label, input_type="date", required=True, value=value, error=error
        )
    actor = current_actor()
    people = [one for one in services().accounts.search(actor, limit=MAX_PEOPLE) if one.name != actor.name]
    return FormField(
        name=name,
        scope="absence",
        label=label,
        kind="choice",
        required=True,
        value=value,
        error=error,
        options=[("", text("inbox.choose_person")), *((one.name, f"{one.label} ({one.name})") for one in people)],
    )


def _workflows() -> list[tuple[str, str]]:
    actor = current_actor()
    if not actor.may(INSTANCES_START):
        return []
    return [(one.name, one.display_name or one.name) for one in services().catalog.startable(actor)]


def _lines() -> list[AbsenceLine]:
    actor = current_actor()
    found = services().substitutions.list(actor)
    logins = {login for one in found for login in (one.absent_id, one.substitute_id)}
    names = services().accounts.names(actor, logins)
    titles = dict(_workflows())
    return [_line(one, names, titles) for one in sorted(found, key=lambda one: one.starts_at)]


def _line(one: Substitution, names: Mapping[str, str], titles: Mapping[str, str]) -> AbsenceLine:
    actor, page = current_actor(), page_text()
    key = {one.absent_id: "mine", one.substitute_id: "for_me"}.get(actor.name, "others")
    now = page.now()
    state = "over" if one.ends_at <= now else "now" if one.starts_at <= now else "later"
    # The end is the first moment after the last day.
    last = (one.ends_at - timedelta(microseconds=1)).astimezone(page.zone).date()
    first = one.starts_at.astimezone(page.zone).date()
    where = page.text("account.absence.all")
    if one.definitions:
        where = page.text("account.absence.only", names=page.listed(titles.get(name, name) for name in one.definitions))
    return AbsenceLine(
        id=one.id,
        text=page.text(
            f"account.absence.{key}",
            substitute=names.get(one.substitute_id, one.substitute_id),
            absent=names.get(one.absent_id, one.absent_id),
        ),
        span=page.text("account.absence.span", first=page.day(first), last=page.day(last)),
        where=where,
        state=state,
        ends=one.absent_id == actor.name or actor.may(ADMIN_USERS),
    )
