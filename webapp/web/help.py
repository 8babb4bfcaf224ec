"""Help: a page for every screen, and references made from what the code itself says of activities and functions."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, render_template

from webapp.engine.descriptors import ActivityDescriptor, Category, PropertyDescriptor
from webapp.engine.errors import NotFound
from webapp.web.deps import services
from webapp.web.errors import NO_SUCH_ADDRESS
from webapp.web.i18n import json_text
from webapp.web.shell import page_text, require_sign_in

blueprint = Blueprint("help", __name__, url_prefix="/help")
blueprint.before_request(require_sign_in)

TOPICS = ("inbox", "start", "requests", "designer", "monitor", "account", "keys")


@blueprint.get("")
def index() -> str:
    """Show where to begin."""
    return _topic("index")


@blueprint.get("/<topic>")
def topic(topic: str) -> str:
    """Show the help of one screen."""
    if topic not in TOPICS:
        raise NotFound(
            "errors.no_such_address", code=NO_SUCH_ADDRESS, params={"method": "GET", "path": f"/help/{topic}"}
        )
    return _topic(topic)


def _topic(name: str) -> str:
    stem = f"help.{name}.point."
    numbers = sorted(int(key.removeprefix(stem)) for key in page_text().area(stem.removesuffix(".")) if key != stem)
    return render_template(
        "help/topic.html", topic=name, topics=TOPICS, points=[f"{stem}{number}" for number in numbers]
    )


@blueprint.get("/activities")
def activities() -> str:
    """Show every step there is, by category."""
    descriptors = services().catalog.descriptors()
    groups = [
        {"category": category.value, "activities": [_activity(one) for one in descriptors if one.category is category]}
        for category in Category
    ]
    return render_template(
        "help/activities.html",
        topics=TOPICS,
        topic="activities",
        groups=[group for group in groups if group["activities"]],
    )


def _activity(descriptor: ActivityDescriptor) -> dict[str, Any]:
    return {
        "type": descriptor.type,
        "key": descriptor.key,
        "icon": descriptor.icon,
        "waits": descriptor.waits,
        "outcomes": descriptor.outcomes,
        "properties": [_property(descriptor, one) for one in descriptor.properties],
    }


def _property(descriptor: ActivityDescriptor, one: PropertyDescriptor) -> dict[str, Any]:
    return {
        "name": one.name,
        "key": f"{descriptor.key}.{one.name}",
        "kind": one.kind.value,
        "required": one.required,
        "default": "" if one.default is None else json_text(one.default),
        "options": one.options,
    }


@blueprint.get("/expressions")
def expressions() -> str:
    """Show the expression language and its functions."""
    functions = services().catalog.functions()
    return render_template("help/expressions.html", topics=TOPICS, topic="expressions", functions=functions)
