"""What kernel code can do with a Buffer: views of its storage, pointers, element access.

A view is a new Buffer with the same `data` variable, declared by a DeclBuffer statement of the kernel
being parsed. Mixed into ir.Buffer.
"""

from __future__ import annotations

from math import gcd

from . import _ffi_api as _api
from .errors import LayoutError, TypeMismatch


class BufferMethods:
    """Methods of ir.Buffer."""

    __slots__ = ()

    def __getitem__(self, keys):
        """buffer[i, j] is a load, buffer[a:b, j] a region (the operand of a tile call)."""
        from .script.builder import here
        from .script.index import index

        return index(self, keys, here())

    def __setitem__(self, keys, value):
        """Emit the store buffer[keys] = value."""
        from .script.builder import current
        from .script.index import store

        builder = current("a store")
        builder.emit(store(self, keys, value, builder.span()))

    def view(self, *shape, layout=None):
        """The same storage under another shape (one -1 is inferred) and layout, or as another dtype.

        view(64, -1), view(128, 64, layout=...), view("float16").
        """
        if len(shape) == 1 and not isinstance(shape[0], int) and _is_dtype(shape[0]):
            return self._as_dtype(str(shape[0]))
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = tuple(shape[0])
        if layout is None:
            shape = self._reshaped(shape)
            layout = self.layout
        return self._redeclare(shape, layout)

    def _reshaped(self, shape):
        """`shape` with its -1 filled in; an error when the sizes are constants that differ."""
        from .script.index import shape_of

        old, new = shape_of(self), list(shape)
        if -1 in [e for e in new if isinstance(e, int)]:
            at = new.index(-1)
            new[at] = _product(old) // _product(new[:at] + new[at + 1 :])
        have, want = _product(old), _product(new)
        if isinstance(have, int) and isinstance(want, int) and have != want:
            raise TypeMismatch(
                f"a view of {self.name} has another number of elements",
                code="view-size", span=_here(), found=f"{list(shape)}: {want} elements",
                required=f"{list(old)}: {have} elements",
                hint="pass layout= for a view of part of the storage",
            )  # fmt: skip
        return new

    def _as_dtype(self, dtype):
        """The bits of the last dimension read as `dtype`; exact for all widths, or refused."""
        from .script.index import shape_of

        old, new = _bits(self.dtype), _bits(dtype)
        unit = gcd(old, new)
        shape, fine, num = list(shape_of(self)), old // unit, new // unit
        shape[-1] = self._in_elements(shape[-1], fine, num, dtype, "the last dimension")
        offset = self._in_elements(_plain(self.elem_offset), fine, num, dtype, "the start")
        layout = self.layout and self.layout.recast(old, new)
        return self._redeclare(shape, layout, dtype=dtype, elem_offset=offset)

    def _in_elements(self, count, fine, num, dtype, what):
        """A count of elements in those of the new dtype, num of the common unit each."""
        from .script.views import divisor

        if divisor(count) * fine % num:
            raise TypeMismatch(
                f"{what} of {self.name} does not divide into {dtype}",
                code="view-dtype", span=_here(), found=f"{count} elements of {self.dtype}",
                required=f"a multiple of {num}",
            )  # fmt: skip
        return count * fine // num

    def local(self, *shape, layout=None):
        """The part of a distributed buffer that one thread holds, as (by default) a flat array."""
        own = self.layout
        if own is None and not (shape and layout is not None):
            raise LayoutError(
                f"{self.name} has no layout, so there is no part of it that belongs to a thread",
                code="local-without-layout", span=_here(), found=f"{self.name}.local()",
                required="a buffer with a layout over thread axes, or a shape and layout=",
            )  # fmt: skip
        if layout is None:
            span = _plain(own.storage().span())
            shape = self._local_shape(shape, span) if shape else (span,)
        elif not shape:
            shape = (_plain(own.storage().size()),)
        return self._redeclare(shape, layout)

    def _local_shape(self, shape, span):
        if isinstance(span, int) and _product(shape) != span:
            raise TypeMismatch(
                f"a thread holds another number of elements of {self.name}",
                code="view-size", span=_here(), found=f"{list(shape)}", required=f"{span} elements",
            )  # fmt: skip
        return shape

    def permute(self, *dims):
        """The same elements with dimensions in another order."""
        from .script.index import shape_of

        shape = shape_of(self)
        if sorted(dims) != list(range(len(shape))):
            raise TypeMismatch(
                f"permute of {self.name} needs each dimension once",
                code="bad-permutation", span=_here(), found=str(dims),
                required=f"an order of 0..{len(shape) - 1}",
            )  # fmt: skip
        grouped, seps = self._layout().group(list(shape))
        return self._redeclare([shape[d] for d in dims], grouped.permute_by_groups(seps, list(dims)))

    def _layout(self):
        """The layout, row-major when none was given."""
        from .layout import S, TileLayout

        return self.layout if self.layout is not None else TileLayout(S[tuple(self.shape)])

    @property
    def sub(self):
        """sub[2, 4:8, ::4]: a view; an index drops its dimension, slices narrow (with a step: stride) it."""
        from .script.views import SubIndexer

        return SubIndexer(self)

    def ptr_to(self, indices):
        """Pointer to the element at `indices`."""
        load = self[tuple(indices)] if isinstance(indices, (tuple, list)) else self[indices]
        return _api.call("handle", "tx.address_of", [load], {}, _here())

    def access_ptr(self, mask="rw", offset=0):
        """Pointer to the first element (plus `offset` elements); mask ("r", "w", "rw") documents the use."""
        from .script.index import shape_of

        flat = self if len(self.shape) == 1 else self._redeclare([_product(shape_of(self))], self.layout)
        if set(str(mask)) - set("rw"):
            raise TypeMismatch(
                "an access is r, w or rw",
                code="bad-access", span=_here(), found=repr(mask), required='"r", "w" or "rw"',
            )  # fmt: skip
        return flat.ptr_to([offset])

    def vload(self, begin, dtype=None):
        """Load the vector of `dtype` that starts at `begin`."""
        return _api.BufferLoad(self, self._vector(begin, dtype or self.dtype), _here())

    def vstore(self, begin, value):
        """Emit a store of all lanes of `value`, starting at `begin`."""
        from .script.builder import current

        builder = current("a store")
        keys = self._vector(begin, value.dtype)
        builder.emit(_api.BufferStore(self, value, keys, builder.span()))

    def _vector(self, begin, dtype):
        keys = list(begin) if isinstance(begin, (tuple, list)) else [begin]
        lanes = _bits(dtype) // _bits(self.dtype)
        if lanes > 1:
            keys[-1] = _api.ramp(keys[-1], 1, lanes, _here())
        return keys

    def _redeclare(self, shape, layout, dtype=None, elem_offset=None):
        from .script.views import declare

        return declare(self, shape, layout, dtype=dtype, elem_offset=elem_offset)


def _here():
    from .script.builder import here

    return here()


def _plain(value):
    from .script.index import plain_int

    return plain_int(value)


def _product(extents):
    out = 1
    for extent in extents:
        out = out * extent
    return _plain(out)


def _is_dtype(value):
    return isinstance(value, str) or hasattr(value, "bits") or type(value).__name__ == "DType"


def _bits(dtype) -> int:
    """Bits of one value, all lanes."""
    import tvm_ffi

    d = tvm_ffi.dtype(str(dtype))
    return d.bits * d.lanes
