"""Instructions between the lanes of a warp, and matrix moves and products, against NumPy."""

import ml_dtypes
import numpy as np
import pytest
from sim_kernels import Builder, tid

from tirx import errors, ir

FULL = ir.const(0xFFFFFFFF, "uint32")


def warp_value(make, dtype="int32", threads=32, **kw):
    """out[t] of one warp, where make(k) builds the value."""
    k = Builder(threads=threads)
    out = k.buffer("out", threads, dtype)
    k.store(out, tid(), k.bind("v", make(k)))
    got = np.zeros(threads, dtype)
    k.run(got, **kw)
    return got


def expected_shuffle(mode, delta, width):
    def source(lane):
        base = lane // width * width
        j = {"up": lane - delta, "down": lane + delta, "xor": lane ^ delta, "": base + delta % width}[mode]
        inside = {"up": j >= base, "down": j < base + width, "xor": j < base + width, "": True}[mode]
        return j if inside else lane

    return [source(lane) for lane in range(32)]


@pytest.mark.parametrize("mode", ["up", "down", "xor", ""])
@pytest.mark.parametrize("delta, width", [(1, 32), (3, 8), (5, 16), (16, 32)])
def test_shuffles(mode, delta, width):
    name = f"cuda.shfl_{mode}_sync" if mode else "cuda.shfl_sync"
    args = [FULL, tid() * 10, ir.const(delta, "int32"), ir.const(width, "int32")]
    got = warp_value(lambda k: ir.call("int32", name, args))
    assert got.tolist() == [10 * s for s in expected_shuffle(mode, delta, width)]


def test_shuffle_of_a_64_bit_value():
    args = [FULL, tid("int64") * (1 << 40), ir.const(1, "int32")]
    got = warp_value(lambda k: ir.call("int64", "cuda.shfl_xor_sync", args), "int64")
    assert got.tolist() == [(lane ^ 1) << 40 for lane in range(32)]


def half_warp_shuffle(mask):
    k = Builder(threads=32)
    out = k.buffer("out", 32, "int32")
    t = k.bind("t", tid())

    def then():
        args = [ir.const(mask, "uint32"), t, ir.const(1, "int32")]
        s = k.next_span()
        v = ir.Var("v", "int32")
        k.stmts.append(ir.Bind(v, ir.call("int32", "cuda.shfl_xor_sync", args, None, s), span=s))
        k.store(out, t, v)

    k.if_(t < 16, then)
    return k


def test_shuffle_with_inactive_lanes_is_reported():
    with pytest.raises(errors.SimError) as e:
        half_warp_shuffle(0xFFFFFFFF).run(np.zeros(32, np.int32))
    assert e.value.code == "partial-warp"
    assert e.value.message == "cuda.shfl_xor_sync runs without some lanes of its mask"
    assert "lanes 0-15 only" in e.value.found and e.value.location.line == 3


def test_shuffle_among_the_lanes_of_its_mask_is_legal():
    got = np.zeros(32, np.int32)
    half_warp_shuffle(0x0000FFFF).run(got)
    assert got.tolist() == [lane ^ 1 for lane in range(16)] + [0] * 16


def test_votes_and_elect():
    def ballot(k):
        return ir.call("uint32", "cuda.ballot_sync", [FULL, tid() % 3 == 0])

    assert set(warp_value(ballot, "uint32")) == {sum(1 << i for i in range(0, 32, 3))}

    def elect(k):
        return ir.call("bool", "cuda.elect_sync", []).astype("int32")

    assert warp_value(elect).tolist() == [1] + [0] * 31


@pytest.mark.parametrize("op, fold", [("sum", np.sum), ("max", np.max), ("min", np.min)])
@pytest.mark.parametrize("dtype", ["float32", "int32", "float16"])
def test_warp_reductions(op, fold, dtype):
    args = [(tid() % 7).astype(dtype), ir.const(8, "int32")]
    got = warp_value(lambda k: ir.call(dtype, f"cuda.warp_{op}", args), dtype)
    values = (np.arange(32) % 7).astype(dtype).reshape(4, 8)
    assert (got.reshape(4, 8) == fold(values, axis=1, keepdims=True)).all()


def test_redux():
    got = warp_value(lambda k: ir.call("int32", "cuda.reduce_add_sync_s32", [FULL, tid() - 40]))
    assert set(got) == {sum(range(-40, -8))}


def load_fragments(k, shared, count, trans, address):
    """ldmatrix of `count` matrices into r[0:count]."""
    r = k.alloc("r", count, "uint32", "local")
    name = f"ptx.ldmatrix.sync.aligned.m8n8.x{count}{'.trans' if trans else ''}.shared.b16"
    places = [k.load(r, i) for i in range(count)]
    k.call(name, [*places, ir.call("handle", "tx.address_of", [k.load(shared, address)])])
    return r


@pytest.mark.parametrize("trans", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_ldmatrix(count, trans):
    k = Builder(threads=32)
    a, out = k.buffer("A", 32 * 8, "uint16"), k.buffer("out", 32 * count, "uint32")
    sm = k.alloc("sm", 32 * 8, "uint16")
    k.for_(8, lambda i: k.store(sm, tid() * 8 + i, k.load(a, tid() * 8 + i)))
    k.call("cuda.warp_sync")
    r = load_fragments(k, sm, count, trans, tid() * 8)
    k.for_(count, lambda i: k.store(out, tid() * count + i, k.load(r, i)), kind="unroll")
    x = np.arange(256, dtype=np.uint16)
    got = np.zeros(32 * count, np.uint32)
    report = k.run(x, got)
    m = x.reshape(4, 8, 8)
    m = m.transpose(0, 2, 1) if trans else m
    got = got.view(np.uint16).reshape(32, count, 2)
    for lane in range(32):
        for i in range(count):
            assert got[lane, i].tolist() == m[i, lane // 4, 2 * (lane % 4) : 2 * (lane % 4) + 2].tolist()
    loads = report.counters["shared_load"]
    assert (loads["shared_requests"], loads["bank_conflicts"]) == (1, 0)


def test_ldmatrix_row_addresses_must_be_aligned():
    k = Builder(threads=32)
    sm = k.alloc("sm", 32 * 8 + 8, "uint16")
    k.for_(8, lambda i: k.store(sm, tid() * 8 + i, ir.const(0, "uint16")))
    load_fragments(k, sm, 4, False, tid() * 8 + 4)
    with pytest.raises(errors.SimError) as e:
        k.run(observers=("bounds",))
    assert e.value.code == "misaligned-access" and "multiple of 16" in e.value.required


def test_ldmatrix_past_its_tile_into_the_next_one():
    """The rows of the second half lie in `next`: inside shared memory, outside the buffer."""
    k = Builder(threads=32)
    sm, after = k.alloc("sm", 16 * 8, "uint16"), k.alloc("next", 16 * 8, "uint16")
    for buffer in (sm, after):
        k.for_(4, lambda i: k.store(buffer, i * 32 + tid(), ir.const(0, "uint16")))
    load_fragments(k, sm, 4, False, tid() * 8)
    with pytest.raises(errors.SimError) as e:
        k.run()
    assert e.value.code == "out-of-bounds" and "16 bytes at byte 256" in e.value.found
    assert "lanes 16-31 are outside" in e.value.found
    k.run(observers=("init",))


def test_ldmatrix_conflicts_are_counted():
    """Rows 128 bytes apart all start in bank 0: eight wavefronts instead of one."""
    k = Builder(threads=32)
    sm = k.alloc("sm", 8 * 64, "uint16")
    k.for_(16, lambda i: k.store(sm, i * 32 + tid(), ir.const(0, "uint16")))
    k.call("cuda.warp_sync")
    load_fragments(k, sm, 1, False, tid() % 8 * 64)
    assert k.run().counters["shared_load"]["bank_conflicts"] == 7


FRAGMENT = {"f16": ("float16", 16), "bf16": (ml_dtypes.bfloat16, 16), "tf32": ("float32", 32),
            "e4m3": (ml_dtypes.float8_e4m3fn, 8), "e5m2": (ml_dtypes.float8_e5m2, 8),
            "s8": ("int8", 8), "u8": ("uint8", 8)}  # fmt: skip


def words_of_a(a):
    """Registers [lane, j] of A: bytes 16(j/2)+4q of row g+8(j%2). (PTX ISA 9.7.14.5)"""
    w = np.ascontiguousarray(a).view(np.uint32)
    return np.array([[w[g + 8 * (j % 2), 4 * (j // 2) + q] for j in range(w.shape[1] // 2)]
                     for g in range(8) for q in range(4)])  # fmt: skip


def words_of_b(b):
    """Registers [lane, j] of B given as [column, k]: bytes 16j+4q of column g."""
    w = np.ascontiguousarray(b).view(np.uint32)
    return np.array([[w[g, 4 * j + q] for j in range(w.shape[1] // 4)] for g in range(8) for q in range(4)])


def run_mma(k_extent, a_type, b_type, acc, a, b, c, suffix="", **kw):
    """D of one warp's mma.sync from matrices a [16, k], b [8, k] (columns), c [16, 8]."""
    fa, fb = words_of_a(a), words_of_b(b)
    half = acc == "f16"
    fc = np.array(
        [[c[g + 8 * (i // 2), 2 * q + i % 2] for i in range(4)] for g in range(8) for q in range(4)]
    )
    fc = np.ascontiguousarray(fc)
    fc = fc.view(np.uint32) if half else fc
    k = Builder(threads=32)
    ctype = {"f32": "float32", "s32": "int32", "f16": "uint32"}[acc]
    nc, na, nb = fc.shape[1], fa.shape[1], fb.shape[1]
    ins = [k.buffer("A", fa.size, "uint32"), k.buffer("B", fb.size, "uint32"), k.buffer("C", fc.size, ctype)]
    out = k.buffer("D", fc.size, ctype)
    regs = []
    for buffer, n, dtype in zip(ins, (na, nb, nc), ("uint32", "uint32", ctype)):
        r = k.alloc("r" + buffer.name, n, dtype, "local")
        for i in range(n):
            k.store(r, i, k.load(buffer, tid() * n + i))
        regs.append([k.load(r, i) for i in range(n)])
    d = regs[2]  # in place: D is C
    name = f"ptx.mma.sync.aligned.m16n8k{k_extent}.row.col{suffix}.{acc}.{a_type}.{b_type}.{acc}"
    k.call(name, [*d, *regs[0], *regs[1], *regs[2]])
    for i in range(nc):
        k.store(out, tid() * nc + i, d[i])
    got = np.zeros(fc.size, fc.dtype)
    k.run(fa.reshape(-1).copy(), fb.reshape(-1).copy(), fc.reshape(-1).copy(), got, arch="sm_120a", **kw)
    got = got.view(np.float16 if half else got.dtype).reshape(32, 4)
    full = np.zeros((16, 8), got.dtype)
    for lane in range(32):
        for i in range(4):
            full[lane // 4 + 8 * (i // 2), 2 * (lane % 4) + i % 2] = got[lane, i]
    return full


SHAPES = [(8, "f16", "f16", "f32"), (16, "f16", "f16", "f32"), (16, "f16", "f16", "f16"),
          (8, "bf16", "bf16", "f32"), (16, "bf16", "bf16", "f32"), (4, "tf32", "tf32", "f32"),
          (8, "tf32", "tf32", "f32"), (16, "e4m3", "e5m2", "f32"), (32, "e5m2", "e4m3", "f32"),
          (32, "e4m3", "e4m3", "f16"), (16, "s8", "u8", "s32"), (32, "u8", "s8", "s32")]  # fmt: skip


@pytest.mark.parametrize("k, a_type, b_type, acc", SHAPES)
def test_mma_of_small_integers_is_exact(k, a_type, b_type, acc):
    """Small integer matrices: every order of summation gives the same result, whatever the fragment map."""
    rng = np.random.default_rng(k)
    low = 0 if "u8" in (a_type, b_type) else -3
    a = rng.integers(low, 4, (16, k)).astype(FRAGMENT[a_type][0])
    b = rng.integers(low, 4, (8, k)).astype(FRAGMENT[b_type][0])
    c = rng.integers(-4, 5, (16, 8)).astype({"f32": np.float32, "f16": np.float16, "s32": np.int32}[acc])
    want = a.astype(np.int64) @ b.astype(np.int64).T + c.astype(np.int64)
    assert (run_mma(k, a_type, b_type, acc, a, b, c) == want).all()


def test_mma_adds_in_order_of_k_or_in_float64():
    a, b = np.zeros((16, 16), np.float16), np.ones((8, 16), np.float16)
    a[:, 0], a[:, 1:] = 4096.0, 2.0**-12
    c = np.zeros((16, 8), np.float32)
    in_order = np.float32(4096.0)
    for _ in range(15):
        in_order = np.float32(in_order + np.float32(2.0**-12))
    assert (run_mma(16, "f16", "f16", "f32", a, b, c) == in_order).all()
    exact = np.float32(4096.0 + 15 * 2.0**-12)
    assert exact != in_order
    assert (run_mma(16, "f16", "f16", "f32", a, b, c, mma_accumulate="f64") == exact).all()


def test_mma_satfinite_clamps_and_plain_wraps():
    a, b = np.full((16, 16), 127, np.int8), np.full((8, 16), 127, np.int8)
    c = np.full((16, 8), 2**31 - 5, np.int32)
    assert (run_mma(16, "s8", "s8", "s32", a, b, c, ".satfinite") == 2**31 - 1).all()
    assert (run_mma(16, "s8", "s8", "s32", a, b, c) == -(2**31) - 5 + 16 * 127 * 127).all()


def test_tf32_operands_lose_their_low_bits():
    a, b = np.full((16, 4), 1 + 2.0**-12, np.float32), np.ones((8, 4), np.float32)
    assert (run_mma(4, "tf32", "tf32", "f32", a, b, np.zeros((16, 8), np.float32)) == 4).all()


def test_mma_by_part_of_a_warp_is_reported():
    k = Builder(threads=32)
    r = k.alloc("r", 4, "uint32", "local")
    d = k.alloc("d", 4, "float32", "local")
    for i in range(4):
        k.store(r, i, ir.const(0, "uint32"))
        k.store(d, i, ir.FloatImm("float32", 0.0))
    regs = [k.load(r, i) for i in range(4)]
    ds = [k.load(d, i) for i in range(4)]
    name = "ptx.mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    k.if_(tid() < 31, lambda: k.call(name, [*ds, *regs, *regs[:2], *ds]))
    with pytest.raises(errors.SimError) as e:
        k.run()
    assert e.value.code == "partial-warp" and "lanes 0-30 only" in e.value.found
