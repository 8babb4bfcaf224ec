import hashlib
import hmac


def is_genuine(secret, headers, body, now):
    """Whether a request came from Waypost, unchanged and just now: *body* as bytes, *now* as of time.time()."""
    timestamp = headers.get("X-Waypost-Timestamp", "")
    if not (timestamp.isascii() and timestamp.isdigit()) or abs(now - int(timestamp)) > 300:
        return False
    signed = timestamp.encode() + b"." + body
    expected = "v1=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), headers.get("X-Waypost-Signature", "").encode())
