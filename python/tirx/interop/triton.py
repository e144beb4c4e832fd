"""Layouts of Triton and Gluon (the package `triton`): linear, distributed, shared and padded layouts.

Triton computes the linear layout of its own encodings; what it cannot express (padding) is read here.
"""

from __future__ import annotations

import functools

from ..errors import LayoutError, absent
from ..layout.linear import LinearLayout, PaddedLayout, tile_of_distribution, tile_of_placement
from ..layout.linear.tiles import AXES, distribution_of

HARDWARE = ("register", "lane", "warp", "block")


def _triton():
    try:
        import triton
    except ImportError:
        raise absent("triton", "triton", "pip install tirx[interop]") from None
    return triton


def _linear_class():
    _triton()
    from triton._C.libtriton import linear_layout

    return linear_layout.LinearLayout


def _gluon():
    _triton()
    from triton.experimental.gluon import language

    return language


@functools.cache
def _builder():
    from triton._C.libtriton import gluon_ir, ir

    context = ir.context()
    ir.load_dialects(context)
    return context, gluon_ir.GluonOpBuilder(context)


def _dims(rank):
    return [f"dim{i}" for i in range(rank)]


def from_triton(layout, shape=None):
    """The LinearLayout of a Triton LinearLayout object or of any Gluon layout (PaddedLayout for padded ones).

    Gluon layouts other than explicit linear ones need `shape`. Dimensions are named as Triton names them:
    register, lane, warp, block or offset, block; dim0, dim1, ...
    """
    if isinstance(layout, _linear_class()):
        return LinearLayout(layout.bases, layout.out_dims, require_surjective=False)
    gluon = _gluon()
    if isinstance(layout, gluon.DistributedLinearLayout):
        bases = layout.reg_bases, layout.lane_bases, layout.warp_bases, layout.block_bases
        return _explicit(dict(zip(HARDWARE, bases)), layout.shape)
    if isinstance(layout, gluon.SharedLinearLayout):
        return _explicit({"offset": layout.offset_bases, "block": layout.block_bases}, layout.shape)
    if isinstance(layout, gluon.PaddedSharedLayout):
        bases = {"offset": layout.offset_bases, "block": layout.cga_layout}
        return PaddedLayout(_explicit(bases, layout.shape), layout.interval_padding_pairs)
    if hasattr(layout, "partition_layout"):
        return _partitioned(layout, _needs(shape, layout))
    return _computed(layout, shape)


def _partitioned(layout, shape):
    """Triton's own conversion drops the partition, so it is built from the layout of one piece."""
    dim, parts, groups = layout.partition_dim, layout.num_partitions, layout.num_groups
    piece = [s // (parts * groups) if i == dim else s for i, s in enumerate(shape)]
    inner = from_triton(layout.partition_layout, piece)
    linear = inner.linear if isinstance(inner, PaddedLayout) else inner
    if linear.in_dims.get("block", 1) != 1:
        raise LayoutError("the pieces of a partitioned layout are split over blocks", code="not-supported",
                          found=str(linear), required="pieces inside one block")  # fmt: skip
    name = f"dim{dim}"
    linear = linear.sublayout(["offset"], list(linear.out_dims))
    linear = linear * LinearLayout.identity_1d(parts, "partition", name)
    linear = linear * LinearLayout.identity_1d(groups, "offset", name)
    return PaddedLayout(linear, inner.pads) if isinstance(inner, PaddedLayout) else linear


def _needs(shape, layout):
    if shape is None:
        raise LayoutError("this layout depends on the tensor's shape", code="no-shape",
                          found=type(layout).__name__, required="shape=")  # fmt: skip
    return list(shape)


def _explicit(bases, shape):
    return LinearLayout(bases, dict(zip(_dims(len(shape)), shape)))


def _computed(layout, shape):
    gluon = _gluon()
    if not isinstance(layout, (gluon._layouts.DistributedLayout, gluon._layouts.SharedLayout)):
        raise LayoutError("this is no layout of Triton or Gluon", code="not-a-layout",
                          found=type(layout).__name__, required="a Gluon layout or a Triton LinearLayout")  # fmt: skip
    shape = _needs(shape, layout)
    _, builder = _builder()
    found = builder.to_linear_layout(layout._to_ir(builder), shape)
    return from_triton(found) if _covers(found, shape) else _grown(found, shape)


def _covers(found, shape):
    return list(found.shape) == list(shape)


def _grown(found, shape):
    """A shared linear layout infers its sizes from the largest basis; broadcast dimensions need the shape."""
    linear = from_triton(found)
    return linear.resize_outs(dict(zip(_dims(len(shape)), shape)))


def to_triton(layout):
    """Triton's LinearLayout object."""
    outs = layout.out_dims
    bases = [(n, [list(b) for b in bs]) for n, bs in layout.bases.items()]
    return _linear_class().from_bases(bases, list(outs), list(outs.values()), False)


def to_gluon(layout):
    """DistributedLinearLayout (inputs register, lane, warp, block), SharedLinearLayout (offset, block) or
    PaddedSharedLayout. Missing inputs have no bases; output dimensions are dim0, dim1, ..., in this order."""
    gluon = _gluon()
    linear = layout.linear if isinstance(layout, PaddedLayout) else layout
    dims = _dims(len(linear.out_dims))
    if sorted(linear.out_dims) != sorted(dims):
        raise LayoutError("a Gluon layout numbers its dimensions", code="bad-names", found=str(list(linear.out_dims)),
                          required=str(dims), hint="rename_outs")  # fmt: skip
    linear = linear.transpose_outs(dims)
    bases, shape = (
        {n: [list(b) for b in bs] for n, bs in linear.bases.items()},
        list(linear.out_dims.values()),
    )
    names = ("offset", "block") if "offset" in bases else HARDWARE
    if set(bases) - set(names):
        raise LayoutError("a Gluon layout has other inputs", code="bad-names", found=str(list(bases)),
                          required=f"among {names}", hint="rename_ins")  # fmt: skip
    args = [bases.get(n, []) for n in names]
    if isinstance(layout, PaddedLayout):
        return gluon.PaddedSharedLayout([list(p) for p in layout.pads], *args, shape)
    if names is not HARDWARE:
        return _shared(gluon, args, shape)
    return gluon.DistributedLinearLayout(*args, shape)


def _shared(gluon, args, shape):
    out = gluon.SharedLinearLayout(*args)
    if list(out.shape) != shape:
        raise LayoutError("a shared Gluon layout infers its shape from the bases", code="bad-shape",
                          found=f"{shape}, inferred {list(out.shape)}",
                          required="bases that reach every bit")  # fmt: skip
    return out


def tile_from_triton(layout, shape=None, axes=None):
    """The TileLayout (or ComposeLayout of a swizzled shared layout) with the places of a Triton layout; refused
    when there is none. `axes` names the axis of each input (default: register m, lane laneid, warp warpid,
    block cta_id, offset m); the shape is the layout's own dimensions in their order."""
    linear = from_triton(layout, shape)
    if isinstance(linear, PaddedLayout):
        linear = linear.linear_layout()
    dims = sorted(linear.out_dims, key=lambda n: (len(n), n))
    linear = linear.transpose_outs(dims[::-1])
    unused = [n for n, size in linear.in_dims.items() if size == 1]
    linear = linear.sublayout([n for n in linear.in_dims if n not in unused], dims)
    if linear.is_invertible():
        names = {n: (axes or {}).get(n, AXES.get(n, n)) for n in linear.in_dims}
        return tile_of_placement(linear.inverse().rename_outs(names))
    return tile_of_distribution(linear, axes)


def tile_to_triton(layout, shape):
    """The Gluon layout of a TileLayout or ComposeLayout: shared when it is only on m, distributed otherwise."""
    linear = distribution_of(layout, shape)
    back = {"laneid": "lane", "warpid": "warp", "cta_id": "block"}
    only_memory = set(linear.in_dims) == {"m"}
    return to_gluon(linear.rename_ins({**back, "m": "offset" if only_memory else "register"}))
