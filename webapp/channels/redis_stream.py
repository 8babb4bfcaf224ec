"""Redis: an entry of a stream, or a message in a queue of kombu's (spec 10).

*Sent* means that Redis has answered with the entry's id, or has the message in its list. Publish and subscribe is not
offered: what nobody listens to would be sent and lost.
"""

from __future__ import annotations

from typing import ClassVar

from webapp.channels.broker import BrokerChannel, BrokerUrl, Library
from webapp.engine.notifications.model import ChannelKind, Endpoint


class RedisChannel(BrokerChannel):
    """Adds to the stream ``stream`` (fields ``id``, ``topic``, ``body``), or with the option ``queue`` to a list that
    consumers with kombu take from. Whoever reads a stream trims it; nothing is cut off here."""

    kind = ChannelKind.REDIS
    schemes: ClassVar = {"redis": (6379, False), "rediss": (6379, True)}
    known_options = ("stream", "queue")
    address_key = "channel.address_no_redis"

    def _load(self) -> Library:
        from webapp.channels import redis_links  # noqa: PLC0415  # kombu and redis are loaded when they are needed

        return redis_links.LIBRARY

    def _url(self, endpoint: Endpoint) -> BrokerUrl:
        url = super()._url(endpoint)
        if url.path and not (url.path.isascii() and url.path.isdigit()):
            raise ValueError("the database is a number")
        return url
