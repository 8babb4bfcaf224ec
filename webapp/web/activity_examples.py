"""The example of each built-in activity: a small definition, what happens to it, and what becomes of the instance.

The files are the only place: the help pages are made from them, and a test runs them.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import msgspec

from webapp.engine.json_input import read_json
from webapp.engine.numbers import JsonNumber, JsonObject


class Step(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One thing that happens: a signal, a time that passes (seconds), a decision, a worker's result.

    ``background``: what waits to be run in the background is run. ``starts``: the signal starts the instance.
    ``payload`` is what a signal or a worker carries.
    """

    signal: str | None = None
    starts: bool = False
    wait: JsonNumber | None = None
    background: bool = False
    decide: str | None = None
    by: str | None = None
    work: str | None = None
    payload: JsonObject = {}


class Answer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the web service of the example says."""

    status: int
    body: JsonObject


class PublishedEvent(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """An event that the example publishes."""

    event_name: str
    payload: JsonObject


class End(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What became of the instance: the nodes in the order of their first run, the transitions taken, the variables.

    ``canceled`` are those among the nodes that did not come to their own end.
    """

    status: str
    path: list[str]
    taken: list[str]
    variables: JsonObject
    canceled: list[str] = []
    outcome: str | None = None
    reason: str | None = None
    fault: str | None = None
    """The text of a Fault's own message."""


class Example(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A definition with the workflows it needs, the variables of its start, and what happens then.

    ``steps`` that begin with a signal that starts the instance need no ``start``. Nodes have no names: the pages
    name them in their language.
    """

    definition: JsonObject
    others: list[JsonObject] = []
    start: JsonObject = {}
    correlation_id: str | None = None
    answer: Answer | None = None
    steps: list[Step] = []
    log: list[str] = []
    events: list[PublishedEvent] = []
    end: End

    @property
    def is_started_by_signal(self) -> bool:
        """Whether the first step starts the instance."""
        return bool(self.steps) and self.steps[0].starts


@cache
def example_of(activity_type: str) -> Example | None:
    """Return the example of an activity; a host's own activities have none."""
    if not activity_type.isalnum():
        return None
    path = files("webapp").joinpath("samples", "activities", f"{activity_type}.json")
    if not path.is_file():
        return None
    return msgspec.convert(read_json(path.read_bytes()), Example)
