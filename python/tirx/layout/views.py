"""Views of a buffer's elements: a layout read against a shape.

    view(mma_shared_layout("bfloat16", SwizzleMode.SWIZZLE_128B_ATOM, (64, 64)), (64, 64), bits=16)
        .narrow(0, 8, 24).recast(32).select(1, 3)

Every method gives the view whose element at a coordinate has exactly the places of the elements that the
coordinate names in the old one, or raises LayoutError with the reason: a box that is no layout, dimensions
that share an iter, elements of the new width that would not be consecutive and aligned in the old storage.
Swizzles, padding, replicas and symbolic extents are carried along. Nothing is copied.
"""

from __future__ import annotations

from math import gcd, prod

from ..errors import LayoutError
from .notation import Axis, check_number, listed
from .tile import ComposeLayout, Iter, Layout, TileLayout, _int


def view(layout, shape, bits=None) -> LayoutView:
    """`layout` as a tile of `shape`; `bits` is the width of an element, which only `recast` asks for."""
    return LayoutView(layout, shape, bits)


def _refuse(message, code, found, required, hint=None):
    raise LayoutError(message, code=code, found=found, required=required, hint=hint)


def _is_int(*numbers):
    return all(isinstance(n, int) for n in numbers)


class LayoutView:
    """layout: a TileLayout or ComposeLayout; shape: one int or expression per dimension, whose product is
    the layout's size; bits: bits of an element, or None."""

    __slots__ = ("layout", "shape", "bits", "analyzer")

    def __init__(self, layout, shape, bits=None, analyzer=None):
        if not isinstance(layout, Layout):
            _refuse("a view needs a layout", "unknown-layout", f"{layout!r}", "a TileLayout or ComposeLayout")
        self.layout, self.bits, self.analyzer = layout, bits, analyzer
        self.shape = tuple(_int(check_number(n)) for n in listed(shape))
        if bits is not None and not (_is_int(bits) and 1 <= bits <= 64):
            _refuse("elements have 1 to 64 bits", "bad-dtype", f"{bits!r}", "1 <= bits <= 64")
        self._check_size()

    def _check_size(self):
        size = _int(self.layout.size())
        if not _is_int(size, *self.shape):
            return
        if prod(self.shape) != size or min(self.shape, default=1) < 1:
            found = f"shape {self.shape} with {prod(self.shape)} elements"
            _refuse("the shape does not have as many elements as the layout", "size-mismatch", found,
                    f"positive extents of product {size}")  # fmt: skip

    def _with(self, layout, shape, bits=None):
        return LayoutView(layout, shape, self.bits if bits is None else bits, self.analyzer)

    def given(self, analyzer) -> LayoutView:
        """This view with the facts of a tirx.arith.Analyzer about its variables."""
        return LayoutView(self.layout, self.shape, self.bits, analyzer)

    def _dim(self, dim, extra=0):
        rank = len(self.shape) + extra
        if not isinstance(dim, int) or not -rank <= dim < rank:
            _refuse("the view has no such dimension", "out-of-range", f"dimension {dim} of {self.shape}",
                    f"-{rank} <= dimension < {rank}")  # fmt: skip
        return dim % rank

    def __call__(self, *coord) -> dict:
        """{axis: coordinate} of the element's first place."""
        return self.layout.apply(*coord, shape=self.shape, analyzer=self.analyzer)

    # --- dimensions ---

    def narrow(self, dim, start, length) -> LayoutView:
        """Elements [start, start + length) of one dimension."""
        dim, start, length = self._dim(dim), _int(check_number(start)), _int(check_number(length))
        region = [(0, n) for n in self.shape]
        region[dim] = (start, start + length)
        part = self.layout.slice(self.shape, region, analyzer=self.analyzer)
        return self._with(part, (*self.shape[:dim], length, *self.shape[dim + 1 :]))

    def select(self, dim, index) -> LayoutView:
        """One index of a dimension, which goes away. Negative constants count from its end."""
        dim, index = self._dim(dim), _int(check_number(index))
        if isinstance(index, int) and index < 0 and _is_int(self.shape[dim]):
            index += self.shape[dim]
        part = self.narrow(dim, index, 1)
        return self._with(part.layout, (*self.shape[:dim], *self.shape[dim + 1 :]))

    def reshape(self, *shape) -> LayoutView:
        """The elements in the same (row-major) order under another shape; -1 stands for what is left."""
        shape = list(shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape)
        if shape.count(-1) == 1 and _is_int(*shape, *self.shape):
            rest, known = prod(self.shape), -prod(shape)
            if not known or rest % known:
                _refuse("the elements do not fill the shape", "size-mismatch", f"{tuple(shape)} of {self.shape}",
                        f"a divisor of {rest}")  # fmt: skip
            shape[shape.index(-1)] = rest // known
        return self._with(self.layout, shape)

    def flatten(self, first=0, last=-1) -> LayoutView:
        """Dimensions first..last as one."""
        first, last = self._dim(first), self._dim(last)
        merged = 1
        for n in self.shape[first : last + 1]:
            merged = n if _is_int(merged) and merged == 1 else merged * n
        return self._with(self.layout, (*self.shape[:first], merged, *self.shape[last + 1 :]))

    def permute(self, *order) -> LayoutView:
        """Dimension i of the result is dimension order[i]."""
        order = list(order[0] if len(order) == 1 and isinstance(order[0], (list, tuple)) else order)
        grouped, seps = self.layout.group(self.shape, analyzer=self.analyzer)
        order = [self._dim(d) for d in order]
        return self._with(grouped.permute_by_groups(seps, order), [self.shape[d] for d in order])

    def expand(self, dim, length) -> LayoutView:
        """A new dimension before `dim` along which all elements are the same."""
        dim = self._dim(dim, extra=1)
        grouped, seps = self.layout.group(self.shape, analyzer=self.analyzer)
        at = seps[dim] if self.shape else 0
        return self._with(grouped.broadcast(length, at), (*self.shape[:dim], length, *self.shape[dim:]))

    # --- width ---

    def recast(self, bits, dim=-1) -> LayoutView:
        """The same bits as elements of `bits` (1 to 64) along `dim`, whose elements must be consecutive.

        Elements are numbered from the start of the buffer on m (TCol, F), which is taken to be aligned to the
        wider one. Refused: "partial-element" when a row is no whole number of new elements, "not-packable"
        when neighbours are not consecutive and aligned, "swizzle-recast" when a swizzle's chunks would be cut.
        """
        if self.bits is None:
            _refuse("the view does not say how wide its elements are", "no-width", f"{self!r}",
                    "view(layout, shape, bits=...)")  # fmt: skip
        if not _is_int(bits) or not 1 <= bits <= 64:
            _refuse("elements have 1 to 64 bits", "bad-dtype", f"{bits!r}", "1 <= bits <= 64")
        dim = self._dim(dim)
        if dim != len(self.shape) - 1:
            order = [d for d in range(len(self.shape)) if d != dim] + [dim]
            back = sorted(range(len(order)), key=order.__getitem__)
            return self.permute(order).recast(bits).permute(back)
        layout = self.layout.recast(self.bits, bits, analyzer=self.analyzer)
        return self._with(layout, (*self.shape[:-1], self._recast_extent(bits)), bits)

    def _recast_extent(self, bits):
        """The last extent in elements of `bits`."""
        unit, n, facts = gcd(self.bits, bits), self.shape[-1], self.analyzer
        fine, num = self.bits // unit, bits // unit
        known = n if _is_int(n) else facts.divisor(n) if facts else 1
        if known * fine % num:
            _refuse("a row is no whole number of elements of the new width",
                    "partial-element" if _is_int(n) else "unproved",
                    f"{n} elements of {self.bits} bits as {bits}-bit ones", f"a multiple of {num}")  # fmt: skip
        return n * fine // num

    # --- reductions ---

    def reduce(self, dim, length) -> LayoutView:
        """Where results of reducing runs of `length` along `dim` are when every owner of an element of a run
        keeps the result: the threads that share a run become replicas, and each thread's results are dense
        in its own storage, in the order of the memory strides of what they replace."""
        dim = self._dim(dim)
        n = self.shape[dim]
        if not _is_int(n, length) or length < 1 or n % length:
            _refuse("the dimension is no whole number of runs", "not-a-multiple", f"{n} by runs of {length}",
                    "constants that divide")  # fmt: skip
        if isinstance(self.layout, ComposeLayout):
            _refuse("results of a reduction are not stored under the swizzle of its operand", "swizzled",
                    f"{self.layout}", "a TileLayout")  # fmt: skip
        fine = self.reshape(*self.shape[:dim], n // length, length, *self.shape[dim + 1 :])
        grouped, seps = fine.layout.group(fine.shape, analyzer=self.analyzer)
        folded = range(seps[dim + 1], seps[dim + 2])
        shard = [it for i, it in enumerate(grouped.shard) if i not in folded]
        shared = [grouped.shard[i] for i in folded if grouped.shard[i].axis.is_thread()]
        shape = (*self.shape[:dim], n // length, *self.shape[dim + 1 :])
        return self._with(_dense(shard, [*grouped.replica, *shared], grouped.offset), shape)

    # --- what it is ---

    def normal(self) -> LayoutView:
        """The layout in normal form: equal views give equal objects."""
        return self._with(self.layout.canonicalize(analyzer=self.analyzer), self.shape)

    def __repr__(self):
        width = "" if self.bits is None else f", bits={self.bits}"
        return f"view({self.layout!r}, {self.shape}{width})"


def _dense(shard, replica, offset):
    """Thread parts as they are; iters on memory get dense strides on m, smallest old stride first."""
    shard = [Iter(1, 0) if _int(it.extent) == 1 else it for it in shard]
    on_memory = [i for i, it in enumerate(shard) if it.axis.is_memory() and _int(it.stride) != 0]
    if not _is_int(*(_int(shard[i].stride) for i in on_memory)):
        _refuse("the order of the results in storage is not known", "unproved", "symbolic memory strides",
                "constant memory strides")  # fmt: skip
    stride = 1
    for i in sorted(on_memory, key=lambda i: abs(_int(shard[i].stride))):
        shard[i] = Iter(shard[i].extent, stride)
        stride = shard[i].extent * stride
    replica = [it for it in replica if it.axis.is_thread()]
    offset = {a: v for a, v in offset.items() if Axis.get(str(a)).is_thread()}
    return TileLayout.from_iters(shard or [Iter(1, 0)], replica, offset)
