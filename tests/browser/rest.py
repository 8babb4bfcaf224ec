"""REST calls of a signed-in browser: a journey's set-up without clicking through it."""

from __future__ import annotations

from typing import Any

from tests.browser.visitor import Visitor


class Rest:
    """Calls below ``/api/v1`` with the session of a visitor."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor
        token = visitor.page.locator("meta[name=csrf-token]").get_attribute("content")
        self._headers = {"X-CSRFToken": token or ""}

    def get(self, path: str) -> Any:
        """Return what is there."""
        return self._answer(self._visitor.context.request.get(f"/api/v1{path}"))

    def post(self, path: str, value: Any = None, **headers: str) -> Any:
        """Send a value and return the answer."""
        sent = {**self._headers, **{name.replace("_", "-"): text for name, text in headers.items()}}
        return self._answer(self._visitor.context.request.post(f"/api/v1{path}", data=value or {}, headers=sent))

    def put(self, path: str, value: Any, **headers: str) -> Any:
        """Replace what is there and return the answer."""
        sent = {**self._headers, **{name.replace("_", "-"): text for name, text in headers.items()}}
        return self._answer(self._visitor.context.request.put(f"/api/v1{path}", data=value, headers=sent))

    def publish(self, document: dict[str, Any]) -> dict[str, Any]:
        """Create a workflow, or its next version when the name is there, and publish it."""
        made = self.post("/definitions", document)
        published: dict[str, Any] = self.post(f"/definitions/{made['id']}/publish")
        return published

    def publish_next(self, definition_id: str, document: dict[str, Any]) -> dict[str, Any]:
        """Publish a new version with this content."""
        draft = self.post(f"/definitions/{definition_id}/versions")
        path = f"/definitions/{draft['id']}"
        self.put(path, document, If_Match=f'"{draft["revision"]}"')
        published: dict[str, Any] = self.post(f"{path}/publish")
        return published

    def start(self, name: str, variables: dict[str, Any] | None = None, **rest: Any) -> str:
        """Start a workflow and return the instance's id."""
        started = self.post("/instances", {"name": name, "variables": variables or {}, **rest})
        return str(started.get("instance", started)["id"])

    def _answer(self, response: Any) -> Any:
        assert response.ok, f"{response.status}: {response.text()}"
        return response.json()
