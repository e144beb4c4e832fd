"""What is proved of a drawn layout, beside what its tables show: by argument, without looking at the places."""

from __future__ import annotations

from ...errors import LayoutError
from ..tile import ComposeLayout, TileLayout


def facts(tables) -> list:
    """(what, verdict and argument) pairs of `prove`; none for layouts that are no maps onto boxes from 0.

    Of a replicated layout the copy with all replica digits 0 is spoken of. "Every place is used" is of the box of places
    that starts at 0.
    """
    from ..corr import as_map
    from ..proof import prove

    once, copies = _without_replicas(tables.layout)
    try:
        proof = prove(as_map(once), budget=0)
    except LayoutError:
        return []
    which = " (one copy)" if copies else ""
    out = [(f"distinct places{which}", _verdict(proof.injective))]
    if not copies and all(a.low == 0 for a in tables.axes):
        out.append(("every place is used", _verdict(proof.surjective)))
    return out


def _without_replicas(layout):
    tile = layout.tile_layout if isinstance(layout, ComposeLayout) else layout
    if not tile.replica:
        return layout, False
    bare = TileLayout.from_iters(list(tile.shard), [], dict(tile.offset.items()))
    if tile is layout:
        return bare, True
    return ComposeLayout(layout.per_element, layout.swizzle_len, layout.atom_len, bare), True


def _verdict(fact):
    return f"{fact.status.lower()}: {fact.argument}" if fact.argument else fact.status.lower()
