"""Help: a page for every screen, and references made from what the code itself says of activities and functions."""

from __future__ import annotations

from flask import Blueprint, render_template

from webapp.engine.descriptors import Category
from webapp.engine.errors import NotFound
from webapp.web.activity_pages import page_of, summary_of
from webapp.web.deps import services
from webapp.web.errors import NO_SUCH_ADDRESS
from webapp.web.shell import page_text, require_sign_in

blueprint = Blueprint("help", __name__, url_prefix="/help")
blueprint.before_request(require_sign_in)

TOPICS = (
    *("inbox", "start", "requests", "notifications", "designer", "monitor"),
    *("operations", "account", "keys", "operating", "upkeep"),
)


@blueprint.get("")
def index() -> str:
    """Show where to begin."""
    return _topic("index")


@blueprint.get("/<topic>")
def topic(topic: str) -> str:
    """Show the help of one screen."""
    if topic not in TOPICS:
        raise _missing(f"/help/{topic}")
    return _topic(topic)


@blueprint.get("/processes")
def processes() -> str:
    """Show operators how several processes share an installation, and what lies under them."""
    sections = ("parts", "leases", "pooler", "managed")
    points = {section: _points(f"help.processes.{section}.point.") for section in sections}
    return render_template("help/processes.html", topics=TOPICS, topic="processes", points=points)


@blueprint.get("/notices")
def notices() -> str:
    """Show administrators how messages and events leave the house, and how a receiver knows them."""
    sections = ("deliveries", "email", "webhook", "robots", "brokers", "texts")
    points = {section: _points(f"help.notices.{section}.point.") for section in sections}
    return render_template("help/notices.html", topics=TOPICS, topic="notices", points=points)


def _missing(path: str) -> NotFound:
    return NotFound("errors.no_such_address", code=NO_SUCH_ADDRESS, params={"method": "GET", "path": path})


def _topic(name: str) -> str:
    return render_template("help/topic.html", topic=name, topics=TOPICS, points=_points(f"help.{name}.point."))


def _points(stem: str) -> list[str]:
    numbers = sorted(int(key.removeprefix(stem)) for key in page_text().area(stem.removesuffix(".")) if key != stem)
    return [f"{stem}{number}" for number in numbers]


@blueprint.get("/activities")
def activities() -> str:
    """Show every step there is, by category."""
    descriptors = services().catalog.descriptors()
    groups = [
        {"category": category.value, "activities": [summary_of(one) for one in descriptors if one.category is category]}
        for category in Category
    ]
    return render_template(
        "help/activities.html",
        topics=TOPICS,
        topic="activities",
        groups=[group for group in groups if group["activities"]],
    )


@blueprint.get("/activities/<activity_type>")
def activity(activity_type: str) -> str:
    """Show one step: what it does, how it waits, ends and fails, its properties, an example."""
    for descriptor in services().catalog.descriptors():
        if descriptor.type == activity_type:
            shown = page_of(descriptor, page_text())
            return render_template("help/activity.html", topics=TOPICS, topic="activities", activity=shown)
    raise _missing(f"/help/activities/{activity_type}")


@blueprint.get("/expressions")
def expressions() -> str:
    """Show the expression language and its functions."""
    functions = services().catalog.functions()
    return render_template("help/expressions.html", topics=TOPICS, topic="expressions", functions=functions)
