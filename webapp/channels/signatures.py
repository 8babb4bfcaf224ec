"""The signature of a webhook: what its receiver checks to know who sent it, and that nobody sends it again (spec 10).

``X-Waypost-Signature`` is ``v1=`` and the HMAC-SHA256, in hexadecimal, of the timestamp, a full stop and the body, by
the endpoint's secret. ``X-Waypost-Timestamp`` counts seconds since 1970; a receiver refuses one that is more than five
minutes away from its own clock.
"""

from __future__ import annotations

import hashlib
import hmac

DELIVERY_HEADER = "X-Delivery-Id"
TIMESTAMP_HEADER = "X-Waypost-Timestamp"
SIGNATURE_HEADER = "X-Waypost-Signature"

REPLAY_WINDOW_SECONDS = 300


def signature(secret: str, timestamp: int, body: bytes) -> str:
    """Return the value of the signature's header."""
    signed = f"{timestamp}.".encode() + body
    return f"v1={hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()}"


def verify(secret: str, timestamp: str, given: str, body: bytes, now: float) -> bool:
    """Whether a request is genuine and fresh, as a receiver would look at it; *now* in seconds since 1970."""
    if not (timestamp.isascii() and timestamp.isdigit()) or abs(now - int(timestamp)) > REPLAY_WINDOW_SECONDS:
        return False
    return hmac.compare_digest(signature(secret, int(timestamp), body).encode(), given.encode())
