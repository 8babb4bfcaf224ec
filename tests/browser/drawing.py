"""The designer as a person uses it: drags steps from the palette, connects them, fills in their properties."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect


class Drawing:
    """A definition open in the designer."""

    def __init__(self, page: Page) -> None:
        self.page = page
        expect(page.locator("html[data-designer=ready]")).to_be_attached()

    def drag(self, activity: str, x: float, y: float) -> str:
        """Drag an activity from the palette to a place on the canvas (pixels from its corner); return the node's id."""
        before = set(self.nodes())
        item = self.page.locator(f".palette [data-activity={activity}]")
        item.scroll_into_view_if_needed()
        source, canvas = _box(item), _box(self.page.locator(".djs-container"))
        mouse = self.page.mouse
        mouse.move(source["x"] + source["width"] / 2, source["y"] + source["height"] / 2)
        mouse.down()
        mouse.move(source["x"] + source["width"] / 2 + 30, source["y"] + 10, steps=4)
        mouse.move(canvas["x"] + x, canvas["y"] + y, steps=12)
        mouse.up()
        expect(self.page.locator(".djs-shape")).to_have_count(len(before) + 1)
        self.page.wait_for_timeout(500)
        (added,) = set(self.nodes()) - before
        return added

    def nodes(self) -> list[str]:
        """Return the ids of the drawn nodes."""
        shapes = self.page.locator(".djs-shape")
        return [shapes.nth(place).get_attribute("data-element-id") or "" for place in range(shapes.count())]

    def node(self, node_id: str) -> Locator:
        """Return a drawn node."""
        return self.page.locator(f".djs-shape[data-element-id='{node_id}']")

    def select(self, node_id: str) -> None:
        """Click a node, so that its properties show."""
        box = _box(self.node(node_id))
        # Clicks are swallowed for a moment after a drag: click until the panel follows.
        panel = self.page.locator(".props .props-head code", has_text=node_id)
        for _ in range(10):
            self.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            self.page.wait_for_timeout(120)
            if panel.count() and panel.first.inner_text() == node_id:
                return
        expect(panel.first).to_have_text(node_id)

    def unselect(self) -> None:
        """Click beside everything, so that no toolbar covers a line."""
        canvas = _box(self.page.locator(".djs-container"))
        self.page.mouse.click(canvas["x"] + 12, canvas["y"] + 12)
        expect(self.page.get_by_role("toolbar").get_by_role("button", name="Connect")).to_be_hidden()

    def connect(self, source: str, target: str) -> None:
        """Draw a transition: select, press the pad's connect, click the target."""
        count = self.page.locator(".djs-connection").count()
        self.select(source)
        self.page.get_by_role("toolbar").get_by_role("button", name="Connect").click()
        box = _box(self.node(target))
        self.page.mouse.move(box["x"] + 20, box["y"] + 20, steps=6)
        self.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=6)
        self.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        expect(self.page.locator(".djs-connection")).to_have_count(count + 1)

    def select_transition(self, source_name: str, target_name: str) -> None:
        """Click on the line between two nodes, named as their titles show."""
        ends = self.page.locator(".props .props-head small", has_text=f"{source_name} → {target_name}")
        for point in self._points():
            self.unselect()
            self.page.mouse.click(point["x"], point["y"])
            self.page.wait_for_timeout(150)
            if ends.count():
                return
        expect(ends).to_be_visible()

    def _points(self) -> list[dict[str, float]]:
        script = """() => [...document.querySelectorAll('.djs-connection .djs-visual path')].map((path) => {
          const point = path.getPointAtLength(path.getTotalLength() * 0.75);
          const { x, y } = point.matrixTransform(path.getScreenCTM());
          return { x, y };
        })"""
        found: list[dict[str, float]] = self.page.evaluate(script)
        return found

    def add_variable(self, name: str, title: str, kind: str, *, required: bool) -> None:
        """Add a variable in the panel below the canvas."""
        self.page.get_by_role("tab", name="Variables").click()
        self.page.get_by_role("button", name="Add variable").click()
        row = self.page.locator(".variables tbody tr").last
        row.locator("[data-member=name]").fill(name)
        row.locator("[data-member=title]").fill(title)
        row.locator("[data-member=type]").select_option(kind)
        if required:
            self.page.locator(".variables tbody tr").last.locator("input[type=checkbox]").check()

    def field(self, name: str) -> Locator:
        """Return a field of the property panel."""
        return self.page.locator(f".props [data-field='{name}']")

    def type(self, name: str, text: str) -> None:
        """Replace the text of a field."""
        self.field(name).locator("input, textarea").first.fill(text)

    def list_values(self, name: str, *values: str) -> None:
        """Add values to a field that is a list; a section that is folded is opened."""
        self.unfold(name)
        box = self.field(name).locator("input").first
        for value in values:
            box.fill(value)
            box.press("Enter")

    def unfold(self, name: str) -> None:
        """Open the section that a field is folded away in."""
        fold = self.page.locator(".props details:not([open])", has=self.page.locator(f"[data-field='{name}']"))
        for section in fold.all():
            section.locator("summary").click()

    def wait_until_saved(self) -> None:
        """Wait until the draft has saved itself."""
        expect(self.page.locator(".save-state[data-state=saved]")).to_be_visible()


def _box(locator: Locator) -> dict[str, float]:
    box = locator.bounding_box()
    assert box is not None, f"{locator} is not to be seen"
    return {name: box[name] for name in ("x", "y", "width", "height")}  # type: ignore[literal-required]  # the four are there
