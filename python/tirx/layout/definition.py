"""What layouts mean: the set of places of every element, and equality of these sets."""

from __future__ import annotations

import itertools

from .. import _ffi_api as _api
from ..errors import LayoutError
from .tile import ComposeLayout, TileLayout, _int, call


def equivalent(a, b, analyzer=None):
    """Whether two layouts have the same placements. The answer is true or false and, when false, has
    `kind` ("size" or "place") and `index`, the first linear index whose places differ."""
    return Equivalence(*list(call(_api.layout_difference, a, b, analyzer)))


class Equivalence:
    """Answer of `equivalent`."""

    __slots__ = ("kind", "index")

    def __init__(self, kind=None, index=None):
        self.kind, self.index = kind and str(kind), index

    def __bool__(self):
        return self.kind is None

    def __repr__(self):
        return "equal" if self else f"differ in {self.kind} at index {self.index}"


def placements(layout) -> list:
    """The definition: for each linear index the frozenset of its places, each a frozenset of (axis,
    coordinate) pairs without the zero coordinates. Written for clarity, not speed; static layouts."""
    tile = layout.tile_layout if isinstance(layout, ComposeLayout) else layout
    if not isinstance(tile, TileLayout):
        raise LayoutError("placements are those of a layout", code="unknown-layout", found=f"{layout!r}",
                          required="a TileLayout or a ComposeLayout")  # fmt: skip
    shard = [(_int(i.extent), _int(i.stride), str(i.axis)) for i in tile.shard]
    replica = [(_int(i.extent), _int(i.stride), str(i.axis)) for i in tile.replica]
    offset = {str(a): _int(v) for a, v in tile.offset.items()}
    steps = list(itertools.product(*[range(e) for e, _, _ in replica]))
    out = []
    for digits in itertools.product(*[range(e) for e, _, _ in shard]):
        places = set()
        for rdigits in steps:
            at = dict(offset)
            for d, (_, stride, axis) in zip(digits + rdigits, shard + replica):
                at[axis] = at.get(axis, 0) + d * stride
            if tile is not layout:
                at["m"] = _swizzled(layout, at.get("m", 0))
            places.add(frozenset((a, v) for a, v in at.items() if v))
        out.append(frozenset(places))
    return out


def _swizzled(layout, m):
    x, low = m >> layout.per_element, m % (1 << layout.per_element)
    x ^= (x & (((1 << layout.swizzle_len) - 1) << layout.atom_len)) >> layout.atom_len
    return (x << layout.per_element) + low
