"""How the trees of a purge are taken: the same for both sets of stores."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from webapp.engine.ports.purge import PurgePick, PurgePlace, PurgeTree, TreeSize

LOOKED = 300
"""How many roots are looked through at once."""


class Tree(msgspec.Struct, frozen=True):
    """A root that has ended: its place, how many descendants it has, how many of them may not go, rows of them all."""

    place: PurgePlace
    children: int
    living: int
    rows: int


def choose(found: Sequence[Tree], *, rows: int, at_end: bool) -> PurgePick:
    """Leave out what lives; *at_end*: there are no other roots behind these."""
    trees = [_sized(tree, rows) for tree in found if not tree.living]
    return PurgePick(trees=trees, place=None if at_end or not found else found[-1].place)


def _sized(tree: Tree, most: int) -> PurgeTree:
    """Say how a tree is taken: more than *most* rows are too many for one transaction."""
    root, instances = tree.place.id, 1 + tree.children
    if instances + tree.rows <= most:
        return PurgeTree(root, TreeSize.WHOLE, instances + tree.rows)
    if 2 * instances <= most:
        # An instance's row goes and a mark comes.
        return PurgeTree(root, TreeSize.MARKED, 2 * instances)
    return PurgeTree(root, TreeSize.WIDE, 2)
