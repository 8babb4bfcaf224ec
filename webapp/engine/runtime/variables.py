"""An instance's variables during a wave: merging, the scope of expressions, the limit of size (spec 3.5, 3.8, 13)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from webapp.engine.instances.limits import MAX_VARIABLES_BYTES, MAX_WAVE_BYTES, holds_nul
from webapp.engine.instances.model import LAST_ERROR, OUTCOME
from webapp.engine.numbers import JsonObject, encode


class OutputsRefused(Exception):
    """These outputs cannot become variables: too large, no JSON, or a character that no store keeps; nothing merged."""

    def __init__(self, key: str, **arguments: object) -> None:
        self.key = key
        self.arguments = arguments
        super().__init__(key)


class Variables:
    """The variables, and beside them what expressions see: an outcome that nothing has set is null (spec 25)."""

    __slots__ = ("_put_out", "_size", "scope", "values")

    def __init__(self, values: JsonObject) -> None:
        self.values = values
        self.scope: JsonObject = {OUTCOME: None, **values}
        self._size: int | None = None
        self._put_out = 0

    def merge(self, outputs: JsonObject) -> None:
        """Merge outputs, shallowly; the last writer wins.

        The size is bounded from above, so that the whole document is encoded only when the bound nears the limit.

        :raises OutputsRefused: nothing was merged.
        """
        if not outputs:
            return
        if self._size is None:
            self._size = len(encode(self.values))
        size = _checked_size(outputs)
        if self._put_out + size > MAX_WAVE_BYTES:
            raise OutputsRefused("workflow.variables.wave_too_large", max=MAX_WAVE_BYTES)
        bound = self._size + size
        if bound > MAX_VARIABLES_BYTES:
            bound = len(encode({**self.values, **outputs}))
            if bound > MAX_VARIABLES_BYTES:
                raise OutputsRefused("workflow.variables.too_large", max=MAX_VARIABLES_BYTES)
        self._size = bound
        self._put_out += size
        self.values.update(outputs)
        self.scope.update(outputs)

    @contextmanager
    def beside(self, more: JsonObject) -> Iterator[None]:
        """Let expressions see *more* beside the variables while the block runs."""
        before = self.scope
        self.scope = {**before, **more}
        try:
            yield
        finally:
            self.scope = before

    def set_label(self, label: str) -> None:
        """Write a completion's label to the variable ``outcome`` (spec 3.5)."""
        self.values[OUTCOME] = self.scope[OUTCOME] = label
        if self._size is not None:
            # Six bytes is the most that JSON makes of one character.
            self._size += len(label) * 6 + len('"outcome":"",')

    def set_last_error(self, fault: JsonObject) -> None:
        """Write the fault that the flow goes on after to the variable ``lastError`` (spec 3.8)."""
        self.values[LAST_ERROR] = self.scope[LAST_ERROR] = fault
        self._size = None


def _checked_size(outputs: JsonObject) -> int:
    try:
        data = encode(outputs)
    except Exception as error:
        raise OutputsRefused("workflow.activity.not_json", text=str(error)) from error
    # Only outputs with a text that looks like the escape are looked into.
    if b"\\u0000" in data and holds_nul(outputs):
        raise OutputsRefused("workflow.variables.nul")
    return len(data)
