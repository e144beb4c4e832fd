"""Between CuTe layouts and TileLayouts.

A CuteLayout counts coordinates leftmost-fastest, a TileLayout row-major. The conversions keep coordinates: element
(i, j, ...) of the one is element (i, j, ...) of the other, so the leaves inside a mode change their order.
"""

from __future__ import annotations

from ..notation import S
from ..tile import ComposeLayout, TileLayout, _int
from .composed import ComposedLayout, Swizzle
from .layout import CuteLayout, make_layout, nest
from .tuples import refuse


def to_tile(layout):
    """The layout with `layout(i, j, ...) == tile.apply(i, j, ..., shape=sizes of the modes)["m"]`.

    A CuteLayout gives a TileLayout; a ComposedLayout with a Swizzle a ComposeLayout, or a TileLayout with an
    offset when the swizzle has no bits. LayoutError for a swizzle to the left and for maps without a flat form.
    """
    if isinstance(layout, CuteLayout):
        return _tile(layout, 0)
    if not isinstance(layout, ComposedLayout) or not isinstance(layout.outer, Swizzle):
        flat, offset = layout.flatten() if isinstance(layout, ComposedLayout) else (None, 0)
        if flat is None or len(layout) > 1:
            refuse(
                "this map is no TileLayout",
                "not-a-tile-layout",
                repr(layout),
                "a layout, or a swizzle of one",
            )
        return _tile(flat, offset)
    swizzle = layout.outer
    if not isinstance(layout.inner, CuteLayout) or swizzle.shift < 0:
        refuse(
            "this swizzle is no ComposeLayout",
            "not-a-tile-layout",
            repr(layout),
            "a shift to the right of a layout",
        )
    tile = _tile(layout.inner, layout.offset)
    return ComposeLayout(swizzle.base, swizzle.bits, swizzle.shift, tile) if swizzle.bits else tile


def _tile(layout, offset):
    leaves = [leaf for mode in layout.modes() for leaf in reversed(mode.leaves())]
    spec = S[tuple(e for e, _ in leaves) : tuple(d for _, d in leaves)]
    return TileLayout(spec + offset if type(offset) is not int or offset else spec)


def from_tile(layout, shape=None, axis="m"):
    """The map with `map(i, j, ...) == layout.apply(i, j, ..., shape=shape)[axis]`; without a shape, of the linear index.

    A TileLayout without offset gives a CuteLayout; an offset or a swizzle a ComposedLayout. Strides on other axes
    count as 0 only when `axis` is not "m": the address of a layout with owners is refused, as are replicas.
    """
    tile = layout.tile_layout if isinstance(layout, ComposeLayout) else layout
    if len(tile.replica):
        refuse("a set of places is no CuTe value", "replicas", layout, "a layout without R[...]")
    others = sorted({str(i.axis) for i in tile.shard if str(i.axis) != axis and i.extent != 1})
    if axis == "m" and (others or any(str(a) != "m" for a in tile.offset)):
        refuse("places on several axes are no CuTe value", "owners", layout, "strides on m alone",
               'layout.storage() keeps what one owner stores; axis="laneid" asks for one axis')  # fmt: skip
    cute = _cute(tile, [tile.size()] if shape is None else list(shape), axis)
    offset = next((_int(v) for a, v in tile.offset.items() if str(a) == axis), 0)
    swizzled = tile is not layout and axis == "m"
    if not swizzled and type(offset) is int and offset == 0:
        return cute
    swizzle = (layout.swizzle_len, layout.per_element, layout.atom_len) if swizzled else (0, 0, 0)
    return ComposedLayout(Swizzle(*swizzle), offset, cute)


def _cute(tile, shape, axis):
    grouped, bounds = tile.group(shape)
    iters = [(_int(i.extent), _int(i.stride) if str(i.axis) == axis else 0) for i in grouped.shard]
    modes = [nest([iters[a:b][::-1]], 1) for a, b in zip(bounds, bounds[1:])]
    return modes[0] if len(modes) == 1 else make_layout(*modes)
