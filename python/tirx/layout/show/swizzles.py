"""The swizzles that a drawing offers: the hardware's for 32, 64 and 128 bytes, none, any (M, B, S), or the layout's."""

from __future__ import annotations

from ...errors import LayoutError
from ..tile import ComposeLayout
from .reading import read_ints

GIVEN = "given"
HARDWARE = {"32B": 1, "64B": 2, "128B": 3}


def swizzled(layout, swizzle, bits):
    """`layout` with the swizzle named, in place of its own.

    `swizzle`: "given" (or None), "none", "32B", "64B", "128B" (16-byte chunks xored with the 128-byte row; PTX ISA,
    shared-memory swizzling modes), or three ints M,B,S of `ComposeLayout`. Raises LayoutError when the layout is not
    one of addresses, or the element width does not divide 16 bytes.
    """
    if swizzle in (None, "", GIVEN):
        return layout
    tile = layout.tile_layout if isinstance(layout, ComposeLayout) else layout
    if swizzle == "none":
        return tile
    if not any(it.axis == "m" for it in tile.shard):
        raise LayoutError("only memory is swizzled", code="no-memory", found=f"{tile}",
                          required="a layout with elements on the axis m")  # fmt: skip
    return ComposeLayout(*_parameters(swizzle, bits), tile)


def _parameters(swizzle, bits):
    if swizzle in HARDWARE:
        if 128 % bits:
            raise LayoutError("no whole number of elements fits a 16-byte chunk", code="bad-dtype",
                              found=f"{bits} bits", required="a width that divides 128 bits")  # fmt: skip
        return (128 // bits).bit_length() - 1, HARDWARE[swizzle], 3
    example = f"{', '.join(HARDWARE)}, none, or M,B,S such as 3,3,3"
    values = read_ints(swizzle, "a swizzle", example)
    if len(values) != 3:
        raise LayoutError("a swizzle has three parameters", code="bad-swizzle", found=repr(swizzle),
                          required=example)  # fmt: skip
    return values
