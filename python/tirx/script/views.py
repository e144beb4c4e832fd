"""Declaring views of a buffer's storage, and the indexer of `buffer.sub[...]`."""

from __future__ import annotations

from .. import _ffi_api as _api
from ..errors import TypeMismatch
from .builder import current, here
from .freeze import frozen
from .index import as_index, const, extent_between, shape_of


def declare(buffer, shape, layout, dtype=None, elem_offset=None):
    """Emit a DeclBuffer that views `buffer`'s storage, and return the new buffer."""
    builder = current("a view")
    span = builder.span()
    name = builder.name(buffer.name + "_view")
    offset = buffer.elem_offset if elem_offset is None else elem_offset
    align = buffer.align if elem_offset is None else _moved_alignment(buffer)
    view = _api.Buffer(
        name, buffer.data, list(shape), dtype or buffer.dtype, layout, buffer.scope, offset, align,
        buffer.allocated_addr, span,
    )  # fmt: skip
    builder.emit(_api.DeclBuffer(view, span))
    return view


def _moved_alignment(buffer) -> int:
    """What is promised of a view that starts elsewhere: the offset says, unless the data is aligned less."""
    return 0 if buffer.align % 16 == 0 else max(1, buffer.dtype.bits // 8)


def divisor(count) -> int:
    """Largest number known to divide an extent or offset."""
    from ..arith import Analyzer

    return abs(count) if isinstance(count, int) else Analyzer().divisor(count)


class SubIndexer:
    """buffer.sub[...]: numpy basic indexing as a view of the storage."""

    __slots__ = ("buffer",)

    def __init__(self, buffer):
        self.buffer = buffer

    def __getitem__(self, keys):
        keys = keys if type(keys) is tuple else (keys,)
        shape = shape_of(self.buffer)
        if len(keys) > len(shape):
            raise TypeMismatch(
                f"too many indices for {self.buffer.name}",
                code="wrong-number-of-indices",
                span=here(),
                found=f"{len(keys)} indices",
                required=f"at most {len(shape)}",
            )
        keys = keys + (slice(None),) * (len(shape) - len(keys))
        parts = [_taken(_part(self.buffer, d, key, shape[d])) for d, key in enumerate(keys)]
        return _rebuild(self.buffer, shape, parts)


def _taken(part):
    """A part whose start and count are the values they have now: a view does not move when they change."""
    builder = current("a view")
    lo, count, step = part
    return frozen(builder, lo, "start"), frozen(builder, count, "extent"), step


def _part(buffer, dim, key, extent):
    """(start, count or None for a dropped dimension, step)."""
    from .index import check_point, check_slice

    span = here()
    if not isinstance(key, slice):
        value = as_index(key, span)
        check_point(buffer, dim, value, extent, span)
        return (value, None, 1)
    step = 1 if key.step is None else key.step
    lo = 0 if key.start is None else as_index(key.start, span)
    if step != 1:
        return (lo, _strided_count(buffer, dim, key, extent, step), step)
    count = extent_between(lo, extent if key.stop is None else as_index(key.stop, span), span)
    check_slice(buffer, dim, lo, count, extent, span)
    return (lo, count, 1)


def _strided_count(buffer, dim, key, extent, step):
    start, size = const(0 if key.start is None else key.start), const(extent)
    known = type(step) is int and step > 0 and size is not None and start is not None and key.stop is None
    if not known or size % step or start >= step:
        raise TypeMismatch(
            f"a strided view of dimension {dim} of {buffer.name} is a::s, a < s, s dividing the extent",
            code="strided-view",
            span=here(),
            found=f"{key.start or 0}:{'' if key.stop is None else key.stop}:{step} of {extent}",
            required="a constant step that divides the constant extent",
        )
    return size // step


def _rebuild(buffer, shape, parts):
    """The view with each dimension's iterators narrowed; exact or refused."""
    layout = buffer.layout
    if layout is None:
        return _rebuild_linear(buffer, shape, parts)
    extents, region = [], []
    for extent, (lo, count, step) in zip(shape, parts):
        if step != 1:  # every step-th element: all of the quotient, one remainder
            extents += [count, step]
            region += [_api.Range(0, count), _api.Range(lo, 1)]
        else:
            extents.append(extent)
            region.append(_api.Range(lo, 1 if count is None else count))
    sliced = layout.slice(extents, region)
    kept = [count for _, count, _ in parts if count is not None]
    return declare(buffer, kept or [1], sliced)


def _rebuild_linear(buffer, shape, parts):
    """A row-major buffer: strides per dimension, starts go into the element offset."""
    from ..layout import S, TileLayout

    offset, stride, dims = buffer.elem_offset, 1, []
    for (lo, count, step), extent in zip(reversed(parts), reversed(shape)):
        offset = _api.add(offset, _api.mul(lo, stride, None), None)
        if count is not None:
            dims.append((count, stride * step))
        stride = stride * extent
    dims.reverse()
    extents, strides = tuple(c for c, _ in dims) or (1,), tuple(s for _, s in dims) or (1,)
    layout = None if _is_row_major(extents, strides) else TileLayout(S[extents:strides])
    return declare(buffer, extents, layout, elem_offset=offset)


def _is_row_major(extents, strides) -> bool:
    expect = 1
    for extent, stride in zip(reversed(extents), reversed(strides)):
        if not isinstance(stride, int) or stride != expect:
            return False
        expect = expect * extent if isinstance(extent, int) else None
    return True
