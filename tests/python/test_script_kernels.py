"""Whole kernels parse, and the text of a function parses to the same function."""

import types

import pytest

from tirx import ir, layout
from tirx.script import T, Tx, from_source


def surface():
    """What the kernels take as `s`."""
    return types.SimpleNamespace(T=T, Tx=Tx, **{n: getattr(layout, n) for n in layout.__all__})


def make_scale(s, n=1 << 20, blk=256):
    T, Tx = s.T, s.Tx

    @T.prim_func
    def scale(A_ptr: T.handle, B_ptr: T.handle):
        A = T.match_buffer(A_ptr, (n,), "float32")
        B = T.match_buffer(B_ptr, (n,), "float32")
        T.device_entry()
        bx = T.cta_id([n // (blk * 4)])
        tx = T.thread_id([blk])
        r = T.alloc_local((4,), "float32")
        base: T.let = bx * (blk * 4) + tx * 4
        Tx.copy(r[0:4], A[base : base + 4])
        Tx.mul(r[0:4], r[0:4], T.float32(2.0))
        Tx.copy(B[base : base + 4], r[0:4])

    return scale


SCALE = """
@T.prim_func
def scale(A_ptr: T.handle, B_ptr: T.handle):
    A = T.match_buffer(A_ptr, (1048576,), "float32")
    B = T.match_buffer(B_ptr, (1048576,), "float32")
    T.device_entry()
    bx = T.cta_id([1024])
    tx = T.thread_id([256])
    r = T.alloc_buffer((4,), "float32", scope="local")
    base: T.let = bx * 1024 + tx * 4
    Tx.copy(r[0:4], A[base:base + 4])
    Tx.mul(r[0:4], r[0:4], T.float32(2.0))
    Tx.copy(B[base:base + 4], r[0:4])
"""


def test_a_kernel_made_in_a_closure_equals_its_plain_text():
    assert ir.first_difference(make_scale(surface()), from_source(SCALE)) is None


def test_closure_values_are_read_at_the_decoration():
    assert not ir.structural_equal(make_scale(surface(), n=1 << 19), make_scale(surface()))


@pytest.mark.parametrize("node", ["TilePrimitiveCall", "ScopeIdDef", "AllocBuffer", "Bind"])
def test_every_statement_has_the_span_of_its_line(node):
    func = make_scale(surface())
    lines = open(__file__).read().splitlines()
    found = [s for s in func.body.seq if type(s).__name__ == node]
    assert found
    for stmt in found:
        line = lines[stmt.span.line - 1]
        text = line[stmt.span.column : stmt.span.end_column]
        assert stmt.span.file == __file__ and text and text in line.strip()


def make_mma_gemm(s, M=256, N=256, K=512, BM=32, BN=32, BK=32):
    T, Tx, S, TileLayout, laneid = s.T, s.Tx, s.S, s.TileLayout, s.laneid
    d_frag = TileLayout(S[(2, 8, 4, 2) : (2, 4 @ laneid, 1 @ laneid, 1)])
    a_layout = d_frag.tile_to([16, 16], [16, 8]).tile_to([BM, BK], [16, 16])
    d_layout = d_frag.tile_to([BM, BN], [16, 8])

    @T.prim_func
    def mma_gemm(A_ptr: T.handle, B_ptr: T.handle, D_ptr: T.handle):
        A = T.match_buffer(A_ptr, (M, K), "float16")
        B = T.match_buffer(B_ptr, (N, K), "float16")
        D = T.match_buffer(D_ptr, (M, N), "float32")
        T.device_entry()
        bx, by = T.cta_id([M // BM, N // BN])
        warp = T.warp_id([1])
        As = T.alloc_shared((BM, BK), "float16")
        Af = T.alloc_buffer((BM, BK), "float16", scope="local", layout=a_layout)
        Df = T.alloc_buffer((BM, BN), "float32", scope="local", layout=d_layout)
        Tx.warp.fill(Df[:, :], T.float32(0))
        for k in T.serial(K // BK):
            Tx.cta.copy(As[:, :], A[bx * BM : bx * BM + BM, k * BK : k * BK + BK])
            T.cuda.cta_sync()
            Tx.warp.copy(Af[:, :], As[:, :])
            Tx.warp.gemm(Df, Af, Af, Df, transpose_A=False, transpose_B=True, alpha=1.0, beta=1.0)
        Tx.warp.copy(D[bx * BM : bx * BM + BM, by * BN : by * BN + BN], Df[:, :])

    return mma_gemm


def test_layouts_and_extents_come_from_the_closure():
    func = make_mma_gemm(surface())
    buffers = {s.buffer.name: s.buffer for s in func.body.seq if isinstance(s, ir.AllocBuffer)}
    expected = layout.TileLayout(layout.S[(2, 8, 4, 2) : (2, 4 @ layout.laneid, 1 @ layout.laneid, 1)])
    assert ir.structural_equal(buffers["Df"].layout, expected.tile_to([32, 32], [16, 8]))
    loop = next(s for s in func.body.seq if isinstance(s, ir.For))
    assert loop.extent.value == 16 and loop.loop_var.name == "k"
    gemm = [s for s in loop.body.seq if isinstance(s, ir.TilePrimitiveCall)][-1]
    assert (gemm.op, gemm.scope, list(gemm.args)[4:]) == ("gemm", "warp", [False, True, 1.0, 1.0])
    assert all(isinstance(a, ir.BufferRegion) for a in list(gemm.args)[:4])
    assert ir.first_difference(func, from_source(str(func))) is None
