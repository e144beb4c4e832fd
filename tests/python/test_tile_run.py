"""Data movement end to end: parsed, lowered and run in the simulator of the target."""

import subprocess
import sys

import numpy as np
import pytest

import tirx
from tirx.layout import R, S, TileLayout, laneid, wid_in_wg
from tirx.script import T, Tx

D_FRAG = TileLayout(S[(2, 8, 4, 2) : (2, 4 @ laneid, 1 @ laneid, 1)])


def run(func, *arrays, arch="sm_90a"):
    """Run in the simulator; the arrays are written in place."""
    tirx.compile(func, tirx.Target("cuda", arch=arch), mode="simulate")(*arrays)


def numbers(*shape, dtype=np.float16):
    return np.arange(1, 1 + int(np.prod(shape))).reshape(shape).astype(dtype)


@pytest.mark.parametrize("scope", ["thread", "warp", "wg", "cta"])
def test_every_scope(scope):
    """Each team of the CTA copies its own rows."""
    threads = 256
    teams = {"thread": 256, "warp": 8, "wg": 2, "cta": 1}[scope]
    copy = getattr(Tx, scope).copy

    @T.prim_func
    def f(A_ptr: T.handle, B_ptr: T.handle):
        A = T.match_buffer(A_ptr, (teams, 12), "float32")
        B = T.match_buffer(B_ptr, (teams, 12), "float32")
        T.device_entry()
        tx = T.thread_id([threads])
        team: T.let = tx // (threads // teams)
        copy(B[team : team + 1, :], A[team : team + 1, :])

    a, b = numbers(teams, 12, dtype=np.float32), np.zeros((teams, 12), np.float32)
    run(f, a, b)
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("rows, columns", [(1, 1), (7, 5), (16, 16), (13, 16)])
def test_ragged_tile(rows, columns):
    """Symbolic extents bounded by the tile: guarded, and nothing outside is touched."""

    @T.prim_func
    def f(A_ptr: T.handle, B_ptr: T.handle):
        m, n = T.int32(), T.int32()
        A = T.match_buffer(A_ptr, (m, n), "float16")
        B = T.match_buffer(B_ptr, (32, 32), "float16")
        T.device_entry()
        tx = T.thread_id([32])
        sm = T.alloc_shared((16, 16), "float16")
        r: T.let = T.min(m, 16)
        c: T.let = T.min(n, 16)
        Tx.cta.fill(sm[:, :], 0.0)
        T.cuda.cta_sync()
        Tx.cta.copy(sm[0:r, 0:c], A[0:r, 0:c])
        T.cuda.cta_sync()
        Tx.cta.copy(B[4 : 4 + r, 8 : 8 + c], sm[0:r, 0:c])

    a, b = numbers(rows, columns), np.full((32, 32), -1, np.float16)
    run(f, a, b)
    expected = np.full((32, 32), -1, np.float16)
    expected[4 : 4 + rows, 8 : 8 + columns] = a
    np.testing.assert_array_equal(b, expected)


def test_unbounded_extent():
    @T.prim_func
    def f(A_ptr: T.handle, B_ptr: T.handle):
        n = T.int32()
        A = T.match_buffer(A_ptr, (n,), "float32")
        B = T.match_buffer(B_ptr, (n,), "float32")
        T.device_entry()
        tx = T.thread_id([64])
        Tx.cta.copy(B[:], A[:])

    for n in (1, 63, 64, 200):
        a, b = numbers(n, dtype=np.float32), np.zeros(n, np.float32)
        run(f, a, b)
        np.testing.assert_array_equal(a, b)


def test_replicated_fragment():
    """Four warps of a warpgroup hold the same rows: all of them load, one of them stores."""
    lay = TileLayout(S[(8, 4, 2) : (4 @ laneid, 1 @ laneid, 1)] + R[4 : 1 @ wid_in_wg])

    @T.prim_func
    def f(A_ptr: T.handle, B_ptr: T.handle, C_ptr: T.handle):
        A = T.match_buffer(A_ptr, (8, 8), "float32")
        B = T.match_buffer(B_ptr, (8, 8), "float32")
        C = T.match_buffer(C_ptr, (128, 2), "float32")
        T.device_entry()
        tx = T.thread_id([128])
        frag = T.alloc_buffer((8, 8), "float32", scope="local", layout=lay)
        own = frag.local()
        Tx.wg.copy(frag[:, :], A[:, :])
        Tx.wg.copy(B[:, :], frag[:, :])
        for i in T.unroll(2):
            C[tx, i] = own[i]

    a, b, c = numbers(8, 8, dtype=np.float32), np.zeros((8, 8), np.float32), np.zeros((128, 2), np.float32)
    run(f, a, b, c)
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(c, np.tile(a.reshape(32, 2), (4, 1)))


def test_a_view_elsewhere_promises_what_its_offset_says():
    @T.prim_func
    def f(A_ptr: T.handle, B_ptr: T.handle):
        A = T.match_buffer(A_ptr, (64,), "float32", align=16)
        B = T.match_buffer(B_ptr, (32,), "float32")
        T.device_entry()
        tx = T.thread_id([8])
        part = A.sub[6:38:1]
        Tx.cta.copy(B[:], part[:])

    a, b = numbers(64, dtype=np.float32), np.zeros(32, np.float32)
    run(f, a, b)
    np.testing.assert_array_equal(b, a[6:38])
    decision = tirx.explain(f, tirx.Target("cuda", arch="sm_90a")).decisions[0]
    assert decision.instructions[0]["instruction"].startswith("8-byte")


@pytest.mark.parametrize("step, width", [(16, 16), (6, 8), (5, 4)])
def test_a_view_at_a_symbolic_offset_keeps_its_divisor(step, width):
    @T.prim_func
    def f(A_ptr: T.handle, B_ptr: T.handle):
        A = T.match_buffer(A_ptr, (64,), "float32")
        B = T.match_buffer(B_ptr, (4, 16), "float32")
        T.device_entry()
        bx = T.cta_id([4])
        tx = T.thread_id([8])
        part = A.sub[bx * step : bx * step + 16]
        Tx.cta.copy(B[bx, :], part[:])

    a, b = numbers(64, dtype=np.float32), np.zeros((4, 16), np.float32)
    run(f, a, b)
    np.testing.assert_array_equal(b, [a[i * step : i * step + 16] for i in range(4)])
    decision = tirx.explain(f, tirx.Target("cuda", arch="sm_90a")).decisions[0]
    assert decision.instructions[0]["instruction"].startswith(f"{width}-byte")


def test_an_assertion_of_the_host_is_a_fact():
    """Rows of n halves with n % 8 == 0 are copied 16 bytes at a time; a call with n = 76 is refused."""

    @T.prim_func
    def f(A_ptr: T.handle, B_ptr: T.handle):
        n = T.int32()
        A = T.match_buffer(A_ptr, (16, n), "float16")
        B = T.match_buffer(B_ptr, (16, 64), "float16")
        assert n % 8 == 0, "n is a multiple of 8"
        T.device_entry()
        tx = T.thread_id([32])
        sm = T.alloc_shared((16, 64), "float16")
        Tx.cta.copy(sm[:, :], A[:, 0:64])
        T.cuda.cta_sync()
        Tx.cta.copy(B[:, :], sm[:, :])

    a, b = numbers(16, 72), np.zeros((16, 64), np.float16)
    run(f, a, b)
    np.testing.assert_array_equal(b, a[:, :64])
    decision = tirx.explain(f, tirx.Target("cuda", arch="sm_90a")).decisions[0]
    assert decision.instructions[0]["instruction"].startswith("16-byte")
    with pytest.raises(tirx.errors.LaunchError, match="multiple of 8"):
        run(f, numbers(16, 76), b)


def test_a_computed_pointer_promises_no_alignment():
    """A view at an address that the program computed is read element by element unless align= says more."""

    def kernel(start, align):
        @T.prim_func
        def f(A_ptr: T.handle, B_ptr: T.handle):
            A = T.match_buffer(A_ptr, (64,), "float32")
            B = T.match_buffer(B_ptr, (32,), "float32")
            T.device_entry()
            tx = T.thread_id([8])
            p: T.let = A.ptr_to([start])
            part = T.decl_buffer((32,), "float32", data=p, align=align)
            Tx.cta.copy(B[:], part[:])

        return f

    for start, align, width in ((3, 0, 4), (8, 16, 16)):
        a, b = numbers(64, dtype=np.float32), np.zeros(32, np.float32)
        run(kernel(start, align), a, b)
        np.testing.assert_array_equal(b, a[start : start + 32])
        decision = tirx.explain(kernel(start, align), tirx.Target("cuda", arch="sm_90a")).decisions[0]
        assert decision.instructions[0]["instruction"].startswith(f"{width}-byte")


def test_cast_and_fill():
    @T.prim_func
    def f(A_ptr: T.handle, B_ptr: T.handle):
        A = T.match_buffer(A_ptr, (16, 8), "float32")
        B = T.match_buffer(B_ptr, (16, 8), "float16")
        T.device_entry()
        lane = T.lane_id([32])
        wide = T.alloc_buffer((16, 8), "float32", scope="local", layout=D_FRAG)
        half = T.alloc_buffer((16, 8), "float16", scope="local", layout=D_FRAG)
        Tx.warp.copy(wide[:, :], A[:, :])
        Tx.warp.cast(half[:, :], wide[:, :])
        Tx.warp.copy(B[:, :], half[:, :])
        Tx.warp.fill(B[0:2, :], 7)

    a, b = numbers(16, 8, dtype=np.float32) / 3, np.zeros((16, 8), np.float16)
    run(f, a, b)
    expected = a.astype(np.float16)
    expected[0:2] = 7
    np.testing.assert_array_equal(b, expected)


def test_instruction_names_are_known_before_any_target():
    code = "from tirx.script import T; print(T.cuda.cta_sync.name)\n"
    code += "from tirx import ir; print(ir.instr_call('cuda.cta_sync').op)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["cuda.cta_sync"] * 2, done.stderr


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("scope, threads", [("warp", 32), ("cta", 64), ("thread", 1)])
def test_permute_layout_in_place(dtype, scope, threads):
    """A row-major tile becomes column-major in the same bytes of shared memory."""
    rows, cols = (32, 16) if scope != "thread" else (8, 4)
    by_column = TileLayout(S[(rows, cols) : (1, rows)])
    permute = getattr(Tx, scope).permute_layout

    @T.prim_func
    def f(A_ptr: T.handle, B_ptr: T.handle):
        A = T.match_buffer(A_ptr, (rows, cols), dtype)
        B = T.match_buffer(B_ptr, (rows * cols,), dtype)
        T.device_entry()
        tx = T.thread_id([threads])
        sm = T.alloc_shared((rows, cols), dtype)
        turned = T.decl_buffer((rows, cols), dtype, data=sm.data, layout=by_column, scope="shared")
        flat = T.decl_buffer((rows * cols,), dtype, data=sm.data, scope="shared")
        Tx.cta.copy(sm[:, :], A[:, :])
        T.cuda.cta_sync()
        permute(turned[:, :], sm[:, :])
        T.cuda.cta_sync()
        Tx.cta.copy(B[:], flat[:])

    a, b = numbers(rows, cols, dtype=dtype), np.zeros(rows * cols, dtype)
    run(f, a, b)
    np.testing.assert_array_equal(b, a.T.reshape(-1))
    decision = tirx.explain(f, tirx.Target("cuda", arch="sm_90a")).decisions[1]
    assert decision.variant == ("warp_xor_swizzle" if scope == "warp" else "staged")


def test_permute_layout_avoids_bank_conflicts():
    """32 x 32 words transposed by one warp: no lane waits for another in either phase."""
    by_column = TileLayout(S[(32, 32) : (1, 32)])

    @T.prim_func
    def f(A_ptr: T.handle):
        A = T.match_buffer(A_ptr, (32, 32), "float32")
        T.device_entry()
        lane = T.lane_id([32])
        sm = T.alloc_shared((32, 32), "float32")
        turned = T.decl_buffer((32, 32), "float32", data=sm.data, layout=by_column, scope="shared")
        Tx.cta.copy(sm[:, :], A[:, :])
        Tx.warp.permute_layout(turned[:, :], sm[:, :])

    note = tirx.explain(f, tirx.Target("cuda", arch="sm_90a")).decisions[1].notes[0]
    assert note.endswith(": 0 bank conflicts in 8 steps")
