"""Pools and pipeline state."""

import pytest
from script_helpers import body_of, check, round_trip  # noqa: F401

from tirx import errors, ir
from tirx.lang import PipelineState, SMEMPool
from tirx.layout import SwizzleMode, mma_shared_layout
from tirx.script import T


def allocations(func):
    return [s.buffer for s in body_of(func) if isinstance(s, ir.AllocBuffer)]


def test_pool_hands_out_aligned_pieces():
    @T.prim_func
    def f():
        T.device_entry()
        pool = T.SMEMPool()
        a = pool.alloc((3,), "float32")
        b = pool.alloc((64, 8), "float16")
        c = pool.alloc((4,), "float4_e2m1fn", align=64)
        pool.move_base_to(0)
        d = pool.alloc((16,), "int8")
        pool.commit()

    got = [(b.name, b.allocated_addr.value, b.align, b.scope) for b in allocations(f)]
    assert got == [
        ("a", 0, 16, "shared.dyn"),
        ("b", 128, 128, "shared.dyn"),
        ("c", 1152, 64, "shared.dyn"),
        ("d", 0, 16, "shared.dyn"),
    ]


@pytest.mark.parametrize(
    "mode, align", [("NONE", 128), ("32B_ATOM", 256), ("64B_ATOM", 512), ("128B_ATOM", 1024)]
)
def test_a_swizzled_tile_starts_at_a_whole_swizzle_block(mode, align):
    """An offset of 128 bytes is fine for an unswizzled tile and moves to the next block for a swizzled one."""
    layout = mma_shared_layout("float16", SwizzleMode["SWIZZLE_" + mode], (64, 64))

    @T.prim_func
    def f():
        T.device_entry()
        pool = SMEMPool()
        first = pool.alloc((128,), "int8")
        tile = pool.alloc((64, 64), "float16", layout=layout)

    assert allocations(f)[1].allocated_addr.value == align


def test_matrix_tiles():
    @T.prim_func
    def f():
        T.device_entry()
        pool = SMEMPool()
        a = pool.alloc_mma((2, 64, 64), "float16")
        b = pool.alloc_tcgen05_mma_AB((64, 32), "float16", "none")

    a, b = allocations(f)
    expected = mma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (2, 64, 64))
    assert ir.structural_equal(a.layout, expected) and b.allocated_addr.value == 2 * 64 * 64 * 2


def test_pool_size():
    def make(size):
        @T.prim_func
        def f():
            T.device_entry()
            pool = SMEMPool()
            a = pool.alloc((64,), "float32")
            pool.commit(size)

        return f

    make(256)
    with pytest.raises(errors.TypeMismatch, match="more than its size"):
        make(255)


def test_symbolic_sizes_are_refused():
    with pytest.raises(errors.TypeMismatch, match="constant size"):

        @T.prim_func
        def f(n: T.int32):
            pool = SMEMPool()
            pool.alloc((n, 4), "float32")


def test_pipeline_state():
    @T.prim_func
    def f(A: T.Buffer((8,), "int32")):
        T.device_entry()
        state = PipelineState(4, 1)
        for k in T.serial(8):  # noqa: B007
            A[state.stage] = state.phase
            state.advance()
        one = PipelineState(1)
        one.init(0)
        one.advance()

    check(
        f,
        """
@T.prim_func
def f(a: T.handle):
    A = T.match_buffer(a, (8,), "int32")
    T.device_entry()
    stage = T.alloc_buffer((1,), "int32", scope="local")
    phase = T.alloc_buffer((1,), "int32", scope="local")
    stage[0] = 0
    phase[0] = 1
    for k in T.serial(8):  # noqa: B007
        A[stage[0]] = phase[0]
        stage[0] = stage[0] + 1
        if stage[0] == 4:
            stage[0] = 0
            phase[0] = phase[0] ^ 1
    s1 = T.alloc_buffer((1,), "int32", scope="local")
    p1 = T.alloc_buffer((1,), "int32", scope="local")
    s1[0] = 0
    p1[0] = 0
    p1[0] = p1[0] ^ 1
""",
    )
