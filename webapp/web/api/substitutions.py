"""Absences: who acts for whom (spec 6.7, decision D34)."""

from __future__ import annotations

from msgspec import field

from webapp.accounts.model import Substitution
from webapp.services.texts import read_moment
from webapp.web.api.routing import Call, Reply, Section
from webapp.web.api.shapes import Body, ListOf, Shape
from webapp.web.wire import Instant, instant_text

section = Section("Substitutions")


class SubstitutionBody(Body, frozen=True, kw_only=True):
    """An absence; ``absentId`` is the caller unless an administrator names somebody else. RFC 3339 instants."""

    substitute_id: str
    starts_at: str = field(name="from")
    ends_at: str = field(name="to")
    absent_id: str | None = None
    definitions: list[str] = field(default_factory=list)


class SubstitutionShape(Shape, frozen=True, kw_only=True):
    """An absence: active from ``from`` to before ``to``, in the named workflows or in all."""

    id: str
    absent_id: str
    substitute_id: str
    starts_at: Instant = field(name="from")
    ends_at: Instant = field(name="to")
    definitions: list[str]
    created_at: Instant
    created_by: str | None


@section.call("GET", "/substitutions", answers={200: ListOf[SubstitutionShape]})
def list_substitutions(call: Call[None, None]) -> Reply:
    """List the absences that the caller has a part in; administrators see all."""
    found = [_shape(one) for one in call.services.substitutions.list(call.actor)]
    return Reply(value=ListOf(items=found, total=len(found)))


@section.call("POST", "/substitutions", body=SubstitutionBody, answers={201: SubstitutionShape}, answers_once="after")
def create_substitution(call: Call[SubstitutionBody, None]) -> Reply:
    """Have somebody act for the caller, or for somebody else as administrator, during an absence."""
    wanted = call.body
    made = call.services.substitutions.create(
        call.actor,
        substitute=wanted.substitute_id,
        starts_at=read_moment("from", wanted.starts_at),
        ends_at=read_moment("to", wanted.ends_at),
        absent=wanted.absent_id,
        definitions=wanted.definitions,
    )
    return Reply(value=_shape(made), status=201, location="/api/v1/substitutions")


@section.call("DELETE", "/substitutions/<id>", answers={204: None}, refuses=(404,))
def delete_substitution(call: Call[None, None], id: str) -> Reply:
    """End an absence: one's own, or as administrator anybody's."""
    call.services.substitutions.delete(call.actor, id)
    return Reply(status=204)


def _shape(one: Substitution) -> SubstitutionShape:
    return SubstitutionShape(
        id=one.id,
        absent_id=one.absent_id,
        substitute_id=one.substitute_id,
        starts_at=instant_text(one.starts_at),
        ends_at=instant_text(one.ends_at),
        definitions=list(one.definitions),
        created_at=instant_text(one.created_at),
        created_by=one.created_by,
    )
