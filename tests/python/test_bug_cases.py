"""Inputs that broke other compilers, each beside its nearest legal neighbour: whole kernels, compiled and simulated.

docs/bug-cases.md says which tests belong to which case, here and in the other files; the last test reads that table.
"""

import pickle
import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import tirx
from tirx import ir, pipeline, sim
from tirx.errors import DispatchError, LaunchError, LayoutError, SimError, TargetError, TypeMismatch
from tirx.layout import ComposeLayout, R, S, TileLayout, laneid, tx, warpid, wid_in_wg
from tirx.script import from_source

TARGET = tirx.Target("cuda", arch="sm_90a")
ROOT = Path(__file__).parents[2]


def kernel(body, threads=128, grid=1, symbols=(), host=(), names=None, **buffers):
    """A kernel of `body`; buffers: name = (shape, dtype); symbols: extents that shapes name; host: lines before it."""
    lines = ["@T.prim_func", f"def f({', '.join(name + '_ptr: T.handle' for name in buffers)}):"]
    lines += [f"    {s} = T.int32()" for s in symbols]
    lines += [f'    {n} = T.match_buffer({n}_ptr, {s}, "{d}")' for n, (s, d) in buffers.items()]
    lines += [f"    {line}" for line in host]
    lines += ["    T.device_entry()", f"    bx = T.cta_id([{grid}])", f"    tx = T.thread_id([{threads}])"]
    lines += [f"    {line}" for line in body.strip("\n").split("\n")]
    return from_source("\n".join(lines) + "\n", names=names)


def run(func, *args, **options):
    """Simulate; arrays are written in place. SparseArrays are accepted."""
    return sim.run(pipeline.build_kernel(func, TARGET), TARGET, args, **options)


def numbers(*shape, dtype=np.float32):
    return np.arange(1, 1 + int(np.prod(shape))).reshape(shape).astype(dtype)


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


def refused(error, code, func, *args):
    """The error of compiling (or, with arguments, running) `func`, which names a line of the kernel."""
    with pytest.raises(error) as e:
        run(func, *args) if args else tirx.compile(func, TARGET)
    assert e.value.code == code, str(e.value)
    assert e.value.location is not None and e.value.location.line > 1
    return e.value


def decision(func, at=0):
    return tirx.explain(func, TARGET).decisions[at]


# ---- 10: a row that is broadcast, of a width that is no power of two ----


def broadcast_row(width):
    func = kernel("Tx.cta.mul(X, D, T.float32(2))", 64, D=((1, width), "float32"), X=((16, width), "float32"))
    d, x = numbers(1, width), zeros(16, width)
    run(func, d, x)
    np.testing.assert_array_equal(x, np.broadcast_to(2 * d, x.shape))


@pytest.mark.parametrize("width", [24, 40, 48, 96])
def test_case_10_broadcast_of_a_width_that_is_no_power_of_two(width):
    broadcast_row(width)


@pytest.mark.parametrize("width", [32, 64])
def test_case_10_broadcast_of_a_power_of_two(width):
    broadcast_row(width)


# ---- 12: a fragment written in part and read as a whole ----

PART = """
f = T.alloc_buffer((256,), "float32", scope="local", layout=frag)
{first}
Tx.cta.copy(f[0:100], A[0:100])
Tx.cta.copy(B, f)
"""


def written_in_part(first):
    layout = TileLayout(S[(2, 32, 4) : (1 @ warpid, 1 @ laneid, 1)])
    buffers = dict(A=((256,), "float32"), B=((256,), "float32"))
    return kernel(PART.format(first=first), 64, names={"frag": layout}, **buffers)


def test_case_12_what_nobody_wrote_is_reported():
    e = refused(SimError, "uninitialised-read", written_in_part("pass"), numbers(256), zeros(256))
    assert e.location.line == 11 and "lanes 25-31" in e.found


def test_case_12_the_whole_extent_is_read():
    a, b = numbers(256), zeros(256)
    run(written_in_part("Tx.cta.fill(f, 7.0)"), a, b)
    np.testing.assert_array_equal(b, np.where(np.arange(256) < 100, a, 7))


# ---- 13: the value of elements past the end ----

EDGE = """
s = T.alloc_shared((64, 64), "int32")
Tx.cta.{op}(s, A[0:64, 0:64], oob=-99{dispatch})
T.ptx.cp.async_.wait_all()
T.cuda.cta_sync()
Tx.cta.copy(B, s)
"""


def past_the_end(op, dispatch, size):
    dispatch = f', dispatch="{dispatch}"' if dispatch else ""
    buffers = dict(A=((size, size), "int32"), B=((64, 64), "int32"))
    a, b = numbers(size, size, dtype=np.int32), zeros(64, 64, dtype=np.int32)
    run(kernel(EDGE.format(op=op, dispatch=dispatch), **buffers), a, b)
    want = np.full((64, 64), -99, np.int32)
    want[:size, :size] = a
    np.testing.assert_array_equal(b, want)


MOVES = [("copy", v) for v in ("", "vec_auto", "vec_32b", "vec_128b", "fallback")] + [("copy_async", "")]


@pytest.mark.parametrize("op, dispatch", MOVES)
def test_case_13_every_variant_gives_the_value(op, dispatch):
    past_the_end(op, dispatch, 60)


@pytest.mark.parametrize("op, dispatch", MOVES)
def test_case_13_a_tile_that_fits(op, dispatch):
    past_the_end(op, dispatch, 64)


# ---- 15: copies between different shapes ----


def copy_into_tile(source, shape):
    body = f's = T.alloc_shared((64, 64), "float32")\nTx.cta.copy(s, {source})\nT.cuda.cta_sync()\nTx.cta.copy(B, s)'
    return kernel(body, A=(shape, "float32"), B=((64, 64), "float32"))


@pytest.mark.parametrize("shape", [(64, 1), (2, 64, 64), (64,), (1, 64)])
def test_case_15_no_copy_broadcasts(shape):
    e = refused(TypeMismatch, "operand-shapes-differ", copy_into_tile("A", shape))
    assert "float32[64, 64]" in e.found and f"float32{list(shape)}" in e.found


def test_case_15_a_plane_of_a_cube_and_a_broadcast_on_purpose():
    a, b = numbers(2, 64, 64), zeros(64, 64)
    run(copy_into_tile("A[1, :, :]", (2, 64, 64)), a, b)
    np.testing.assert_array_equal(b, a[1])
    thin = numbers(64, 1)
    run(kernel("Tx.cta.add(B, B, A)", A=((64, 1), "float32"), B=((64, 64), "float32")), thin, b)
    np.testing.assert_array_equal(b, a[1] + thin)


# ---- 16: a width that was asked for and that the geometry does not allow ----


def two_halves_at_once(columns):
    buffers = dict(A=((8, columns), "float16"), B=((8, 32), "float16"))
    return kernel('Tx.cta.copy(B, A[:, 0:32], dispatch="vec_32b")', 32, **buffers)


def test_case_16_a_width_that_does_not_fit_is_a_diagnostic():
    e = refused(DispatchError, "forced-variant-declined", two_halves_at_once(33))
    assert (
        "vec_32b: 4-byte accesses need contiguous, aligned runs" in e.found
        and "leave dispatch= out" in e.hint
    )


def test_case_16_the_width_that_fits():
    a, b = numbers(8, 34, dtype=np.float16), zeros(8, 32, dtype=np.float16)
    run(two_halves_at_once(34), a, b)
    np.testing.assert_array_equal(b, a[:, :32])


# ---- 17: a tile that the threads do not divide ----


def through_shared(rows, threads):
    body = f's = T.alloc_shared(({rows}, 64), "bfloat16")\nTx.cta.copy(s, A)\nT.cuda.cta_sync()\nTx.cta.copy(B, s)'
    func = kernel(body, threads, A=((rows, 64), "bfloat16"), B=((rows, 64), "bfloat16"))
    a = (np.arange(rows * 64) % 251).reshape(rows, 64).astype(ml_dtypes.bfloat16)
    b = np.zeros_like(a)
    run(func, a, b)
    assert a.tobytes() == b.tobytes()
    return decision(func)


def test_case_17_the_last_turn_is_for_half_of_the_threads():
    d = through_shared(112, 256)
    assert d.coverage == "7168 elements once: 256 threads x 4 steps x 8 lanes, chunk < 896"
    assert d.instructions[0]["instruction"].startswith("16-byte")


def test_case_17_a_tile_that_is_divided():
    assert through_shared(128, 256).coverage == "8192 elements once: 256 threads x 4 steps x 8 lanes"


# ---- 18: extents known at the call ----


@pytest.mark.parametrize("n", [1, 255, 256, 1000])
def test_case_18_any_extent_has_its_tail(n):
    body = "m: T.let = T.min(n - bx * 256, 256)\nTx.cta.copy(B[bx * 256 : bx * 256 + m], A[bx * 256 : bx * 256 + m])"
    buffers = dict(A=("(n,)", "float32"), B=("(n,)", "float32"))
    a, b = numbers(n), zeros(n)
    run(kernel(body, 256, "(n + 255) // 256", ["n"], **buffers), a, b)
    np.testing.assert_array_equal(a, b)


def test_case_18_an_extent_that_only_the_grid_needs():
    func = kernel("B[tx] = T.float32(3)", 32, "n // 4", ["n"], A=("(n,)", "float32"), B=((32,), "float32"))
    b = zeros(32)
    assert run(func, zeros(8), b).counters["instructions"] and (b == 3).all()


PROMISE = ['assert n % 8 == 0, "n is a multiple of 8"']


def rows_of_n(host):
    body = 's = T.alloc_shared((16, 8), "float16")\nTx.cta.copy(s, A[:, 0:8])\nT.cuda.cta_sync()\nTx.cta.copy(B, s)'
    buffers = dict(A=("(16, n)", "float16"), B=((16, 8), "float16"))
    return kernel(body, 32, symbols=["n"], host=host, **buffers)


def test_case_18_a_promise_is_checked_at_the_call():
    exe = tirx.compile(rows_of_n(PROMISE), TARGET, mode="simulate")
    with pytest.raises(LaunchError, match="n is a multiple of 8"):
        exe(numbers(16, 12, dtype=np.float16), zeros(16, 8, dtype=np.float16))


@pytest.mark.parametrize("host, n, width", [(PROMISE, 16, 16), ([], 12, 2)])
def test_case_18_wide_with_the_promise_and_right_without(host, n, width):
    func = rows_of_n(host)
    a, b = numbers(16, n, dtype=np.float16), zeros(16, 8, dtype=np.float16)
    run(func, a, b)
    np.testing.assert_array_equal(b, a[:, :8])
    assert decision(func).instructions[0]["instruction"].startswith(f"{width}-byte")


def vectors_of_four(body, n):
    buffers = dict(A=("(n,)", "float32"), B=("(n,)", "float32"))
    func = kernel(body, 64, symbols=["n"], **buffers)
    a, b = numbers(n), zeros(n)
    return func, a, b


UNGUARDED = "for j in T.vectorized(4):\n    B[tx * 4 + j] = A[tx * 4 + j]"
GUARDED = """
if tx * 4 + 4 <= n:
    for j in T.vectorized(4):
        B[tx * 4 + j] = A[tx * 4 + j]
else:
    for j in range(4):
        if tx * 4 + j < n:
            B[tx * 4 + j] = A[tx * 4 + j]
"""


def test_case_18_a_vector_that_hangs_over_the_end_is_reported():
    refused(SimError, "out-of-bounds", *vectors_of_four(UNGUARDED, 250))


@pytest.mark.parametrize("body, n", [(UNGUARDED, 256), (GUARDED, 250), (GUARDED, 3)])
def test_case_18_a_vector_that_fits_and_a_guarded_tail(body, n):
    func, a, b = vectors_of_four(body, n)
    run(func, a, b)
    np.testing.assert_array_equal(a, b)
    assert "float4" in tirx.compile(func, TARGET).source


# ---- 19: rows that start on multiples of 8 bytes ----


def rows(columns):
    body = 's = T.alloc_shared((16, 64), "float16")\nTx.cta.copy(s, A[:, 0:64])\nT.cuda.cta_sync()\nTx.cta.copy(B, s)'
    func = kernel(body, 64, A=((16, columns), "float16"), B=((16, 64), "float16"))
    a, b = numbers(16, columns, dtype=np.float16), zeros(16, 64, dtype=np.float16)
    run(func, a, b)
    np.testing.assert_array_equal(b, a[:, :64])
    return decision(func).instructions[0]["instruction"]


def test_case_19_misaligned_rows_choose_8_bytes():
    assert rows(100).startswith("8-byte")


def test_case_19_aligned_rows_choose_16_bytes():
    assert rows(104).startswith("16-byte")


def first_eight(columns):
    body = f"B[T.Ramp(tx * 8, 1, 8)] = A[T.Ramp(tx * {columns}, 1, 8)]"
    func = kernel(body, 16, A=((16 * columns,), "float16"), B=((128,), "float16"))
    a, b = numbers(16 * columns, dtype=np.float16), zeros(128, dtype=np.float16)
    return func, a, b


def test_case_19_a_misaligned_access_traps():
    e = refused(SimError, "misaligned-access", *first_eight(100))
    assert "load of 16 bytes of A at byte address 200" in e.found


def test_case_19_an_aligned_access_does_not():
    func, a, b = first_eight(104)
    run(func, a, b)
    np.testing.assert_array_equal(b.reshape(16, 8), a.reshape(16, 104)[:, :8])


def vectorized_rows(shape, symbols=(), columns=0):
    body = "for j in T.vectorized(8):\n    B[tx, j] = A[tx, j]"
    func = kernel(body, 16, symbols=symbols, A=(shape, "float16"), B=((16, 8), "float16"))
    a, b = numbers(16, columns, dtype=np.float16), zeros(16, 8, dtype=np.float16)
    run(func, a, b)
    np.testing.assert_array_equal(b, a[:, :8])
    return tirx.compile(func, TARGET).source


def test_case_19_a_vectorized_loop_is_cut_into_what_is_aligned():
    source = vectorized_rows((16, 100), columns=100)
    assert "const uint2 *)&A[" in source and "uint4" not in source
    assert "*)&A[" not in vectorized_rows("(16, n)", ["n"], 13)


def test_case_19_a_vectorized_loop_over_aligned_rows():
    assert "const uint4 *)&A[" in vectorized_rows((16, 104), columns=104)


# ---- 21: where a swizzled tile starts ----


def places(base):
    """Where bytes 0, 16, 128, 256 of a tile at byte `base` are under the 128-byte swizzle, relative to the base."""
    layout = ComposeLayout(4, 3, 3, TileLayout(S[2048]))
    return [int(layout.apply(base + x, shape=(2048,))["m"]) - base for x in (0, 16, 128, 256)]


SWIZZLED = """
small = T.alloc_buffer((8,), "uint64", scope="shared.dyn")
s = T.alloc_buffer((64, 64), "float16", scope="shared.dyn", layout=sw{address})
if tx < 8:
    small[tx] = T.uint64(0)
Tx.cta.copy(s, A)
T.cuda.cta_sync()
Tx.cta.copy(B, s)
"""


def swizzled(address):
    names = {"sw": ComposeLayout(3, 3, 3, TileLayout(S[64, 64]))}
    buffers = dict(A=((64, 64), "float16"), B=((64, 64), "float16"))
    return kernel(SWIZZLED.format(address=address), names=names, **buffers)


def test_case_21_a_base_of_128_is_refused_because_it_moves_other_bytes():
    assert places(1024) == [0, 16, 144, 288] and places(128) == [16, 0, 160, 304]
    e = refused(TargetError, "bad-shared-address", swizzled(", allocated_addr=128"))
    assert e.found == "byte 128" and "1024 bytes" in e.required


@pytest.mark.parametrize("address", [", allocated_addr=1024", ""])
def test_case_21_a_base_of_1024(address):
    a, b = numbers(64, 64, dtype=np.float16), zeros(64, 64, dtype=np.float16)
    run(swizzled(address), a, b)
    np.testing.assert_array_equal(a, b)


# ---- 28, 29: reductions over threads that are no power of two, and over replicas ----

SUM = """
x = T.alloc_buffer({shape}, "float32", scope="local", layout=frag)
Tx.{scope}.copy(x, A)
Tx.{scope}.sum(B, x, axes={axis})
"""


def fragment_sum(layout, shape, threads, scope="cta", **options):
    func = kernel(SUM.format(shape=shape, scope=scope, axis=len(shape) - 1), threads, names={"frag": TileLayout(layout)},
                  A=(shape, "float32"), B=(shape[:-1] or (1,), "float32"))  # fmt: skip
    a, b = numbers(*shape), zeros(*(shape[:-1] or (1,)))
    report = run(func, a, b, **options)
    np.testing.assert_array_equal(b.reshape(-1), a.sum(-1).reshape(-1))
    return report


@pytest.mark.parametrize("width", [1, 3, 5, 17, 24, 31, 33, 47, 48, 65, 95, 96])
def test_case_28_sum_over_any_number_of_threads(width):
    """1 + ... + 48 = 1176 over 48 threads of 96 and more."""
    fragment_sum(S[(width,) : (1 @ tx,)], (width,), 128)
    if width <= 32:
        fragment_sum(S[(width,) : (1 @ laneid,)], (width,), 32, "warp")


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16, 32, 64, 128])
def test_case_28_sum_over_a_power_of_two(width):
    fragment_sum(S[(width,) : (1 @ tx,)], (width,), 128)


def test_case_29_replicas_are_counted_once():
    """48 columns on 16 lanes x 3 registers, copied to the other lanes and to 4 warps."""
    fragment_sum(S[(16, 3) : (1 @ laneid, 1)] + R[2 : 16 @ laneid] + R[4 : 1 @ warpid], (48,), 128)


def test_case_29_the_same_fragment_without_replicas():
    fragment_sum(S[(16, 3) : (1 @ laneid, 1)], (48,), 32, "warp")


COPIES = """
x = T.alloc_buffer((8,), "float32", scope="local", layout=frag)
r = T.alloc_buffer((1,), "float32", scope="local", layout=everywhere)
own = r.local()
Tx.warp.copy(x, A)
Tx.warp.sum(r, x, axes=0)
B[tx] = own[0]
"""


def sum_for_all_lanes(source):
    names = {"frag": TileLayout(source), "everywhere": TileLayout(S[(1,) : (0,)] + R[32 : 1 @ laneid])}
    return kernel(COPIES, 32, names=names, A=((8,), "float32"), B=((32,), "float32"))


def test_case_29_a_result_on_threads_that_do_not_get_it_is_refused():
    e = refused(DispatchError, "no-variant-accepts", sum_for_all_lanes(S[(8,) : (1 @ laneid,)]))
    assert "dst is on 32 threads and only 8 of them" in e.required


def test_case_29_every_copy_of_the_result_is_written():
    b = zeros(32)
    run(sum_for_all_lanes(S[(8,) : (1 @ laneid,)] + R[4 : 8 @ laneid]), numbers(8), b)
    assert (b == 36).all()


# ---- 30: several results at once, through a workspace ----


@pytest.mark.parametrize("schedule", ["lazy", "random"])
def test_case_30_eight_results_of_128_threads(schedule):
    fragment_sum(S[(8, 4, 32) : (1, 1 @ warpid, 1 @ laneid)], (8, 128), 128, schedule=schedule)


def test_case_30_eight_results_of_32_threads_each():
    fragment_sum(S[(2, 4, 32) : (1, 1 @ warpid, 1 @ laneid)], (8, 32), 128)


GROUPS = """
wg = T.warpgroup_id([2])
w = T.alloc_shared(({size},), "float32")
x = T.alloc_buffer((8, 128), "float32", scope="local", layout=frag)
Tx.wg.copy(x, A[wg, :, :])
Tx.wg.sum(B[wg, :], x, axes=1, workspace={{"w": w}})
"""


def two_groups(size):
    layout = TileLayout(S[(8, 4, 32) : (1, 1 @ wid_in_wg, 1 @ laneid)])
    buffers = dict(A=((2, 8, 128), "float32"), B=((2, 8), "float32"))
    return kernel(GROUPS.format(size=size), 256, names={"frag": layout}, **buffers)


def test_case_30_a_workspace_for_four_of_eight_results_is_refused():
    e = refused(DispatchError, "no-variant-accepts", two_groups(4 * 256))
    assert "the workspace must hold 2048 elements of float32" in e.required


@pytest.mark.parametrize("schedule", ["lazy", "random"])
def test_case_30_two_groups_share_a_workspace(schedule):
    a, b = numbers(2, 8, 128), zeros(2, 8)
    run(two_groups(8 * 256), a, b, schedule=schedule, seed=3)
    np.testing.assert_array_equal(b, a.sum(2))


OVERLAP = """
w = T.alloc_shared((64,), "float32")
w[{place}] = A[tx]
T.cuda.named_barrier_sync(1, 64)
B[tx] = w[{place}] + w[{other}]
"""


def test_case_30_groups_that_use_the_same_places_are_reported():
    func = kernel(
        OVERLAP.format(place="tx % 32", other="31 - tx % 32"), 64, A=((64,), "float32"), B=((64,), "float32")
    )
    refused(SimError, "shared-race", func, numbers(64), zeros(64))


def test_case_30_groups_with_their_own_places():
    func = kernel(OVERLAP.format(place="tx", other="63 - tx"), 64, A=((64,), "float32"), B=((64,), "float32"))
    b = zeros(64)
    run(func, numbers(64), b)
    assert (b == 65).all()


# ---- 31: one writer of a reduced value ----

BUTTERFLY = """
v: T.float32 = A[tx]
for m in [16, 8, 4, 2, 1]:
    v = v + T.cuda.shfl_xor(v, m)
B[0] = {value}
"""


def test_case_31_lanes_that_store_different_bits_are_reported():
    value = "v + T.cast(tx, 'float32') * T.float32(0.0001)"
    func = kernel(BUTTERFLY.format(value=value), 32, A=((32,), "float32"), B=((1,), "float32"))
    e = refused(SimError, "unequal-replicas", func, numbers(32), zeros(1))
    assert "one writer, or equal values" in e.required


def test_case_31_equal_bits_and_the_compilers_single_writer():
    b = zeros(1)
    run(kernel(BUTTERFLY.format(value="v"), 32, A=((32,), "float32"), B=((1,), "float32")), numbers(32), b)
    assert b[0] == 528
    counters = fragment_sum(S[(32,) : (1 @ laneid,)], (32,), 32, "warp").counters
    assert counters["global_store"] == {"requests": 1, "sectors": 1, "bytes": 4}


# ---- 33: conversions as tile calls, one by one and in packs ----


def np_type(name):
    return np.dtype(getattr(ml_dtypes, name, name))


IN_REGISTERS = """
x = T.alloc_local((8,), "{source}")
y = T.alloc_local((8,), "{to}")
Tx.copy(x, A[tx * 8 : tx * 8 + 8])
Tx.cast(y, x)
Tx.copy(B[tx * 8 : tx * 8 + 8], y)
"""


def cast(x, to, packed):
    source = x.dtype.name
    body = IN_REGISTERS.format(source=source, to=to) if packed else "Tx.cta.cast(B, A)"
    func = kernel(body, 32, A=((256,), source), B=((256,), to))
    b = np.zeros(256, np_type(to))
    run(func, np.resize(x, 256), b)
    return b


HARD = {  # input -> (to, result)
    ("float32", 1.0625001): ("float8_e4m3fn", 1.125),
    ("float32", 400.199585): ("float8_e4m3fn", 416.0),
    ("float16", 1.125): ("float8_e5m2", 1.0),
    ("float64", 2.5): ("float4_e2m1fn", 2.0),
    ("float64", -0.6): ("float4_e2m1fn", -0.5),
    ("float64", 1 + 2.0**-11 + 2.0**-40): ("float16", 1 + 2.0**-10),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("source, value", HARD)
def test_case_33_rounding(source, value, packed):
    to, want = HARD[source, value]
    assert (cast(np.array([value], np_type(source)), to, packed).astype(np.float64) == want).all()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("source", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e8m0fnu"])
@pytest.mark.parametrize("to", ["float32", "bfloat16"])
def test_case_33_every_code_keeps_its_value_and_nan_stays_nan(source, to, packed):
    x = np.arange(256, dtype=np.uint8).view(np_type(source))
    want = x.astype(np.float32)
    np.testing.assert_array_equal(cast(x, to, packed).astype(np.float32), want)
    nan = {"float8_e4m3fn": [0x7F, 0xFF], "float8_e4m3fnuz": [0x80], "float8_e8m0fnu": [0xFF]}.get(
        source, [0x7E]
    )
    assert np.isnan(want[nan]).all() and (source != "float8_e5m2" or np.isinf(want[0x7C]))


@pytest.mark.parametrize("op", ["max", "min"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "uint64", "float16"])
def test_case_33_identity_of_max_and_min(op, dtype):
    a = np.random.default_rng(0).integers(0, 2, (4, 8)).astype(dtype)
    a[0], a[1] = 0, 1
    b = np.zeros(4, dtype)
    run(kernel(f"Tx.cta.{op}(B, A, axes=1)", 32, A=((4, 8), dtype), B=((4,), dtype)), a, b)
    np.testing.assert_array_equal(b, getattr(np, op)(a, axis=1))


# ---- 38: nothing moves across an effect ----

EFFECTS = """
before: T.let = A[tx]
A[tx] = T.float32(5)
T.evaluate(T.cuda.atomic_add(A.ptr_to([tx]), T.float32(1)))
after: T.let = A[tx]
B[tx] = before
B[tx + 32] = after
"""


def test_case_38_a_read_stays_on_its_side_of_a_store_and_an_atomic():
    func = kernel(EFFECTS, 32, A=((32,), "float32"), B=((64,), "float32"))
    a, b = numbers(32), zeros(64)
    run(func, a, b)
    assert (b[:32] == numbers(32)).all() and (b[32:] == 6).all() and (a == 6).all()
    source = tirx.compile(func, TARGET).source
    steps = ["before = A[tx]", "A[tx] = 5.0f", "atomic_add(&A[tx]", "after = A[tx]"]
    order = [source.index(step) for step in steps]
    assert order == sorted(order)


REFILL = """
s = T.alloc_shared((128,), "float32")
s[tx] = A[tx]
T.cuda.cta_sync()
B[tx] = s[127 - tx]
{between}
Tx.cta.fill(s, 0.0)
T.cuda.cta_sync()
B[tx] = B[tx] + s[tx]
"""


def test_case_38_a_fill_too_early_after_a_read_is_reported():
    func = kernel(REFILL.format(between="pass"), A=((128,), "float32"), B=((128,), "float32"))
    refused(SimError, "lane-race", func, numbers(128), zeros(128))


def test_case_38_a_fill_after_the_barrier_leaves_what_was_read():
    a, b = numbers(128), zeros(128)
    run(
        kernel(REFILL.format(between="T.cuda.cta_sync()"), A=((128,), "float32"), B=((128,), "float32")), a, b
    )
    np.testing.assert_array_equal(b, a[::-1])


STAGES = """
s = T.alloc_shared((2, 128), "float32")
total: T.float32 = 0.0
Tx.cta.copy_async(s[0, :], A[0, :])
T.ptx.cp.async_.commit_group()
for k in range(4):
    if k < 3:
        Tx.cta.copy_async(s[(k + 1) % 2, :], A[k + 1, :])
    T.ptx.cp.async_.commit_group()
    T.ptx.cp.async_.wait_group(1)
    T.cuda.cta_sync()
    total = total + s[k % 2, 127 - tx]
    {end}
B[tx] = total + s[{last}, tx]
"""


def stages(end="T.cuda.cta_sync()", last="1"):
    return kernel(STAGES.format(end=end, last=last), A=((4, 128), "float32"), B=((128,), "float32"))


@pytest.mark.parametrize("schedule", ["lazy", "eager", "random"])
def test_case_38_overwriting_a_stage_that_is_still_read_is_reported(schedule):
    with pytest.raises(SimError) as e:
        run(stages(end="pass"), numbers(4, 128), zeros(128), schedule=schedule)
    assert e.value.code in ("shared-race", "lane-race", "read-before-wait") and "s" in e.value.found


@pytest.mark.parametrize("schedule", ["lazy", "eager", "random"])
def test_case_38_two_stages_in_turn(schedule):
    a, b = numbers(4, 128), zeros(128)
    run(stages(), a, b, schedule=schedule, seed=5)
    np.testing.assert_array_equal(b, a.sum(0)[::-1] + a[3])


# ---- 39: how long storage lives ----

LIVE = """
a = T.alloc_shared((128,), "float32")
a[tx] = A[tx]
T.cuda.cta_sync()
for i in range(3):
    for j in range(2):
        b = T.alloc_shared((128,), "float32")
        b[tx] = a[127 - tx] * T.float32(2)
        T.cuda.cta_sync()
        B[i, tx] = b[127 - tx]
        T.cuda.cta_sync()
    B[i, tx] = B[i, tx] + a[tx]
"""


def test_case_39_a_buffer_of_an_inner_loop_spares_what_is_read_again():
    a, b = numbers(128), zeros(3, 128)
    run(kernel(LIVE, A=((128,), "float32"), B=((3, 128), "float32")), a, b)
    np.testing.assert_array_equal(b, np.broadcast_to(3 * a, b.shape))


@pytest.mark.parametrize("last, version", [("1", 3), ("0", 2)])
def test_case_39_a_stage_read_after_the_loop_is_the_one_that_was_written_last(last, version):
    a, b = numbers(4, 128), zeros(128)
    run(stages(last=last), a, b)
    np.testing.assert_array_equal(b, a.sum(0)[::-1] + a[version])


# ---- 40a: offsets of 2^31 and more ----


def rows_of_a_large_array(first):
    """Two rows from row `first` of 131072 columns, as a tile."""
    shape = (first + 2, 131072)
    body = f's = T.alloc_shared((2, 64), "float16")\nTx.cta.copy(s, A[{first} : {first + 2}, 0:64])\nT.cuda.cta_sync()'
    func = kernel(body + "\nTx.cta.copy(B, s)", 32, A=(shape, "float16"), B=((2, 64), "float16"))
    big, b = sim.SparseArray(shape, "float16"), zeros(2, 64, dtype=np.float16)
    for r in range(2):
        for c in range(64):
            big[first + r, c] = r * 64 + c
    run(func, big, b)
    np.testing.assert_array_equal(b.reshape(-1), np.arange(128))
    return tirx.compile(func, TARGET).source


def test_case_40a_a_row_at_2_to_31():
    assert "2147483648" in rows_of_a_large_array(16384)


def test_case_40a_the_last_rows_that_32_bits_reach():
    source = rows_of_a_large_array(16381)
    assert "long long" not in source and not re.search(r"\d(ll|LL)", source)


def store_at(index, extent):
    func = kernel(f"A[{index}] = T.int8(7)", 1, A=((extent,), "int8"))
    big = sim.SparseArray((extent,), "int8")
    run(func, big)
    return big[index]


def test_case_40a_a_constant_index_past_2_to_31():
    assert store_at(2**31 + 5, 2**31 + 64) == 7


def test_case_40a_a_constant_index_below_2_to_31():
    assert store_at(2**31 - 65, 2**31 - 64) == 7


# ---- 40c: text and pickles say everything ----

EVERYTHING = r"""
@T.prim_func
def f(A_ptr: T.handle, n: T.int32):
    T.func_attr({"doc": "one\n\"two\" and 'three' \\ end\t.", "low": T.int64(-9223372036854775808), "neg": -5})
    A = T.match_buffer(A_ptr, (64, 64), "float16")
    T.device_entry()
    w = T.alloc_buffer((256,), "float32", scope="shared", align=128)
    e = T.alloc_local((2,), "float8_e4m3fn")
    q = T.alloc_local((2,), "float4_e2m1fn")
    x = T.alloc_buffer((16, 8), "float16", scope="local", layout=T.TileLayout(
        T.S[(2, 8, 4, 2) : (2, 4 @ T.laneid, 1 @ T.laneid, 1)] + T.R[2 : 4 @ T.warpid] + 5 @ T.warpid))
    z = T.alloc_buffer((64, 64), "float16", scope="shared",
                       layout=T.ComposeLayout(3, 3, 3, T.TileLayout(T.S[(64, 64) : (64, 1)])))
    e[0] = T.float8_e4m3fn(-448.0)
    e[1] = T.float8_e4m3fn("nan")
    q[0] = T.float4_e2m1fn(-0.5)
    T.attr({"why": "a\nb 'c' \"d\" "})
    Tx.warp.copy(x[0:16, :], A[n : n + 16, 0:8], dispatch="vec_auto", workspace={"w": w}, cache="n'\"c\n")
    Tx.cta.fill(z, T.float16(-1.5))
    A[0, 0] = T.float16(-0.0)
    A[0, 1] = T.float16("-inf")
"""
PLAIN = "@T.prim_func\ndef f(n: T.int32):\n    pass\n"


@pytest.mark.parametrize("text", [EVERYTHING, PLAIN])
def test_case_40c_text_and_pickle_give_the_same_function(text):
    func = from_source(text)
    again, copied = from_source(str(func)), pickle.loads(pickle.dumps(func))
    for other in (again, copied):
        assert ir.first_difference(func, other) is None
        assert str(other) == str(func)


CHANGES = [
    ('dispatch="vec_auto", ', ""),
    ('workspace={"w": w}, ', ""),
    ("Tx.warp.copy", "Tx.cta.copy"),
    (" + 5 @ T.warpid", ""),
    (" + T.R[2 : 4 @ T.warpid]", ""),
    ("(-448.0)", "(-416.0)"),
    ("(-0.0)", "(0.0)"),
    (r"'\"c\n", r"'\"c"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_case_40c_what_differs_is_seen_in_the_text(change):
    func, other = from_source(EVERYTHING), from_source(EVERYTHING.replace(*change))
    assert EVERYTHING.count(change[0]) == 1
    assert str(func) != str(other) and ir.first_difference(func, other) is not None


# ---- 40g: what the errors of fragments say ----

FRAGMENT = """
F = T.alloc_buffer((32, 4), "float32", scope="local", layout=frag)
Tx.warp.copy(F, A)
{use}
"""


def using_fragment(use, out=(32, 4)):
    names = {"frag": TileLayout(S[(32, 4) : (1 @ laneid, 1)])}
    return kernel(FRAGMENT.format(use=use), 32, names=names, A=((32, 4), "float32"), B=(out, "float32"))


def test_case_40g_a_serial_loop_over_a_fragment():
    e = refused(
        LayoutError, "distributed-access", using_fragment("for i in range(4):\n    B[tx, i] = F[tx, i]")
    )
    assert "'F' is distributed over 32 threads" in e.message and "a reduction (Tx.sum, Tx.max)" in e.hint
    assert e.location.line == 11


def test_case_40g_a_loop_over_what_the_thread_owns():
    a, b = numbers(32, 4), zeros(32, 4)
    run(using_fragment("own = F.local()\nfor i in range(4):\n    B[tx, i] = own[i]"), a, b)
    np.testing.assert_array_equal(a, b)


def test_case_40g_reduction_of_a_slice_that_no_layout_describes():
    e = refused(
        DispatchError, "no-variant-accepts", using_fragment("Tx.warp.sum(B, F[8:15, :], axes=1)", (7,))
    )
    assert e.location.line == 10 and "float32[7, 4] local" in e.found
    assert "the fragment starts at thread 8, inside the threads" in e.required


def test_case_40g_reduction_of_a_slice():
    a, b = numbers(32, 4), zeros(8)
    run(using_fragment("Tx.warp.sum(B, F[8:16, :], axes=1)", (8,)), a, b)
    np.testing.assert_array_equal(b, a[8:16].sum(1))


ACCUMULATE = """
G = T.alloc_buffer((32,), "float32", scope="local", layout=rows)
{start}
Tx.warp.sum(G, F, axes=1, accum=True)
Tx.warp.copy(B, G)
"""


def accumulated(start):
    names = {"frag": TileLayout(S[(32, 4) : (1 @ laneid, 1)]), "rows": TileLayout(S[(32,) : (1 @ laneid,)])}
    body = FRAGMENT.format(use=ACCUMULATE.strip())
    return kernel(body.format(start=start), 32, names=names, A=((32, 4), "float32"), B=((32,), "float32"))


def test_case_40g_accumulating_onto_nothing():
    e = refused(SimError, "uninitialised-read", accumulated("pass"), numbers(32, 4), zeros(32))
    assert "G is read before it is written" in e.message and e.location.line == 12


def test_case_40g_accumulating_onto_zero():
    a, b = numbers(32, 4), zeros(32)
    run(accumulated("Tx.warp.zero(G)"), a, b)
    np.testing.assert_array_equal(b, a.sum(1))


# ---- the table ----


def names_in(name):
    return set(re.findall(r"^def (test_\w+)\(", (ROOT / "tests" / "python" / f"{name}.py").read_text(), re.M))


def test_every_test_of_the_table_exists():
    text = (ROOT / "docs" / "bug-cases.md").read_text()
    rows = [line for line in text.splitlines() if re.match(r"\| \d", line)]
    assert [row.split("|")[1].strip() for row in rows] == (
        "10 12 13 15 16 17 18 19 21 25 28 29 30 31 33 37 38 39 40a 40b 40c 40d 40e 40f 40g".split()
    )
    named = set()
    for row in rows:
        failing, legal = row.split("|")[3:5]
        for column in (failing, legal):
            tests = re.findall(r"`(test_\w+)::(test_\w+)`", column)
            assert tests, row
            named.update(tests)
        assert failing != legal
    known = {(f, t) for f in {f for f, _ in named} for t in names_in(f)}
    assert named <= known, named - known
    here = {t for t in names_in("test_bug_cases") if t.startswith("test_case_")}
    assert here <= {t for _, t in named}, here - {t for _, t in named}
