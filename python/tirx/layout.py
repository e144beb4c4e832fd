"""Layouts: where the elements of a tile are.

    TileLayout(S[(8, 2, 4, 2) : (4 @ laneid, 1 @ warpid, 1 @ laneid, 1)] + R[2 : 4 @ warpid] + 5 @ warpid)

maps a logical index to a set of coordinates on named axes, L(x) = {D(x) + r + O | r in R}: the linear
index x is split over the shard extents, innermost first; digit times stride adds up on the iter's axis; the
offset is added; every combination of replica steps is one place. A stride without an axis is on `m`, the
linear memory of the buffer. The operations (include/tirx/layout/ops.h, docs/layouts.md) are exact or raise
LayoutError; `placements` is the definition that they are tested against.
"""

from __future__ import annotations

import itertools

from tvm_ffi import Object, register_object

from . import _ffi_api as _api
from . import ir as _ir
from .errors import LayoutError
from .layout_notation import Axis, R, S, as_spec, check_number, listed


@register_object("tx.Iter")
class Iter(Object):
    """`extent` steps of `stride` on `axis`."""

    def __init__(self, extent, stride, axis="m"):
        self.__init_handle_by_constructor__(_api.Iter, check_number(extent), check_number(stride), axis)


_axis_name = Iter.axis
Iter.axis = property(lambda self: Axis.get(str(_axis_name.__get__(self))), doc="The Axis of the steps.")


def _shape(x):
    return [check_number(e) for e in listed(x)]


@register_object("tx.Layout")
class Layout(Object):
    """Base of TileLayout and ComposeLayout. `analyzer` is a tirx.arith.Analyzer with facts, or None."""

    def size(self, axis=None):
        """Number of elements: the product of the shard extents, or of those on one axis."""
        return _api.layout_size(self, axis)

    def span(self, axis="m", analyzer=None):
        """Largest minus smallest coordinate on `axis`, plus 1 (swizzled m: of whole swizzle blocks)."""
        return _api.layout_span(self, axis, analyzer)

    def apply(self, *coord, shape=None, analyzer=None) -> dict:
        """{axis: coordinate} of the first place of an element. Ints in, ints out.

        `coord` is linear (one value), one value per shard iter, or one per dimension of `shape`.
        """
        if len(coord) == 1 and isinstance(coord[0], (list, tuple)):
            coord = coord[0]
        flat = list(_api.layout_apply(self, _shape(coord), [] if shape is None else _shape(shape), analyzer))
        return {str(axis): value for axis, value in zip(flat[::2], flat[1::2])}

    def canonicalize(self, analyzer=None) -> Layout:
        """The normal form: equal placements, equal objects."""
        return _api.layout_canonicalize(self, analyzer)

    def group(self, shape, analyzer=None):
        """(layout, separators): dimension d of `shape` is shard iters separators[d]:separators[d+1]."""
        layout, *seps = list(_api.layout_group(self, _shape(shape), analyzer))
        return layout, seps

    def permute_dims(self, order) -> Layout:
        """Shard iters in a new order."""
        return _api.layout_permute(self, list(order))

    permute = permute_dims

    def permute_by_groups(self, separators, order) -> Layout:
        """Groups of shard iters (as `group` returns them) in a new order."""
        return _api.layout_permute_groups(self, list(separators), list(order))

    def slice(self, shape, region, analyzer=None) -> Layout:
        """The layout of a box; `region` has one (begin, end) pair or tx.Range per dimension of `shape`."""
        begins, extents = [], []
        for r in region:
            ranged = isinstance(r, _ir.Range)
            begin = r.min if ranged else check_number(r[0])
            begins.append(begin)
            extents.append(r.extent if ranged else check_number(r[1]) - begin)
        return _api.layout_slice(self, _shape(shape), begins, extents, analyzer)

    def tile(self, outer, outer_shape, inner_shape, analyzer=None) -> Layout:
        """This layout repeated by `outer`: T(x | y) = outer(x) * span(self) + self(y), per axis.

        Dimensions interleave as (outer_0, inner_0, outer_1, inner_1, ...).
        """
        return _api.layout_tile(self, outer, _shape(outer_shape), _shape(inner_shape), analyzer)

    def tile_to(self, to_shape, current_shape, analyzer=None) -> Layout:
        """`tile` with a row-major outer on m, so that the result has shape `to_shape`."""
        return _api.layout_tile_to(self, _shape(to_shape), _shape(current_shape), analyzer)

    def direct_sum(self, left, left_shape, right_shape, analyzer=None) -> Layout:
        """T(x | y) = left(x) + self(y), dimensions interleaved, nothing scaled."""
        return _api.layout_direct_sum(self, left, _shape(left_shape), _shape(right_shape), analyzer)

    def is_tile_inner(self, tiled, tiled_shape, inner_shape, analyzer=None):
        """The outer with `self.tile(outer, ...)` equal to `tiled`, or None when there is none."""
        return _api.layout_tile_outer_of(tiled, self, _shape(tiled_shape), _shape(inner_shape), analyzer)

    def is_tile_outer(self, tiled, tiled_shape, outer_shape, analyzer=None):
        """The inner with `inner.tile(self, ...)` equal to `tiled`, or None when there is none."""
        return _api.layout_tile_inner_of(tiled, self, _shape(tiled_shape), _shape(outer_shape), analyzer)

    def is_direct_sum_right(self, total, interleaved_shape, right_shape, analyzer=None):
        """The left with `self.direct_sum(left, ...)` equal to `total`, or None.

        `interleaved_shape` is (left_0, right_0, left_1, right_1, ...).
        """
        return _api.layout_sum_left_of(total, self, _shape(interleaved_shape), _shape(right_shape), analyzer)

    def is_direct_sum_left(self, total, interleaved_shape, left_shape, analyzer=None):
        """The right with `right.direct_sum(self, ...)` equal to `total`, or None."""
        return _api.layout_sum_right_of(total, self, _shape(interleaved_shape), _shape(left_shape), analyzer)

    def pack(self, num, analyzer=None) -> Layout:
        """`num` consecutive, aligned elements become one."""
        return _api.layout_pack(self, num, analyzer)

    def unpack(self, num, analyzer=None) -> Layout:
        """Every element becomes `num` consecutive smaller ones."""
        return _api.layout_unpack(self, num, analyzer)

    def recast(self, from_bits, to_bits, analyzer=None) -> Layout:
        """The same bits seen as elements of `to_bits` instead of `from_bits` (4 and 6 included)."""
        return _api.layout_recast(self, from_bits, to_bits, analyzer)

    def broadcast(self, num, position=-1, axis="m") -> Layout:
        """A stride-0 iter of extent `num` inserted before shard iter `position` (-1: after the last)."""
        return _api.layout_broadcast(self, check_number(num), position, axis)

    def convert_axes(self, *axes, analyzer=None) -> Layout:
        """Thread axes re-expressed on `axes`, for instance tid_in_wg on ("wid_in_wg", "laneid")."""
        return _api.layout_convert_axes(self, list(axes), analyzer)

    def contiguous_run(self, shape, dim=-1, limit=1 << 30, analyzer=None) -> int:
        """Largest power of two v <= limit such that every aligned run of v elements along `dim` of `shape`
        is consecutive on m, has one owner and starts at a multiple of v (in elements)."""
        return _api.layout_contiguous_run(self, _shape(shape), dim, limit, analyzer)

    def storage(self) -> Layout:
        """What one owner stores: the parts on memory axes."""
        return _api.layout_storage(self)

    def owners(self) -> TileLayout:
        """Who owns: the parts on thread axes."""
        return _api.layout_owners(self)

    def get_scope(self):
        """(owner kind, team kind), for instance ("thread", "warp"), or None without thread axes."""
        pair = list(_api.layout_scope(self))
        return (str(pair[0]), str(pair[1])) if pair else None

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
        return str(_api.layout_text(self))


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
        re, rs, ra = zip(*spec.replica) if spec.replica else ((), (), ())
        self.__init_handle_by_constructor__(_api.layout_make, e, s, a, re, rs, ra, offset)

    @staticmethod
    def from_iters(shard=(), replica=(), offset=None) -> TileLayout:
        """From Iter objects."""
        return _api.TileLayout(list(shard), list(replica), dict(offset or {}))

    @staticmethod
    def trainium(annotation, shape, is_psum=False) -> TileLayout:
        """See layout_library.trainium_layout."""
        from .layout_library import trainium_layout

        return trainium_layout(annotation, shape, is_psum)

    def to_psum(self) -> TileLayout:
        """See layout_library.to_psum."""
        from .layout_library import to_psum

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
        self.__init_handle_by_constructor__(
            _api.ComposeLayout, per_element, swizzle_len, atom_len, tile_layout
        )

    @property
    def period(self) -> int:
        """Elements after which the swizzle repeats; a buffer's start must be a multiple of it."""
        return 1 << (self.per_element + self.swizzle_len + self.atom_len)

    def __repr__(self):
        return str(self)


def parse(text: str) -> Layout:
    """The layout that `str(layout)` or `repr(layout)` wrote (constants only)."""
    import ast

    names = {"S": S, "R": R, "TileLayout": TileLayout, "ComposeLayout": ComposeLayout, **Axis._known}
    allowed = (ast.Expression, ast.Add, ast.MatMult, ast.USub, ast.BinOp, ast.UnaryOp, ast.Tuple, ast.Load,
               ast.Subscript, ast.Slice, ast.Name, ast.Constant, ast.Call)  # fmt: skip
    try:
        tree = ast.parse(text.strip(), mode="eval")
        for node in ast.walk(tree):
            known = not isinstance(node, ast.Name) or node.id in names
            plain = not isinstance(node, ast.Constant) or type(node.value) is int
            if not (isinstance(node, allowed) and known and plain):
                raise SyntaxError(f"{ast.unparse(node)} is not layout notation")
        value = eval(
            compile(tree, "<layout>", "eval"), {"__builtins__": {}}, names
        )  # names and shape checked
    except (SyntaxError, TypeError, AttributeError) as e:
        raise LayoutError(
            "this is no layout", code="bad-notation", found=f"{text!r}: {e}",
            required="S[shape : strides] + R[extents : strides] + offset, for instance "
            "S[(8, 4) : (4@laneid, 1)] + R[2 : 4@warpid]",
        ) from None  # fmt: skip
    return value if isinstance(value, Layout) else TileLayout(value)


def equivalent(a, b, analyzer=None):
    """Whether two layouts have the same placements. The answer is true or false and, when false, has
    `kind` ("size" or "place") and `index`, the first linear index whose places differ."""
    return Equivalence(*list(_api.layout_difference(a, b, analyzer)))


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


_LIBRARY = (
    "SwizzleMode", "mma_fragment_layout", "mma_shared_layout", "tcgen05_atom_layout",
    "tmem_datapath_layout", "wg_local_layout",
)  # fmt: skip


def __getattr__(name):
    if name in _LIBRARY:
        from . import layout_library

        return getattr(layout_library, name)
    if name in Axis._known:  # registered after this module was loaded
        return Axis._known[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


globals().update(Axis._known)
__all__ = [
    "Axis",
    "ComposeLayout",
    "Iter",
    "Layout",
    "R",
    "S",
    "TileLayout",
    "equivalent",
    "parse",
    "placements",
]
__all__ += [*_LIBRARY, *Axis._known]
