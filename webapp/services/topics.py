"""Which topics of events there are, and whether a subscription names any (spec 9.1, 10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from webapp.engine.errors import Problem
from webapp.engine.ports.messaging import TopicPatterns
from webapp.engine.runtime import events

TOPICS: Final[Sequence[str]] = tuple(
    sorted(value for name, value in vars(events).items() if name.isupper() and isinstance(value, str))
)
"""Every topic that is ever told."""

TEST_TOPIC: Final = "workflow.test"
"""What a test message bears: no event ever does."""


def topic_problems(patterns: Sequence[str], most: int) -> list[Problem]:
    """Return what is wrong with an endpoint's topics: too many, or one that no event ever has."""
    if len(patterns) > most:
        return [Problem(path="topics", key="services.endpoint.topics", params={"count": len(patterns), "max": most})]
    return [
        Problem(path=f"topics[{place}]", key="services.endpoint.topic", params={"topic": pattern[:100]})
        for place, pattern in enumerate(patterns)
        if not _names_some(pattern)
    ]


def _names_some(pattern: str) -> bool:
    if "*" in pattern[:-1] or (pattern.endswith("*") and pattern != "*" and not pattern.endswith(".*")):
        return False
    named = TopicPatterns([pattern])
    return any(named.wants(None, topic) for topic in TOPICS)
