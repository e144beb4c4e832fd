"""TileLayout and ComposeLayout of Apache TVM (the package `apache-tvm`, module tvm.tirx.layout)."""

from __future__ import annotations

from ..errors import LayoutError, absent
from ..layout import Axis, ComposeLayout, Iter, TileLayout


def _tvm():
    try:
        from tvm.tirx import layout
    except ImportError:
        raise absent("apache-tvm", "tvm.tirx.layout", "pip install tirx[interop]") from None
    return layout


def _static(value, what):
    value = getattr(value, "value", value)
    if not isinstance(value, int):
        raise LayoutError("a symbolic layout of TVM has variables of TVM", code="symbolic", found=f"{what} {value}",
                          required="constants")  # fmt: skip
    return int(value)


def _axis(axis):
    return Axis.get(str(axis.name))


def from_tvm(layout):
    """The TileLayout or ComposeLayout of a static layout of TVM. Axes are those of the same name."""
    tvm = _tvm()
    if isinstance(layout, tvm.ComposeLayout):
        return ComposeLayout(int(layout.per_element), int(layout.swizzle_len), int(layout.atom_len),
                             from_tvm(layout.tile_layout), bool(layout.swizzle_inner))  # fmt: skip
    if not isinstance(layout, tvm.TileLayout):
        raise LayoutError("this is no layout of TVM", code="not-a-layout", found=type(layout).__name__,
                          required="tvm.tirx.layout.TileLayout or ComposeLayout")  # fmt: skip
    shard, replica = ([Iter(_static(i.extent, "extent"), _static(i.stride, "stride"), _axis(i.axis)) for i in iters]
                      for iters in (layout.shard, layout.replica))  # fmt: skip
    offset = {_axis(a): _static(v, "offset") for a, v in layout.offset.items()}
    return TileLayout.from_iters(shard, replica, {a: v for a, v in offset.items() if v})


def to_tvm(layout):
    """The layout object of TVM with the same iters."""
    tvm = _tvm()
    if isinstance(layout, ComposeLayout):
        return tvm.ComposeLayout(
            layout.per_element, layout.swizzle_len, layout.atom_len, to_tvm(layout.tile_layout)
        )
    shard, replica = ([tvm.Iter(_static(i.extent, "extent"), _static(i.stride, "stride"), _known(tvm, i.axis))
                       for i in iters] for iters in (layout.shard, layout.replica))  # fmt: skip
    offset = {_known(tvm, a): _static(v, "offset") for a, v in layout.offset.items()}
    return tvm.TileLayout.from_iters(shard, replica, offset)


def _known(tvm, axis):
    if str(axis) not in tvm._AXIS_NAMES:
        raise LayoutError("TVM has no such axis", code="no-axis", found=str(axis),
                          required=", ".join(tvm._AXIS_NAMES))  # fmt: skip
    return str(axis)
