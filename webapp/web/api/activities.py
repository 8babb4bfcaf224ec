"""Activities: what a definition can be made of, described once for palette, form and reader (spec 11, Definitions)."""

from __future__ import annotations

from webapp.services.queries import check_page
from webapp.web.api.definition_shapes import ActivityItem, activity_shape
from webapp.web.api.query import Window, paging
from webapp.web.api.routing import Call, Reply, Section
from webapp.web.api.shapes import ListOf

section = Section("Activities")


@section.call("GET", "/activities", query=Window, answers={200: ListOf[ActivityItem]})
def list_activities(call: Call[None, Window]) -> Reply:
    """List the activities that run here, in the palette's order and the caller's language."""
    window = paging(call.query)
    check_page("definitions", window, ())
    descriptors = call.services.catalog.descriptors()
    shown = descriptors[window.offset : window.offset + window.limit]
    items = [activity_shape(descriptor, call.catalog, call.lang) for descriptor in shown]
    return Reply(value=ListOf(items=items, total=len(descriptors)))
