"""gemm, pointwise and reductions on CUDA targets: simulated, against NumPy, at every scope and for odd shapes."""

import linecache
from itertools import count

import ml_dtypes
import numpy as np
import pytest

import tirx
from tirx import layout as L
from tirx.errors import DispatchError, ScopeError, TirxError, TypeMismatch
from tirx.script import T, Tx
from tirx.tile import explain

_SERIAL = count()


def build(text, **names):
    """The function `f` that `text` defines, with `names` in scope."""
    file = f"<test_rules_compute_{next(_SERIAL)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {"T": T, "Tx": Tx, "S": L.S, "R": L.R, "TileLayout": L.TileLayout, "laneid": L.laneid,
             "warpid": L.warpid, "wid_in_wg": L.wid_in_wg, **names}  # fmt: skip
    exec(compile(text, file, "exec"), space)
    return space["f"]


def simulate(func, *args, target="cuda/sm_90a", **options):
    exe = tirx.compile(func, target, mode="simulate")
    exe(*args, **options)
    return exe


def chosen(func, target="cuda/sm_90a"):
    """Variants by tile call, in order."""
    return [c["variant"] for c in explain(func, target).to_dict()["calls"]]


# ---- pointwise ----

POINTWISE = """
@T.prim_func
def f(A_ptr: T.handle, B_ptr: T.handle, C_ptr: T.handle):
    A = T.match_buffer(A_ptr, ({shape}), "{dtype}")
    B = T.match_buffer(B_ptr, ({shape}), "{dtype}")
    C = T.match_buffer(C_ptr, ({shape}), "{dtype}")
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([{threads}])
    {alloc}
    {body}
"""

BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "fdiv": np.divide, "maximum": np.maximum,
          "minimum": np.minimum}  # fmt: skip


def numpy_dtype(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("op", BINARY)
def test_binary_in_memory(op, dtype):
    text = POINTWISE.format(
        shape="24, 40", dtype=dtype, threads=64, alloc="", body=f"Tx.cta.{op}(C[:, :], A[:, :], B[:, :])"
    )
    rng = np.random.default_rng(1)
    a, b = (rng.uniform(0.5, 2, (24, 40)).astype(numpy_dtype(dtype)) for _ in range(2))
    c = np.zeros_like(a)
    simulate(build(text), a, b, c)
    want = BINARY[op](a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)
    np.testing.assert_array_equal(c.astype(np.float32), want.astype(np.float32))


UNARY = {
    "sqrt": np.sqrt, "exp": np.exp, "exp2": np.exp2, "log2": np.log2, "reciprocal": lambda x: 1 / x,
    "silu": lambda x: x / (1 + np.exp(-x)),
}  # fmt: skip


@pytest.mark.parametrize("op", UNARY)
def test_unary_in_registers_with_scale_and_bias(op):
    body = f"""
    r = T.alloc_local((3,), "float32")
    Tx.copy(r[:], A[tx, 0:3])
    Tx.{op}(r[:], r[:], T.float32(0.5), T.float32(2))
    Tx.copy(C[tx, 0:3], r[:])"""
    func = build(POINTWISE.format(shape="32, 3", dtype="float32", threads=32, alloc="", body=body))
    a = np.random.default_rng(2).uniform(0.1, 3, (32, 3)).astype(np.float32)
    c = np.zeros_like(a)
    simulate(func, a, a.copy(), c)
    np.testing.assert_allclose(c, UNARY[op](a.astype(np.float64) * 2 + 0.5), rtol=2e-6, atol=2e-7)


def test_fma_and_select():
    body = """
    Tx.cta.fma(C[:, :], A[:, :], T.float32(3), B[:, :])
    T.cuda.cta_sync()
    Tx.cta.select(C[:, :], C[:, :], B[:, :], A[:, :])"""
    func = build(POINTWISE.format(shape="7, 13", dtype="float32", threads=32, alloc="", body=body))
    rng = np.random.default_rng(3)
    a = rng.integers(-2, 3, (7, 13)).astype(np.float32)
    b, c = rng.standard_normal((7, 13)).astype(np.float32), np.zeros((7, 13), np.float32)
    simulate(func, a, b, c)
    want = np.where(a != 0, np.float32(3) * a.astype(np.float64) + b, b).astype(np.float32)
    np.testing.assert_array_equal(c, want)


@pytest.mark.parametrize("width", [24, 32, 40, 48, 64, 96])
def test_broadcast_of_a_row_works_for_every_width(width):
    """A row of any width over 32 or 64 threads (a 48-wide vector once divided by zero elsewhere)."""
    for threads in (32, 64):
        text = POINTWISE.format(
            shape=f"4, {width}", dtype="float32", threads=threads, alloc="",
            body="Tx.cta.mul(C[:, :], A[0:1, :], T.float32(2))",
        )  # fmt: skip
        a = np.random.default_rng(4).standard_normal((4, width)).astype(np.float32)
        c = np.zeros_like(a)
        simulate(build(text), a, a.copy(), c)
        np.testing.assert_array_equal(c, np.broadcast_to(a[:1] * 2, c.shape))


def test_shapes_that_do_not_broadcast_are_an_error():
    text = POINTWISE.format(
        shape="4, 8", dtype="float32", threads=32, alloc="", body="Tx.cta.add(C[:, :], A[0:2, :], B[:, :])"
    )
    with pytest.raises(TypeMismatch) as e:
        tirx.compile(build(text), "cuda/sm_90a")
    assert e.value.code == "operand-shapes-differ" and "[2, 8]" in e.value.found and "[4, 8]" in e.value.found


# ---- reductions ----

REDUCE = """
@T.prim_func
def f(A_ptr: T.handle, B_ptr: T.handle):
    A = T.match_buffer(A_ptr, {a}, "{dtype}")
    B = T.match_buffer(B_ptr, {b}, "{dtype}")
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([{threads}])
    {body}
"""
FOLDS = {"sum": np.sum, "max": np.max, "min": np.min}


def reduce_case(body, a, b, threads, dtype="float32", **names):
    return build(REDUCE.format(a=a.shape, b=b.shape, dtype=dtype, threads=threads, body=body), **names)


@pytest.mark.parametrize("op", FOLDS)
@pytest.mark.parametrize("shape, axes", [((8, 64), 1), ((64, 8), 0), ((5, 7, 11), (0, 2)), ((3, 100), -1)])
@pytest.mark.parametrize("threads", [32, 96, 128])
def test_reduce_memory(op, shape, axes, threads):
    a = np.random.default_rng(5).integers(-50, 50, shape).astype(np.float32)
    want = FOLDS[op](a, axis=axes)
    b = np.zeros(want.shape, np.float32)
    body = f"Tx.cta.{op}(B, A, axes={list(axes) if isinstance(axes, tuple) else axes})"
    func = reduce_case(body, a, b, threads)
    simulate(func, a, b)
    np.testing.assert_array_equal(b, want)


@pytest.mark.parametrize("width", [1, 2, 3, 17, 31, 32, 33, 47, 48, 64, 65, 95, 96])
def test_sum_over_any_number_of_elements(width):
    """1 + ... + 48 over 48 lanes is 1176."""
    a, b = np.arange(1, width + 1, dtype=np.float32), np.zeros(1, np.float32)
    simulate(reduce_case("Tx.cta.sum(B, A, axes=0)", a, b, 96), a, b)
    assert b[0] == width * (width + 1) // 2


def test_accumulate_adds_to_what_is_there():
    a, b = np.ones((4, 16), np.float32), np.full(4, 10, np.float32)
    simulate(reduce_case("Tx.cta.sum(B, A, axes=1, accum=True)", a, b, 64), a, b)
    np.testing.assert_array_equal(b, np.full(4, 26, np.float32))


FRAGMENT = """
    x = T.alloc_buffer({shape}, "float32", scope="local", layout=layout)
    r = T.alloc_buffer({out}, "float32", scope="local", layout=result)
    Tx.{scope}.copy(x, A)
    Tx.{scope}.{op}(r, x, axes={axes})
    Tx.{scope}.copy(B, r)"""


def fragment_case(op, scope, shape, out, axes, layout, result, threads):
    a = np.random.default_rng(6).integers(-99, 99, shape).astype(np.float32)
    b = np.zeros(out, np.float32)
    body = FRAGMENT.format(shape=shape, out=out, scope=scope, op=op, axes=axes)
    func = reduce_case(body, a, b, threads, layout=L.TileLayout(layout), result=L.TileLayout(result))
    simulate(func, a, b)
    np.testing.assert_array_equal(b.reshape(-1), FOLDS[op](a, axis=axes).reshape(-1))
    return func


@pytest.mark.parametrize("op", FOLDS)
def test_reduce_fragment_in_a_warp(op):
    """Rows of an m16n8 accumulator: registers, then the 4 lanes of a quad."""
    S, R, lane = L.S, L.R, L.laneid
    fragment_case(op, "warp", (16, 8), (16,), 1, S[(2, 8, 4, 2) : (2, 4 @ lane, 1 @ lane, 1)],
                  S[(2, 8) : (1, 4 @ lane)] + R[4 : 1 @ lane], 32)  # fmt: skip


def test_reduce_fragment_across_warps():
    S, R = L.S, L.R
    func = fragment_case(
        "sum", "cta", (1, 512), (1, 1), 1, S[(1, 4, 32, 4) : (0, 1 @ L.warpid, 1 @ L.laneid, 1)],
        S[(1, 1) : (0, 0)] + R[32 : 1 @ L.laneid] + R[4 : 1 @ L.warpid], 128,
    )  # fmt: skip
    assert chosen(func)[1] == "local"


@pytest.mark.parametrize("lanes", [24, 32, 8])
def test_replicas_are_not_elements(lanes):
    """A fragment on some lanes with a copy elsewhere: each element counts once."""
    S, R, lane = L.S, L.R, L.laneid
    if lanes == 24:
        fragment_case(
            "sum", "warp", (24,), (1,), 0, S[(24,) : (1 @ lane,)], S[(1,) : (0,)] + R[24 : 1 @ lane], 32
        )
        return
    copies = 32 // lanes
    layout = S[(lanes,) : (1 @ lane,)] + R[copies : lanes @ lane] if copies > 1 else S[(lanes,) : (1 @ lane,)]
    fragment_case("sum", "warp", (lanes,), (1,), 0, layout, S[(1,) : (0,)] + R[32 : 1 @ lane], 32)


def test_reduce_result_of_the_wrong_shape_is_an_error():
    a, b = np.zeros((4, 8), np.float32), np.zeros(5, np.float32)
    with pytest.raises(TypeMismatch) as e:
        tirx.compile(reduce_case("Tx.cta.sum(B, A, axes=1)", a, b, 32), "cuda/sm_90a")
    assert e.value.code == "operand-shapes-differ" and "(4)" in e.value.required


# ---- gemm ----

GEMM = """
a_atom = {{16: S[(2, 8, 2, 4, 2) : (2, 4 @ laneid, 4, 1 @ laneid, 1)],
          8: S[(2, 8, 4, 2) : (2, 4 @ laneid, 1 @ laneid, 1)]}}
b_atom = {{16: S[(8, 2, 4, 2) : (4 @ laneid, 2, 1 @ laneid, 1)], 8: S[(8, 4, 2) : (4 @ laneid, 1 @ laneid, 1)]}}
d_atom = TileLayout(S[(2, 8, 4, 2) : (2, 4 @ laneid, 1 @ laneid, 1)])
la = TileLayout(a_atom[{atom}]).tile_to([{M}, {K}], [16, {atom}])
lb = TileLayout(b_atom[{atom}]).tile_to([{N}, {K}], [8, {atom}])
ld = d_atom.tile_to([{M}, {N}], [16, 8])

@T.prim_func
def f(A_ptr: T.handle, B_ptr: T.handle, D_ptr: T.handle):
    A = T.match_buffer(A_ptr, ({M}, {K}), "{dtype}")
    B = T.match_buffer(B_ptr, ({N}, {K}), "{dtype}")
    D = T.match_buffer(D_ptr, ({M}, {N}), "{acc}")
    T.device_entry()
    bx = T.cta_id([1])
    warp = T.warp_id([1])
    lane = T.lane_id([32])
    a = T.alloc_buffer(({M}, {K}), "{dtype}", scope="local", layout=la)
    b = T.alloc_buffer(({N}, {K}), "{dtype}", scope="local", layout=lb)
    d = T.alloc_buffer(({M}, {N}), "{acc}", scope="local", layout=ld)
    Tx.warp.copy(a, A)
    Tx.warp.copy(b, B)
    Tx.warp.copy(d, D)
    Tx.warp.gemm(d, a, b, d, transpose_A=False, transpose_B=True, alpha={alpha}, beta={beta})
    Tx.warp.copy(D, d)
"""


@pytest.mark.parametrize(
    "dtype, acc", [("float16", "float32"), ("bfloat16", "float32"), ("float16", "float16")]
)
@pytest.mark.parametrize(
    "M, N, K, atom", [(16, 8, 16, 16), (32, 16, 64, 16), (16, 24, 24, 8), (64, 64, 24, 8)]
)
@pytest.mark.parametrize("alpha, beta", [(1.0, 1.0), (1.0, 0.0), (2.0, 0.5)])
def test_gemm_mma(dtype, acc, M, N, K, atom, alpha, beta):
    func = build(GEMM.format(M=M, N=N, K=K, atom=atom, dtype=dtype, acc=acc, alpha=alpha, beta=beta))
    rng = np.random.default_rng(7)
    a, b = (rng.integers(-2, 3, s).astype(numpy_dtype(dtype)) for s in ((M, K), (N, K)))
    d = rng.integers(-4, 5, (M, N)).astype(acc)
    want = alpha * (a.astype(np.float32) @ b.astype(np.float32).T) + beta * d.astype(np.float32)
    simulate(func, a, b, d)
    np.testing.assert_array_equal(d.astype(np.float32), want)
    assert f"mma.m16n8k{atom}" in chosen(func)


def test_gemm_keeps_the_tail_of_k():
    """A = B = 1 with K = 24 gives 24, not 16."""
    func = build(GEMM.format(M=64, N=64, K=24, atom=8, dtype="float16", acc="float32", alpha=1.0, beta=0.0))
    a, b, d = np.ones((64, 24), np.float16), np.ones((64, 24), np.float16), np.zeros((64, 64), np.float32)
    simulate(func, a, b, d)
    assert (d == 24).all()


FALLBACK = """
@T.prim_func
def f(A_ptr: T.handle, B_ptr: T.handle, D_ptr: T.handle):
    A = T.match_buffer(A_ptr, {a}, "float16")
    B = T.match_buffer(B_ptr, {b}, "float16")
    D = T.match_buffer(D_ptr, {d}, "float32")
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([{threads}])
    Tx.{scope}.gemm(D, A, B, D, transpose_A={ta}, transpose_B={tb}, alpha=1.0, beta={beta})
"""


@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
@pytest.mark.parametrize("scope, threads", [("cta", 64), ("warp", 32), ("cta", 96)])
def test_gemm_fallback_odd_shapes(ta, tb, scope, threads):
    m, n, k = 5, 7, 11
    rng = np.random.default_rng(8)
    a = rng.integers(-3, 4, (k, m) if ta else (m, k)).astype(np.float16)
    b = rng.integers(-3, 4, (n, k) if tb else (k, n)).astype(np.float16)
    d = np.ones((m, n), np.float32)
    text = FALLBACK.format(
        a=a.shape, b=b.shape, d=d.shape, threads=threads, scope=scope, ta=ta, tb=tb, beta=1.0
    )
    func = build(text)
    simulate(func, a, b, d)
    left, right = (a.T if ta else a), (b.T if tb else b)
    np.testing.assert_array_equal(d, left.astype(np.float32) @ right.astype(np.float32) + 1)
    assert chosen(func) == ["fallback"]


def test_gemm_shapes_that_do_not_multiply():
    text = FALLBACK.format(
        a=(4, 8), b=(9, 4), d=(4, 4), threads=32, scope="cta", ta=False, tb=False, beta=0.0
    )
    with pytest.raises(TypeMismatch) as e:
        tirx.compile(build(text), "cuda/sm_80")
    assert e.value.code == "operand-shapes-differ" and "A is float16[4, 8]" in e.value.found


@pytest.mark.parametrize("scope", ["thread", "cta"])
def test_warp_gemm_at_another_scope_is_an_error(scope):
    text = GEMM.format(M=16, N=8, K=16, atom=16, dtype="float16", acc="float32", alpha=1.0, beta=1.0)
    text = text.replace("warp = T.warp_id([1])", "warp = T.warp_id([4])")
    func = build(text.replace("Tx.warp.gemm", f"Tx.{scope}.gemm" if scope != "thread" else "Tx.thread.gemm"))
    with pytest.raises(ScopeError) as e:
        tirx.compile(func, "cuda/sm_90a")
    assert "gemm" in str(e.value) and "Tx.warp.gemm" in e.value.hint and f"{scope} scope" in e.value.found


def test_forced_variant_that_cannot_be_used_names_the_reason():
    text = FALLBACK.format(
        a=(4, 8), b=(8, 4), d=(4, 4), threads=32, scope="warp", ta=False, tb=False, beta=0.0
    )
    func = build(text.replace("beta=0.0)", 'beta=0.0, dispatch="mma.m16n8k16")'))
    with pytest.raises(DispatchError) as e:
        tirx.compile(func, "cuda/sm_90a")
    assert "mma.sync reads and writes registers" in str(e.value)


# ---- past the end ----

EDGE = """
@T.prim_func
def f(A_ptr: T.handle, B_ptr: T.handle):
    A = T.match_buffer(A_ptr, ({m}, {n}), "{dtype}")
    B = T.match_buffer(B_ptr, (64, 64), "{dtype}")
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([128])
    s = T.alloc_shared((64, 64), "{dtype}")
    Tx.cta.{op}(s[:, :], A[0:64, 0:64], oob={value})
    {wait}
    T.cuda.cta_sync()
    Tx.cta.copy(B[:, :], s[:, :])
"""


@pytest.mark.parametrize("m, n", [(60, 60), (64, 64), (1, 64), (50, 33), (63, 62)])
@pytest.mark.parametrize(
    "op, dtype, value", [("copy", "int32", -99), ("copy", "float16", 0), ("copy_async", "float32", 0)]
)
def test_past_the_end_reads_the_value(m, n, op, dtype, value):
    wait = "T.ptx.cp.async_.wait_all()" if op == "copy_async" else "pass"
    func = build(EDGE.format(m=m, n=n, dtype=dtype, op=op, value=value, wait=wait))
    a = np.random.default_rng(9).integers(0, 99, (m, n)).astype(dtype)
    b = np.zeros((64, 64), dtype)
    simulate(func, a, b)
    want = np.full((64, 64), value, dtype)
    want[:m, :n] = a
    np.testing.assert_array_equal(b, want)


def test_past_the_end_is_not_written():
    text = EDGE.format(m=60, n=50, dtype="float32", op="copy", value=0, wait="pass")
    text = text.replace("Tx.cta.copy(B[:, :], s[:, :])", 'Tx.cta.copy(A[32:96, 16:80], s[:, :], oob="skip")')
    a, b = np.zeros((60, 50), np.float32), np.zeros((64, 64), np.float32)
    a[:] = np.arange(3000).reshape(60, 50)
    before = a.copy()
    simulate(build(text), a, b)
    np.testing.assert_array_equal(a[32:, 16:], before[:28, :34])
    np.testing.assert_array_equal(a[:32], before[:32])


def test_unknown_config_key_lists_the_known_ones():
    text = EDGE.format(m=64, n=64, dtype="float32", op="copy", value=0, wait="pass").replace("oob=", "oops=")
    with pytest.raises(TirxError) as e:
        tirx.compile(build(text), "cuda/sm_90a")
    assert "oops" in str(e.value) and "oob" in str(e.value)
