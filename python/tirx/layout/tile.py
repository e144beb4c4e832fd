"""TileLayout and ComposeLayout: the faces of the C++ algebra (include/tirx/layout/ops.h)."""

from __future__ import annotations

import re

from tvm_ffi import Object, register_object

from .. import _ffi_api as _api
from .. import ir as _ir
from ..errors import LayoutError
from .notation import Axis, as_spec, check_number, listed

_MISMATCH = re.compile(r"Mismatched type on argument.*Expected `(.*?)` but got `(.*?)`", re.DOTALL)


def call(function, *args):
    """function(*args) of the C++ side; an argument of the wrong type is the user's mistake."""
    try:
        return function(*args)
    except TypeError as e:
        parts = _MISMATCH.search(str(e))
        if not parts:
            raise
        raise LayoutError(
            "a layout operation was given something else than it takes", code="bad-argument",
            found=parts[2], required=parts[1],
        ) from None  # fmt: skip


@register_object("tx.Iter")
class Iter(Object):
    """`extent` steps of `stride` on `axis`."""

    def __init__(self, extent, stride, axis="m"):
        extent, stride = check_number(extent), check_number(stride)
        call(self.__init_handle_by_constructor__, _api.Iter, extent, stride, axis)


_axis_name = Iter.axis
Iter.axis = property(lambda self: Axis.get(str(_axis_name.__get__(self))), doc="The Axis of the steps.")


def _shape(x):
    return [check_number(e) for e in listed(x)]


def _order(x):
    return list(x) if hasattr(x, "__iter__") else [x]


def _bounds(r):
    """(begin, extent) of a tx.Range or a (begin, end) pair."""
    if isinstance(r, _ir.Range):
        return r.min, r.extent
    if not isinstance(r, (tuple, list)) or len(r) != 2:
        raise LayoutError("a region has one range per dimension", code="bad-region", found=f"{r!r}",
                          required="a (begin, end) pair or a tx.Range")  # fmt: skip
    begin = check_number(r[0])
    return begin, check_number(r[1]) - begin


@register_object("tx.Layout")
class Layout(Object):
    """Base of TileLayout and ComposeLayout. `analyzer` is a tirx.arith.Analyzer with facts, or None."""

    def size(self, axis=None):
        """Number of elements: the product of the shard extents, or of those on one axis."""
        return call(_api.layout_size, self, axis)

    def span(self, axis="m", analyzer=None):
        """Largest minus smallest coordinate on `axis`, plus 1 (swizzled m: of whole swizzle blocks)."""
        return call(_api.layout_span, self, axis, analyzer)

    def apply(self, *coord, shape=None, analyzer=None) -> dict:
        """{axis: coordinate} of the first place of an element. Ints in, ints out.

        `coord` is linear (one value), one value per shard iter, or one per dimension of `shape`.
        """
        if len(coord) == 1 and isinstance(coord[0], (list, tuple)):
            coord = coord[0]
        flat = list(
            call(_api.layout_apply, self, _shape(coord), [] if shape is None else _shape(shape), analyzer)
        )
        return {str(axis): value for axis, value in zip(flat[::2], flat[1::2])}

    def canonicalize(self, analyzer=None) -> Layout:
        """The normal form: static layouts with equal placements get equal objects. Refused only for replicas that
        overlap in too many ways ("replica-overlap") and above 2^21 swizzled places."""
        return call(_api.layout_canonicalize, self, analyzer)

    def group(self, shape, analyzer=None):
        """(layout, separators): dimension d of `shape` is shard iters separators[d]:separators[d+1]."""
        layout, *seps = list(call(_api.layout_group, self, _shape(shape), analyzer))
        return layout, seps

    def permute_dims(self, order) -> Layout:
        """Shard iters in a new order."""
        return call(_api.layout_permute, self, _order(order))

    permute = permute_dims

    def permute_by_groups(self, separators, order) -> Layout:
        """Groups of shard iters (as `group` returns them) in a new order."""
        return call(_api.layout_permute_groups, self, _order(separators), _order(order))

    def slice(self, shape, region, analyzer=None) -> Layout:
        """The layout of a box; `region` has one (begin, end) pair or tx.Range per dimension of `shape`."""
        begins, extents = [], []
        for r in region:
            begin, extent = _bounds(r)
            begins.append(begin)
            extents.append(extent)
        return call(_api.layout_slice, self, _shape(shape), begins, extents, analyzer)

    def tile(self, outer, outer_shape, inner_shape, analyzer=None) -> Layout:
        """This layout repeated by `outer`: T(x | y) = outer(x) * span(self) + self(y), per axis.

        Dimensions interleave as (outer_0, inner_0, outer_1, inner_1, ...).
        """
        return call(_api.layout_tile, self, outer, _shape(outer_shape), _shape(inner_shape), analyzer)

    def tile_to(self, to_shape, current_shape, analyzer=None) -> Layout:
        """`tile` with a row-major outer on m, so that the result has shape `to_shape`."""
        return call(_api.layout_tile_to, self, _shape(to_shape), _shape(current_shape), analyzer)

    def direct_sum(self, left, left_shape, right_shape, analyzer=None) -> Layout:
        """T(x | y) = left(x) + self(y), dimensions interleaved, nothing scaled."""
        return call(_api.layout_direct_sum, self, left, _shape(left_shape), _shape(right_shape), analyzer)

    def is_tile_inner(self, tiled, tiled_shape, inner_shape, analyzer=None):
        """The outer with `self.tile(outer, ...)` equal to `tiled`, or None when there is none."""
        return call(
            _api.layout_tile_outer_of, tiled, self, _shape(tiled_shape), _shape(inner_shape), analyzer
        )

    def is_tile_outer(self, tiled, tiled_shape, outer_shape, analyzer=None):
        """The inner with `inner.tile(self, ...)` equal to `tiled`, or None when there is none."""
        return call(
            _api.layout_tile_inner_of, tiled, self, _shape(tiled_shape), _shape(outer_shape), analyzer
        )

    def is_direct_sum_right(self, total, interleaved_shape, right_shape, analyzer=None):
        """The left with `self.direct_sum(left, ...)` equal to `total`, or None; both swizzled alike or neither.

        `interleaved_shape` is (left_0, right_0, left_1, right_1, ...).
        """
        return call(
            _api.layout_sum_left_of, total, self, _shape(interleaved_shape), _shape(right_shape), analyzer
        )

    def is_direct_sum_left(self, total, interleaved_shape, left_shape, analyzer=None):
        """The right, swizzled as `total` is, with `right.direct_sum(self, ...)` equal to `total`, or None."""
        return call(
            _api.layout_sum_right_of, total, self, _shape(interleaved_shape), _shape(left_shape), analyzer
        )

    def pack(self, num, analyzer=None) -> Layout:
        """`num` consecutive, aligned elements become one."""
        return call(_api.layout_pack, self, num, analyzer)

    def unpack(self, num, analyzer=None) -> Layout:
        """Every element becomes `num` consecutive smaller ones."""
        return call(_api.layout_unpack, self, num, analyzer)

    def recast(self, from_bits, to_bits, analyzer=None) -> Layout:
        """The same bits seen as elements of `to_bits` instead of `from_bits` (4 and 6 included)."""
        return call(_api.layout_recast, self, from_bits, to_bits, analyzer)

    def broadcast(self, num, position=-1, axis="m") -> Layout:
        """A stride-0 iter of extent `num` inserted before shard iter `position` (-1: after the last)."""
        return call(_api.layout_broadcast, self, check_number(num), position, axis)

    def convert_axes(self, *axes, analyzer=None) -> Layout:
        """Thread axes re-expressed on `axes`, for instance tid_in_wg on ("wid_in_wg", "laneid")."""
        return call(_api.layout_convert_axes, self, list(axes), analyzer)

    def contiguous_run(self, shape, dim=-1, limit=1 << 30, analyzer=None) -> int:
        """Largest power of two v <= limit such that every aligned run of v elements along `dim` of `shape`
        is consecutive on m, has one owner and starts at a multiple of v (in elements).

        Of a swizzled layout the answer holds for every v it gives, and may be smaller than the largest: it is that of
        the tile, at most one chunk of 2^per_element elements."""
        return call(_api.layout_contiguous_run, self, _shape(shape), dim, limit, analyzer)

    def storage(self) -> Layout:
        """What one owner stores: the parts on memory axes."""
        return call(_api.layout_storage, self)

    def owners(self) -> TileLayout:
        """Who owns: the parts on thread axes."""
        return call(_api.layout_owners, self)

    def get_scope(self):
        """(owner kind, team kind), for instance ("thread", "warp"), or None without thread axes."""
        pair = list(call(_api.layout_scope, self))
        return (str(pair[0]), str(pair[1])) if pair else None

    def show(self, shape=None, dtype=None, swizzle=None, access=None):
        """A view that prints in a terminal and draws in a notebook; `.text()`, `.svg()`, `.html()`, `.save(path)`.
        See tirx.layout.show.View."""
        from .show import View

        return View(self, shape, dtype, swizzle, access)

    def is_swizzle(self) -> bool:
        """Whether the addresses are swizzled."""
        return isinstance(self, ComposeLayout) and self.swizzle_len > 0

    def is_trivial(self) -> bool:
        """Whether element x is at address x."""
        form = self.canonicalize()
        if not isinstance(form, TileLayout) or form.replica or form.offset or len(form.shard) != 1:
            return False
        it = form.shard[0]
        return it.axis == "m" and (it.stride == 1 if isinstance(it.stride, int) else _int(it.stride) == 1)

    def __str__(self):
        return str(call(_api.layout_text, self))


def _int(e):
    return e.value if isinstance(e, _ir.IntImm) else e


@register_object("tx.TileLayout")
class TileLayout(Layout):
    """shard, replica: lists of Iter; offset: {axis: value}. Built from `S[...] + R[...] + offset`."""

    def __init__(self, spec):
        spec = as_spec(spec)
        if spec is None or spec.shard is None:
            raise LayoutError("a TileLayout is built from S[...]", code="no-shard",
                              required="TileLayout(S[shape : strides] + R[...] + offset)")  # fmt: skip
        offset = {}
        for term in spec.offset:
            value = check_number(term.value)
            offset[term.axis] = offset[term.axis] + value if term.axis in offset else value
        e, s, a = zip(*spec.shard) if spec.shard else ((), (), ())
        r_e, r_s, r_a = zip(*spec.replica) if spec.replica else ((), (), ())
        call(self.__init_handle_by_constructor__, _api.layout_make, e, s, a, r_e, r_s, r_a, offset)

    @staticmethod
    def from_iters(shard=(), replica=(), offset=None) -> TileLayout:
        """From Iter objects."""
        return call(_api.TileLayout, list(shard), list(replica), dict(offset or {}))

    @staticmethod
    def trainium(annotation, shape, is_psum=False) -> TileLayout:
        """See library.trainium_layout."""
        from .library import trainium_layout

        return trainium_layout(annotation, shape, is_psum)

    def to_psum(self) -> TileLayout:
        """See library.to_psum."""
        from .library import to_psum

        return to_psum(self)

    def is_trainium(self) -> bool:
        """Whether elements are placed on partitions and the free axis (or PSUM banks) only."""
        axes = {str(it.axis) for it in self.shard}
        return "P" in axes and axes <= {"P", "F", "Bank"}

    def __repr__(self):
        return f"TileLayout({self})"


@register_object("tx.ComposeLayout")
class ComposeLayout(Layout):
    """Swizzled memory: with m the address in `tile_layout`, addr = f(m >> M) * 2^M + m mod 2^M,
    f(x) = x ^ ((x & ((2^B - 1) << S)) >> S); M = per_element, B = swizzle_len, S = atom_len."""

    def __init__(self, per_element, swizzle_len, atom_len, tile_layout, swizzle_inner=True):
        if not swizzle_inner and swizzle_len:
            raise LayoutError(
                "only the hardware's swizzle direction exists", code="swizzle-direction",
                found="swizzle_inner=False", required="row bits xored into the low bits",
            )  # fmt: skip
        call(
            self.__init_handle_by_constructor__,
            _api.ComposeLayout,
            per_element,
            swizzle_len,
            atom_len,
            tile_layout,
        )

    @property
    def period(self) -> int:
        """Elements after which the swizzle repeats; a buffer's start must be a multiple of it."""
        return 1 << (self.per_element + self.swizzle_len + self.atom_len)

    def __repr__(self):
        return str(self)
