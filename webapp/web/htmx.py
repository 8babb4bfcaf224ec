"""Whole pages and single blocks of them: htmx asks for a part, everybody else gets the page."""

from __future__ import annotations

from typing import Any

from flask import Response, current_app, make_response, render_template, request

COMPONENTS = ("controls", "fields", "tables", "feedback", "records")


class Components:
    """The macros of ``templates/components`` under one name, so that a single block can use them too."""

    def __getattr__(self, name: str) -> Any:
        """Return the macro of that name."""
        for component in COMPONENTS:
            module = current_app.jinja_env.get_template(f"components/{component}.html").module
            if hasattr(module, name):
                return getattr(module, name)
        raise AttributeError(f"no component is called {name!r}")


def wants_block() -> bool:
    """Return whether htmx asks for a part; going back in history needs the whole page."""
    return request.headers.get("HX-Request") == "true" and request.headers.get("HX-History-Restore-Request") != "true"


def render_block(template_name: str, block: str, **context: Any) -> str:
    """Return one block of a page, and the toasts of this answer for the area outside it."""
    template = current_app.jinja_env.get_or_select_template(template_name)
    current_app.update_template_context(context)
    html = "".join(template.blocks[block](template.new_context(context)))
    toasts = str(Components().toasts())
    if toasts.strip():
        html += f'<section id="toasts" hx-swap-oob="beforeend">{toasts}</section>'
    return html


def render(template_name: str, block: str, *, status: int = 200, **context: Any) -> Response:
    """Answer with the block for htmx, else with the page; both depend on the header."""
    html = render_block(template_name, block, **context) if wants_block() else render_template(template_name, **context)
    response = make_response(html, status)
    response.vary.add("HX-Request")
    if status >= 400:
        # The address of a refused command shows nothing when it is opened again.
        response.headers["HX-Push-Url"] = "false"
    return response
