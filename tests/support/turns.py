"""Which tests one worker runs after each other: those that share a server, for starting one costs more than a test."""

from __future__ import annotations

from pathlib import PurePosixPath

from xdist.scheduler import LoadScopeScheduling

DRAWING = ("test_activities", "test_designer", "test_listeners")
"""The browser's modules whose journeys draw: half of the time of all."""

_DATABASES = ("sqlite", "postgresql")


class SharedServers(LoadScopeScheduling):  # type: ignore[misc]  # xdist says nothing of its types
    """Gives a group to one worker, the largest groups first; every other test goes by itself.

    By the ids alone, not by ``xdist_group``: the marks of items do not reach this version of xdist.
    """

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def group_of(nodeid: str) -> str:
    """Return the group of a test by its id; for one that shares nothing that is the id."""
    path, _, name = nodeid.partition("::")
    if path.startswith("tests/browser/"):
        return "browser, drawing" if PurePosixPath(path).stem in DRAWING else "browser"
    if path.startswith("tests/faults/"):
        return " ".join([path, *(kind for kind in _DATABASES if f"[{kind}" in name)])
    return nodeid
