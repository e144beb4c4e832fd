"""Matrix loads and stores and asynchronous copies end to end, in the simulator of the target."""

import numpy as np
import pytest
from test_tile_run import D_FRAG, numbers, run

import tirx
from tirx.layout import ComposeLayout, S, TileLayout, laneid
from tirx.script import T, Tx

A_FRAG = D_FRAG.tile_to([16, 16], [16, 8])
B_KN = TileLayout(S[(4, 2, 8) : (1 @ laneid, 1, 4 @ laneid)]).tile_to([16, 8], [8, 8])
SWIZZLED = ComposeLayout(3, 3, 3, TileLayout(S[(32, 64) : (64, 1)]))


def round_trip():
    """global -> shared -> fragment -> shared -> global."""

    @T.prim_func
    def f(A_ptr: T.handle, B_ptr: T.handle):
        A = T.match_buffer(A_ptr, (16, 16), "float16")
        B = T.match_buffer(B_ptr, (16, 16), "float16")
        T.device_entry()
        lane = T.lane_id([32])
        one = T.alloc_shared((16, 16), "float16")
        two = T.alloc_shared((16, 16), "float16")
        frag = T.alloc_buffer((16, 16), "float16", scope="local", layout=A_FRAG)
        Tx.cta.copy(one[:, :], A[:, :])
        T.cuda.cta_sync()
        Tx.warp.copy(frag[:, :], one[:, :])
        Tx.warp.copy(two[:, :], frag[:, :])
        T.cuda.cta_sync()
        Tx.cta.copy(B[:, :], two[:, :])

    return f


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_through_a_fragment(arch):
    """ldmatrix on both; back with stmatrix on sm_90a, with 4-byte stores on sm_80."""
    a, b = numbers(16, 16), np.zeros((16, 16), np.float16)
    run(round_trip(), a, b, arch=arch)
    np.testing.assert_array_equal(a, b)
    variants = [d.variant for d in tirx.explain(round_trip(), tirx.Target("cuda", arch=arch)).decisions]
    assert variants[1:3] == ["ldstmatrix", "ldstmatrix" if arch == "sm_90a" else "vec_auto"]


def test_transposed_matrix_load():
    @T.prim_func
    def f(A_ptr: T.handle, B_ptr: T.handle):
        A = T.match_buffer(A_ptr, (16, 8), "float16")
        B = T.match_buffer(B_ptr, (16, 8), "float16")
        T.device_entry()
        lane = T.lane_id([32])
        sm = T.alloc_shared((16, 8), "float16")
        frag = T.alloc_buffer((16, 8), "float16", scope="local", layout=B_KN)
        Tx.cta.copy(sm[:, :], A[:, :])
        T.cuda.cta_sync()
        Tx.warp.copy(frag[:, :], sm[:, :])
        Tx.warp.copy(B[:, :], frag[:, :])

    a, b = numbers(16, 8), np.zeros((16, 8), np.float16)
    run(f, a, b)
    np.testing.assert_array_equal(a, b)
    load = tirx.explain(f, tirx.Target("cuda", arch="sm_90a")).decisions[1]
    assert load.instructions[0]["instruction"] == "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16"


def test_swizzled_shared_memory():
    @T.prim_func
    def f(A_ptr: T.handle, B_ptr: T.handle):
        A = T.match_buffer(A_ptr, (32, 64), "float16")
        B = T.match_buffer(B_ptr, (32, 64), "float16")
        T.device_entry()
        tx = T.thread_id([64])
        sm = T.alloc_shared((32, 64), "float16", layout=SWIZZLED)
        Tx.cta.copy_async(sm[:, :], A[:, :])
        T.ptx.cp.async_.commit_group()
        T.ptx.cp.async_.wait_group(0)
        T.cuda.cta_sync()
        Tx.cta.copy(B[:, :], sm[:, :])

    a, b = numbers(32, 64), np.zeros((32, 64), np.float16)
    run(f, a, b)
    np.testing.assert_array_equal(a, b)
