"""Activities: what a definition can be made of, described once for palette, form and reader (spec 11, Definitions)."""

from __future__ import annotations

from webapp.web.api.definition_shapes import ActivityItem, activity_shape
from webapp.web.api.routing import Call, Reply, Section
from webapp.web.api.shapes import ListOf

section = Section("Activities")


@section.call("GET", "/activities", answers={200: ListOf[ActivityItem]})
def list_activities(call: Call[None, None]) -> Reply:
    """List the activities that run here, in the palette's order and the caller's language."""
    items = [activity_shape(descriptor, call.catalog, call.lang) for descriptor in call.services.catalog.descriptors()]
    return Reply(value=ListOf(items=items, total=len(items)))
