"""A bump allocator over the CTA's dynamic shared memory."""

from __future__ import annotations

from ..errors import TypeMismatch
from ..script import t as T  # noqa: N812
from ..script.builder import here


def _bytes(shape, dtype) -> int:
    """Bytes of a tile, 4- and 6-bit elements packed; the extents must be constants."""
    import tvm_ffi

    bits = tvm_ffi.dtype(str(dtype)).bits * tvm_ffi.dtype(str(dtype)).lanes
    for extent in shape:
        if not isinstance(extent, int):
            raise TypeMismatch(
                "shared memory has a constant size",
                code="shared-size-not-constant",
                span=here(),
                found=str(extent),
                required="constant extents",
            )
        bits *= extent
    return -(-bits // 8)


def required_alignment(layout, dtype, size: int) -> int:
    """Bytes that the base of a tile must be a multiple of.

    A swizzle permutes addresses inside blocks of its period (256, 512 and 1024 bytes for the 32-, 64- and
    128-byte modes), so it is only what it says when the base is a multiple of that. Other tiles are aligned
    for bulk copies (PTX ISA, cp.async.bulk: 128 bytes) or, when small, for vectors of 16 bytes.
    """
    if layout is not None and layout.is_swizzle():
        return max(128, _bytes([layout.period], dtype))
    return 128 if size >= 128 else 16


@T.meta_class
class SMEMPool:
    """Hands out consecutive pieces of dynamic shared memory.

    offset: where the next piece starts (bytes, before alignment); max_offset: the most that was ever in use.
    """

    def __init__(self):
        self.offset, self.max_offset = 0, 0

    def alloc(self, shape, dtype="float32", align=0, layout=None):
        """A buffer in shared.dyn at the next suitably aligned offset (align in bytes: at least this)."""
        shape = list(shape) if isinstance(shape, (tuple, list)) else [shape]
        size = _bytes(shape, dtype)
        align = max(align, required_alignment(layout, dtype, size))
        self.offset = -(-self.offset // align) * align
        buffer = T.alloc_buffer(
            shape, dtype, scope="shared.dyn", layout=layout, align=align, allocated_addr=self.offset
        )
        self.move_base_to(self.offset + size)
        return buffer

    def alloc_mma(self, shape, dtype="float16", swizzle_mode="auto", align=0):
        """A tile (..., rows, K) that matrix instructions read: K contiguous, swizzled ("auto": 128 bytes)."""
        from ..layout import SwizzleMode, mma_shared_layout

        if isinstance(swizzle_mode, str):
            name = {"auto": "SWIZZLE_128B_ATOM", "none": "SWIZZLE_NONE"}.get(swizzle_mode, swizzle_mode)
            swizzle_mode = getattr(SwizzleMode, name)
        return self.alloc(shape, dtype, align, mma_shared_layout(dtype, swizzle_mode, shape))

    alloc_tcgen05_mma_AB = alloc_mma  # noqa: N815

    def move_base_to(self, offset):
        """Continue at `offset` bytes: pieces handed out from there may share storage with earlier ones."""
        self.offset = offset
        self.max_offset = max(self.max_offset, offset)

    def commit(self, size=None):
        """The end of allocation. size: a bound (bytes) that the pool must stay within."""
        if size is not None and size < self.max_offset:
            raise TypeMismatch(
                "the pool holds more than its size",
                code="pool-overflow",
                span=here(),
                found=f"{self.max_offset} bytes allocated",
                required=f"at most {size}",
            )
