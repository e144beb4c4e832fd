"""Values: conversions against ml_dtypes for every code, arithmetic of every type, atomics, packed cvt."""

import ml_dtypes
import numpy as np
import pytest
from sim_kernels import Builder, tid

from tirx import ir

pytestmark = pytest.mark.filterwarnings("ignore:invalid value")

F8 = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3b11fnuz",
      "float8_e4m3", "float8_e3m4", "float8_e8m0fnu"]  # fmt: skip
MAX_FINITE = {"float8_e4m3fn": 448, "float8_e5m2": 57344, "float8_e4m3fnuz": 240, "float8_e5m2fnuz": 57344,
              "float8_e4m3b11fnuz": 30, "float8_e4m3": 240, "float8_e3m4": 15.5}  # fmt: skip


def np_type(name):
    return np.dtype(getattr(ml_dtypes, name, name))


def elementwise(f, inputs, out_dtype, threads=256):
    """out[i] = f(x[i], ...) on flat arrays of one length, by a grid that covers it."""
    n = inputs[0].size
    k = Builder(threads=threads, grid=(n // threads,))
    names = [k.buffer(f"x{i}", n, x.dtype.name) for i, x in enumerate(inputs)]
    out = k.buffer("out", n, out_dtype)
    i = k.bind("i", ir.call("int32", "tx.cta_index", [0]) * threads + tid())
    k.store(out, i, f(*[k.load(b, i) for b in names]))
    got = np.zeros(n, np_type(out_dtype))
    k.run(*inputs, got, observers=("bounds",))
    return got


def cast(x, to):
    return elementwise(lambda v: v.astype(to), [x], to)


def codes(name):
    return np.arange(256, dtype=np.uint8).view(np_type(name))


def same(a, b):
    """Equal values, NaN equal to NaN, zeros of one sign."""
    a, b = np.asarray(a), np.asarray(b)
    nan = np.isnan(a) & np.isnan(b)
    return nan | ((a == b) & (np.signbit(a) == np.signbit(b)))


@pytest.mark.parametrize("name", F8)
def test_every_fp8_code_decodes_as_ml_dtypes(name):
    x = codes(name)
    assert same(cast(x, "float32"), x.astype(np.float32)).all()


@pytest.mark.parametrize("name", [f for f in F8 if f != "float8_e8m0fnu"])
@pytest.mark.parametrize("source", ["float16", "bfloat16"])
def test_every_16_bit_code_rounds_to_fp8_as_ml_dtypes_and_saturates(name, source):
    x = np.arange(65536, dtype=np.uint16).view(np_type(source))
    wide = x.astype(np.float32)
    limit = np.float32(MAX_FINITE[name])
    want = np.clip(wide, -limit, limit).astype(np_type(name)).astype(np.float32)
    want = np.where(np.isnan(wide), np.nan, want).astype(np.float32)
    got = cast(x, name).astype(np.float32)
    assert same(np.abs(got), np.abs(want)).all() and (got[~np.isnan(got)] == want[~np.isnan(want)]).all()


def around(values):
    """Each float32 value, its two neighbours, and all of their negatives."""
    v = np.asarray(values, np.float32)
    v = np.concatenate([v, np.nextafter(v, np.float32(-np.inf)), np.nextafter(v, np.float32(np.inf))])
    v = np.concatenate([v, -v, np.float32([0, 1, np.inf, -np.inf, np.nan, 1e-45, 3e38])])
    return np.concatenate([v, np.zeros(-v.size % 256, np.float32)])


@pytest.mark.parametrize("to", ["float16", "bfloat16"])
def test_float32_rounds_to_halves_at_every_midpoint(to):
    grid = np.arange(0x8000, dtype=np.uint16).view(np_type(to)).astype(np.float64)
    grid = grid[np.isfinite(grid)]
    x = around(((grid[:-1] + grid[1:]) / 2).astype(np.float32))
    with np.errstate(over="ignore"):
        want = x.astype(np_type(to)).astype(np.float32)
    assert same(cast(x, to).astype(np.float32), want).all()


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_float32_rounds_to_fp8_at_every_midpoint(name):
    grid = np.sort(codes(name).astype(np.float64))
    grid = np.unique(np.abs(grid[np.isfinite(grid)]))
    x = around((grid[:-1] + grid[1:]) / 2)
    limit = np.float32(MAX_FINITE[name])
    want = np.clip(x, -limit, limit).astype(np_type(name)).astype(np.float32)
    assert same(cast(x, name).astype(np.float32), want).all()


def test_listed_conversions():
    x = np.zeros(256, np.float32)
    x[:6] = 1.0625001, 400.199585, 464.0, 1e6, np.nan, 2.0**-10
    assert cast(x, "float8_e4m3fn").astype(np.float32)[:4].tolist() == [1.125, 416, 448, 448]
    assert cast(x, "float8_e4m3fn").view(np.uint8)[4:6].tolist() == [0x7F, 0x00]
    half = np.zeros(256, np.float16)
    half[0] = 1.125
    assert cast(half, "float8_e5m2").astype(np.float32)[0] == 1.0
    for name, nan in (
        ("float8_e4m3fn", (0x7F, 0xFF)),
        ("float8_e4m3fnuz", (0x80,)),
        ("float8_e5m2", (0x7E,)),
    ):
        assert np.isnan(cast(codes(name), "float32")[list(nan)]).all()
    assert np.isinf(cast(codes("float8_e5m2"), "float32")[0x7C])


def test_a_double_rounds_once():
    """1 + 2^-11 is a tie in float16; a little more must go up although float32 cannot see it."""
    x = np.full(256, 1 + 2.0**-11 + 2.0**-40)
    assert (cast(x, "float16") == np.float16(1 + 2.0**-10)).all()
    y = np.full(256, 1 + 2.0**-4 + 2.0**-40)
    assert (cast(y, "float8_e4m3fn").astype(np.float32) == 1.125).all()


def test_e8m0_rounds_up_and_has_no_sign():
    x = np.zeros(256, np.float32)
    x[:5] = 1.5, 1.0, 2.0**-130, np.nan, np.inf
    assert cast(x, "float8_e8m0fnu").view(np.uint8)[:5].tolist() == [128, 127, 0, 255, 254]
    assert same(cast(codes("float8_e8m0fnu"), "bfloat16").astype(np.float32),
                codes("float8_e8m0fnu").astype(np.float32)).all()  # fmt: skip


def test_fp4_is_packed_two_to_a_byte():
    x = np.zeros(256, np.float32)
    x[:9] = 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 100, -0.6
    got = cast(x, "float4_e2m1fn")
    assert got.astype(np.float32)[:9].tolist() == [0, 1, 1, 2, 2, 4, 4, 6, -0.5]
    assert (cast(got, "float32") == got.astype(np.float32)).all()


@pytest.mark.parametrize("to", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_float_to_integer_truncates_and_clamps(to):
    x = np.zeros(256, np.float32)
    x[:6] = 1.9, -1.9, 100.5, np.nan, 0.0, 127.0
    want = [1, -1 if to.startswith("i") else 0, 100, 0, 0, 127]
    if to in ("int64", "uint64"):
        want[3] = -(2**63) if to == "int64" else 2**63
    if to == "uint8":
        want[1] = 0
    assert cast(x, to)[:6].tolist() == want
    big = np.full(256, 1e20, np.float32)
    if to[-2:] in ("32", "64"):
        assert (cast(big, to) == np.iinfo(to).max).all()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_integer_arithmetic_wraps(dtype):
    rng = np.random.default_rng(1)
    info = np.iinfo(dtype)
    a = rng.integers(info.min, info.max, 512, dtype=dtype, endpoint=True)
    b = rng.integers(info.min, info.max, 512, dtype=dtype, endpoint=True)
    a[:2], b[:2] = info.max, (1, info.max)
    with np.errstate(over="ignore"):
        for f in (lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x ^ y):
            assert (elementwise(f, [a, b], dtype) == f(a, b)).all()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64"])
def test_division_rounds_as_its_name_says(dtype):
    rng = np.random.default_rng(2)
    low = -100 if dtype.startswith("i") else 0
    a = rng.integers(low, 100, 512).astype(dtype)
    b = rng.integers(1, 9, 512).astype(dtype) * (rng.choice([-1, 1], 512) if low else 1)
    b = b.astype(dtype)

    def named(name):
        return lambda x, y: ir.Binary(name, x, y)

    assert (elementwise(named("floordiv"), [a, b], dtype) == a // b).all()
    assert (elementwise(named("floormod"), [a, b], dtype) == a % b).all()
    quotient = np.trunc(a.astype(np.float64) / b.astype(np.float64)).astype(dtype)
    assert (elementwise(named("truncdiv"), [a, b], dtype) == quotient).all()
    assert (elementwise(named("truncmod"), [a, b], dtype) == np.fmod(a, b)).all()


def test_shifts_by_the_width_or_more():
    x = np.full(256, -8, np.int32)
    s = np.arange(256, dtype=np.int32)
    right = elementwise(lambda a, b: ir.Binary("shift_right", a, b), [x, s], "int32")
    left = elementwise(lambda a, b: ir.Binary("shift_left", a, b), [x, s], "int32")
    assert right.tolist() == [-8 >> min(i, 31) for i in range(256)]
    assert left.view(np.uint32).tolist() == [
        (0xFFFFFFF8 << i) & 0xFFFFFFFF if i < 32 else 0 for i in range(256)
    ]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_float_arithmetic_rounds_once(dtype):
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal(4096).astype(np_type(dtype)) for _ in range(2))
    for f in (lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x / y):
        assert same(elementwise(f, [a, b], dtype).astype(np.float64), f(a, b).astype(np.float64)).all()


def test_min_max_of_nan_and_zeros():
    a = np.zeros(256, np.float32)
    b = np.zeros(256, np.float32)
    a[:4], b[:4] = [np.nan, 1.0, -0.0, np.nan], [1.0, np.nan, 0.0, np.nan]
    low = elementwise(lambda x, y: ir.Binary("min", x, y), [a, b], "float32")[:4]
    high = elementwise(lambda x, y: ir.Binary("max", x, y), [a, b], "float32")[:4]
    assert same(low, np.float32([1, 1, -0.0, np.nan])).all()
    assert same(high, np.float32([1, 1, 0.0, np.nan])).all()


def test_fma_is_fused_in_every_type():
    a, b = np.full(256, 1 + 2.0**-12, np.float32), np.full(256, 1 - 2.0**-12, np.float32)
    c = np.full(256, -1, np.float32)
    got = elementwise(lambda *v: ir.call("float32", "tx.fma", list(v)), [a, b, c], "float32")
    assert (got == np.float32(-(2.0**-24))).all()
    rng = np.random.default_rng(4)
    h = [rng.standard_normal(4096).astype(np.float16) for _ in range(3)]
    got = elementwise(lambda *v: ir.call("float16", "tx.fma", list(v)), h, "float16")
    wide = [v.astype(np.longdouble) for v in h]
    assert (got == (wide[0] * wide[1] + wide[2]).astype(np.float16)).all()


@pytest.mark.parametrize(
    "name", ["exp", "exp2", "log", "log2", "sqrt", "sin", "cos", "tanh", "floor", "ceil"]
)
def test_math_functions(name):
    x = np.random.default_rng(5).uniform(0.1, 4, 512).astype(np.float32)
    got = elementwise(lambda v: ir.call("float32", "tx." + name, [v]), [x], "float32")
    assert (got == getattr(np, name)(x.astype(np.float64)).astype(np.float32)).all()


def test_reinterpret_keeps_bits():
    x = np.random.default_rng(6).standard_normal(256).astype(np.float32)
    got = elementwise(lambda v: ir.call("uint32", "tx.reinterpret", [v]), [x], "uint32")
    assert (got == x.view(np.uint32)).all()


@pytest.mark.parametrize("dtype, op, fold", [
    ("int32", "add", np.add), ("float32", "add", np.add), ("int32", "max", np.maximum),
    ("float32", "min", np.minimum), ("uint32", "or", np.bitwise_or), ("int64", "add", np.add)])  # fmt: skip
def test_atomics_of_all_threads(dtype, op, fold):
    k = Builder(threads=64, grid=(4,))
    x, acc = k.buffer("x", 256, dtype), k.buffer("acc", 2, dtype)
    i = k.bind("i", ir.call("int32", "tx.cta_index", [0]) * 64 + tid())
    place = ir.call("handle", "tx.address_of", [k.load(acc, i % 2)])
    k.stmts.append(ir.Evaluate(ir.call(dtype, f"cuda.atomic_{op}", [place, k.load(x, i)])))
    values = np.random.default_rng(7).integers(1, 100, 256).astype(dtype)
    got = np.full(2, 50, dtype)
    k.run(values, got)
    assert got.tolist() == [fold.reduce(values[j::2], initial=50) for j in range(2)]


def test_atomic_returns_the_old_value():
    k = Builder(threads=64)
    acc, out = k.buffer("acc", 1, "int32"), k.buffer("out", 64, "int32")
    place = ir.call("handle", "tx.address_of", [k.load(acc, 0)])
    k.store(out, tid(), k.bind("old", ir.call("int32", "cuda.atomic_add", [place, ir.const(3, "int32")])))
    a, got = np.zeros(1, np.int32), np.zeros(64, np.int32)
    k.run(a, got)
    assert a[0] == 192 and sorted(got) == list(range(0, 192, 3))


def packed_cvt(name, x, registers, out_dtype="uint32", arch="sm_100a"):
    """One cvt by 32 threads on x [32, registers]."""
    k = Builder(threads=32)
    a, out = k.buffer("a", x.size, x.dtype.name), k.buffer("out", 32, out_dtype)
    d = k.alloc("d", 1, out_dtype, "local")
    values = [k.bind(f"v{i}", k.load(a, tid() * registers + i)) for i in range(registers)]
    k.call("ptx.cvt." + name, [k.load(d, 0), *values])
    k.store(out, tid(), k.load(d, 0))
    got = np.zeros(32, out_dtype)
    k.run(x.reshape(-1).copy(), got, arch=arch)
    return got


def test_cvt_puts_the_first_source_in_the_upper_half():
    x = np.random.default_rng(8).standard_normal((32, 2)).astype(np.float32)
    got = packed_cvt("rn.f16x2.f32", x, 2).view(np.float16).reshape(32, 2)
    assert (got == x[:, ::-1].astype(np.float16)).all()
    got = packed_cvt("rn.satfinite.e4m3x2.f32", x, 2, "uint16").view(ml_dtypes.float8_e4m3fn).reshape(32, 2)
    assert (got == x[:, ::-1].astype(ml_dtypes.float8_e4m3fn)).all()
    got = packed_cvt("rn.satfinite.e2m1x2.f32", x, 2, "uint16")
    want = x.astype(ml_dtypes.float4_e2m1fn).view(np.uint8)
    assert (got == (want[:, 0].astype(np.uint16) << 4 | want[:, 1])).all()


def test_cvt_roundings():
    x = np.float32([[1.5, 3.0]] * 32)
    assert set(packed_cvt("rz.satfinite.ue8m0x2.f32", x, 2, "uint16")) == {127 << 8 | 128}
    assert set(packed_cvt("rp.satfinite.ue8m0x2.f32", x, 2, "uint16")) == {128 << 8 | 129}
    y = np.float32([[1 + 2.0**-11, -(1 + 2.0**-11 + 2.0**-20)]] * 32)
    assert packed_cvt("rz.f16x2.f32", y, 2).view(np.float16)[:2].tolist() == [-1, 1]
    z = np.float32([[1 + 2.0**-11], [1 + 2.0**-12]] * 16)
    assert packed_cvt("rna.tf32.f32", z, 1).view(np.float32)[:2].tolist() == [1 + 2.0**-10, 1]


def test_cvt_unpacks_in_memory_order():
    x = np.arange(0, 64, dtype=np.uint8).reshape(32, 2)
    words = x.view(np.uint16)
    got = packed_cvt("rn.f16x2.e4m3x2", words, 1).view(np.float16).reshape(32, 2)
    assert (got == x.view(ml_dtypes.float8_e4m3fn).astype(np.float16)).all()
