"""Who is mentioned in a comment: ``@login`` of accounts that there are (spec 10, Events)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

MAX_MENTIONS = 50
"""How many ``@`` of one comment are looked at."""

_LONGEST = 256
_WIDE_AT = "\uff20"
_MENTION = re.compile(rf"(?<![A-Za-z0-9_.@-])[@{_WIDE_AT}](?=([^\s,:\x00]{{1,{_LONGEST}}}))")
_GOES_ON = re.compile(r"[A-Za-z0-9_-]|\.[A-Za-z0-9]")


def mentioned(comment: str, known: Callable[[Collection[str]], Collection[str]]) -> list[str]:
    """Return the known login names that the comment mentions, in their order, each once.

    *known* returns those of some names that are accounts. The longest one counts: what follows it may be a full stop or
    a word of a script that has no spaces, but no letter or digit that would make it another name.
    """
    if "@" not in comment and _WIDE_AT not in comment:
        return []
    written = [found.group(1) for found in _MENTION.finditer(comment)][:MAX_MENTIONS]
    readings = [[text[:end] for end in range(len(text), 0, -1) if _is_whole(text, end)] for text in written]
    accounts = known({name for names in readings for name in names})
    found = [next((name for name in names if name in accounts), None) for names in readings]
    return list(dict.fromkeys(name for name in found if name is not None))


def _is_whole(text: str, end: int) -> bool:
    return _GOES_ON.match(text, end) is None
