"""How many examples a generating test draws: few in every run, as many as one likes in a long one."""

from __future__ import annotations

import os


def examples(few: int) -> int:
    """Return the number for this run: *few*, or what ``WAYPOST_TEST_EXAMPLES`` says."""
    return int(os.environ.get("WAYPOST_TEST_EXAMPLES", few))
