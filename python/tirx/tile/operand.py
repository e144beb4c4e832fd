"""Operands of tile calls: what a region says, before and after its layout is looked at.

An `Operand` has the region's starts and extents (without dimensions given by a scalar index) and its
buffer's facts. A `View` is an operand sliced to integer iterators: per logical dimension a list of (extent,
memory stride, thread stride), a base offset, and what is known about its alignment. All thread axes of a
layout are folded into one coordinate, the thread's number in the team of the call: laneid counts 1, warps 32,
warpgroups 128 (tid_in_wg = 32 * wid_in_wg + laneid).

Strides are ints, or `Sym` when the buffer has symbolic extents. A view's extents are ints: a symbolic
extent is represented by its largest value, the box, and guarded when code is emitted.
"""

from __future__ import annotations

from math import gcd

from .. import _ffi_api as _api
from ..ir import Buffer
from .builder import as_int, expr_text, plus, times
from .registry import fail

# Threads per step of each thread axis, and the scopes inside which the axis lies.
THREAD_AXES = {
    "laneid": (1, ("warp", "warpgroup", "cta")),
    "tid_in_wg": (1, ("warpgroup", "cta")),
    "wid_in_wg": (32, ("warpgroup", "cta")),
    "tx": (1, ("cta",)),
    "warpid": (32, ("cta",)),
    "wgid": (128, ("cta",)),
}
LARGEST_BOX = 1 << 20  # elements of one dimension; larger or unbounded extents have no box
STORAGE_ALIGN = 16  # bytes: kernel parameters and allocations without align= (include/tirx/ir/buffer.h)


class Sym:
    """A symbolic stride: its expression and its largest known divisor."""

    __slots__ = ("expr", "divisor")

    def __init__(self, expr, divisor=1):
        self.expr, self.divisor = expr, divisor


def stride_divisor(stride) -> int:
    """Largest known divisor of a stride (0 for stride 0)."""
    return stride.divisor if isinstance(stride, Sym) else abs(stride)


def stride_times(stride, k):
    """stride * k; the result is a Sym as soon as one factor is symbolic."""
    if type(stride) is int and type(k) is int:
        return stride * k
    left = stride if isinstance(stride, Sym) else Sym(stride, stride)
    right = k if isinstance(k, Sym) else Sym(k, k if type(k) is int else 1)
    return Sym(times(right.expr, left.expr), left.divisor * right.divisor)


class BufferFacts:
    """What does not depend on the region: bits, space ("global", "shared", "local"), shape, thread axes,
    replicas and offsets of the layout, swizzle (per_element, bits, shift), alignment `align_bits` up to
    the symbolic `offsets` [(expression, bits per unit)]."""

    __slots__ = (
        "bits", "scope", "space", "shape", "align_bits", "swizzle", "layout", "replica", "offset", "offsets",
        "axes", "_dims", "_flat",
    )  # fmt: skip

    def __init__(self, buffer):
        dtype = buffer.dtype
        self.bits, self.scope = dtype.bits * dtype.lanes, str(buffer.scope)
        self.space = "shared" if self.scope.startswith("shared") else self.scope
        self.shape = [int_or_expr(n) for n in buffer.shape]
        self.align_bits = _base_alignment(buffer, self)
        self.swizzle, self.layout, self.replica, self.offset = None, None, (), {}
        self.axes, self._dims, self._flat = frozenset(), None, None
        if buffer.layout is not None:
            self._read_layout(buffer.layout)

    def _read_layout(self, layout):
        if hasattr(layout, "swizzle_len"):
            self.swizzle = (layout.per_element, layout.swizzle_len, layout.atom_len)
            layout = layout.tile_layout
        self.layout, self.offset = layout, _offsets(layout)
        self.replica = tuple(_iter_of(it) for it in layout.replica)
        used = [str(it.axis) for it in layout.shard] + [axis for _, _, axis in self.replica]
        self.axes = frozenset(axis for axis in [*used, *self.offset] if axis != "m")

    def dims(self):
        """Per dimension of the buffer, its iters (extent, stride, axis), outermost first. May decline."""
        if self._dims is None:
            self._dims = _row_major(self.shape) if self.layout is None else _grouped(self.layout, self.shape)
        return self._dims

    def owned(self):
        """Elements of the storage behind the memory coordinate: the largest one plus 1, or None."""
        iters = [it for dim in self.dims() for it in dim] + list(self.replica)
        memory = [(e, s) for e, s, axis in iters if axis == "m"]
        first = self.offset.get("m", 0)
        if type(first) is not int or not all(type(e) is int and type(s) is int for e, s in memory):
            return None
        return sum((e - 1) * s for e, s in memory) + 1 + first

    def flat(self, buffer):
        """The buffer as flat elements over the same data, indexed by memory coordinate."""
        if self._flat is None:
            extent = self.owned()
            if extent is None:
                extent = 1
                for n in self.shape:
                    extent = times(n, extent)
            self._flat = Buffer(
                str(buffer.name), buffer.data, [extent], buffer.dtype, None, self.scope, buffer.elem_offset,
                buffer.align, buffer.allocated_addr, buffer.span,
            )  # fmt: skip
        return self._flat


def int_or_expr(e):
    """The Python int of a constant, else the expression."""
    value = as_int(e)
    return e if value is None else value


def _offsets(layout) -> dict:
    return {str(axis): int_or_expr(v) for axis, v in layout.offset.items()}


def _iter_of(it):
    return int_or_expr(it.extent), int_or_expr(it.stride), str(it.axis)


def _base_alignment(buffer, facts) -> int:
    """Bits that divide the address of element 0, before symbolic offsets."""
    facts.offsets = []
    if buffer.align:
        return buffer.align * 8
    found = STORAGE_ALIGN * 8
    for offset, unit in ((buffer.elem_offset, facts.bits), (buffer.allocated_addr, 8)):
        if offset is None:
            continue
        if as_int(offset) is None:
            facts.offsets.append((offset, unit))
        else:
            found = gcd(found, as_int(offset) * unit)
    return found


def _row_major(shape):
    """One iter per dimension; strides to the left of a symbolic extent are symbolic."""
    dims, stride = [], 1
    for n in reversed(shape):
        dims.append([(n, stride, "m")])
        stride = stride_times(stride, n)
    return dims[::-1]


def _grouped(layout, shape, analyzer=None):
    """Per dimension of `shape` the iters of a TileLayout that make it up (paper 5.1, group)."""
    grouped, *seps = _api.layout_group(layout, shape, analyzer)
    iters = [_iter_of(it) for it in grouped.shard]
    return [iters[i:j] for i, j in zip(seps, seps[1:])]


_FACTS: dict = {}


def facts_of(buffer) -> BufferFacts:
    """The facts of a buffer, computed once per buffer node."""
    facts = _FACTS.get(buffer)
    if facts is None:
        if len(_FACTS) >= 4096:
            _FACTS.clear()
        facts = _FACTS[buffer] = BufferFacts(buffer)
    return facts


class Operand:
    """A buffer region of a call: name in the signature, buffer, facts; per kept dimension the extent (int or
    expression); per dimension of the buffer the start; `kept`: the buffer dimensions that count."""

    __slots__ = ("name", "region", "buffer", "facts", "starts", "extents", "kept")

    def __init__(self, name, region):
        self.name, self.region, self.buffer = name, region, region.buffer
        self.facts = facts_of(region.buffer)
        squeezed = set(region.squeezed)
        ranges = list(region.region)
        self.starts = [int_or_expr(r.min) for r in ranges]
        self.kept = [i for i in range(len(ranges)) if i not in squeezed]
        self.extents = [int_or_expr(ranges[i].extent) for i in self.kept]

    @property
    def space(self) -> str:
        """The memory: "global", "shared" or "local"."""
        return self.facts.space

    @property
    def distributed(self) -> bool:
        """Whether different threads of the team own its elements."""
        return bool(self.facts.axes)

    def storage(self, ctx):
        """What scalar_loops() indexes: the thread's own registers if distributed, else the buffer."""
        return ctx.local_view(self.buffer) if self.distributed else self.buffer

    def describe(self) -> str:
        """`float16[32, 32] shared`"""
        return f"{self.buffer.dtype}[{', '.join(map(expr_text, self.extents))}] {self.facts.scope}"


def box_of(operands, ctx):
    """(extents, limits): the largest constant extent of each dimension, and {dimension: expression} for the
    symbolic ones. Declines when a symbolic extent has no useful bound."""
    extents, limits = list(operands[0].extents), {}
    for d, e in enumerate(extents):
        if type(e) is int:
            continue
        limits[d] = e
        wholes = [op.facts.shape[op.kept[d]] for op in operands]
        extents[d] = _largest(e, [n for n in wholes if type(n) is int], ctx)
    return extents, limits


def _largest(extent, wholes, ctx) -> int:
    bound = ctx.analyzer.bound(extent)
    largest = min([bound[1], *wholes])
    if largest > LARGEST_BOX:
        fail(f"the extent {expr_text(extent)} has no constant bound")
    return max(int(largest), 1)


class View:
    """An operand as integer iterators over a box of extents.

    dims: per kept dimension the iters (extent, memory stride, thread stride), one of the strides 0; base:
    elements from the flat buffer's element 0 to the region's first (int or expression); threads: thread
    coordinate of the first element; replica: iters (extent, memory stride, thread stride); divisor: of
    base, in elements; align: bytes that divide the address of the flat buffer's element 0.
    """

    __slots__ = ("op", "dims", "base", "threads", "replica", "divisor", "align")

    def __init__(self, op, extents, ctx):
        self.op, self.base, self.threads = op, 0, 0
        box, facts = dict(zip(op.kept, extents)), op.facts
        wanted = [box.get(i, 1) for i in range(len(op.starts))]
        dims, offset = self._slice(facts, wanted, ctx)
        self.dims = [[(e, *_split_axis(_known(s, ctx), axis)) for e, s, axis in dims[i]] for i in op.kept]
        for axis, steps in offset:
            self._advance(steps, axis)
        self.replica = tuple((e, *_split_axis(s, axis)) for e, s, axis in facts.replica)
        self.divisor = abs(self.base) if type(self.base) is int else ctx.analyzer.divisor(self.base)
        bits = facts.align_bits
        for e, unit in facts.offsets:
            bits = gcd(bits, ctx.analyzer.divisor(e) * unit)
        self.align = bits // 8 or fail(f"{op.name} does not start on a whole byte")

    def _slice(self, facts, wanted, ctx):
        """(iters per dimension, offsets [(axis, steps)]) of the box at op.starts.

        Whole dimensions and single iters, almost every region, are taken here: start times stride. The call
        of the algebra for them would cost 10 us, and a kernel has hundreds of operands.
        """
        dims, offset = [], list(facts.offset.items())
        for iters, start, extent, whole in zip(facts.dims(), self.op.starts, wanted, facts.shape):
            if type(start) is int and start == 0 and extent == whole:
                dims.append(iters)
            elif len(iters) == 1:
                _, stride, axis = iters[0]
                dims.append([(extent, stride, axis)])
                offset.append((axis, times(start, stride.expr if isinstance(stride, Sym) else stride)))
            else:
                return self._slice_layout(facts, wanted, ctx)
        return dims, offset

    def _slice_layout(self, facts, wanted, ctx):
        """The general slice (paper 5.1), which declines when the box is not a layout."""
        part = _api.layout_slice(facts.layout, facts.shape, self.op.starts, wanted, ctx.analyzer)
        return _grouped(part, wanted, ctx.analyzer), list(_offsets(part).items())

    def _advance(self, steps, axis):
        """Move the first element by `steps` along an axis."""
        if axis == "m":
            self.base = plus(self.base, steps)
        elif type(steps) is int:
            self.threads += _split_axis(steps, axis)[1]
        else:
            fail(f"{self.op.name} starts at a run-time position along the threads that own it")

    @property
    def bits(self) -> int:
        """Bits of an element."""
        return self.op.facts.bits

    @property
    def space(self) -> str:
        """The memory: "global", "shared" or "local"."""
        return self.op.facts.space

    @property
    def distributed(self) -> bool:
        """Whether different threads of the team own its elements."""
        return self.op.distributed

    @property
    def name(self) -> str:
        """The operand's name in the primitive's signature."""
        return self.op.name

    @property
    def swizzle(self):
        """(per_element, bits, shift) or None."""
        return self.op.facts.swizzle

    def flat(self, ctx):
        """The flat buffer that `base` and the memory strides index."""
        if self.space == "local":
            return ctx.local_view(self.op.buffer)
        return self.op.facts.flat(self.op.buffer)

    def signature(self):
        """What a partition depends on, hashable; None when a stride is symbolic."""
        if any(isinstance(s, Sym) for dim in self.dims for _, s, _ in dim):
            return None
        f = self.op.facts
        dims = tuple(tuple(dim) for dim in self.dims)
        return (dims, gcd(self.divisor, 64), self.threads, self.replica, f.bits, f.space, f.swizzle, self.align,
                bool(f.axes))  # fmt: skip


def _known(stride, ctx):
    """A symbolic stride with the divisor that the facts at the call prove."""
    return Sym(stride.expr, ctx.analyzer.divisor(stride.expr)) if isinstance(stride, Sym) else stride


def _split_axis(stride, axis):
    """(memory stride, thread stride)"""
    if axis == "m":
        return stride, 0
    if axis not in THREAD_AXES or type(stride) is not int:
        fail(f"axis {axis} does not number threads of a CTA")
    return 0, stride * THREAD_AXES[axis][0]
