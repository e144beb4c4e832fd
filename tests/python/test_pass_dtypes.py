"""legalize_dtypes: small floats are computed in float32, which changes no result."""

import numpy as np
import pytest
import tvm_ffi
from native_eval import np_dtype, run

from tirx import Target, ir

legalize_dtypes = tvm_ffi.get_global_func("tx.passes.legalize_dtypes")
SMALL = ["float8_e4m3fn", "float8_e5m2", "bfloat16", "float16"]


def elementwise(dtype, n, make):
    """C[i] = make(A[i], B[i]) over n elements of dtype (the result's dtype decides C's)."""
    a, b = ir.Buffer.make("A", [n], dtype), ir.Buffer.make("B", [n], dtype)
    i = ir.Var("i")
    value = make(ir.BufferLoad(a, [i]), ir.BufferLoad(b, [i]))
    c = ir.Buffer.make("C", [n], str(value.dtype))
    body = ir.For(i, 0, n, "serial", ir.BufferStore(c, value, [i]), {})
    return ir.PrimFunc("f", [a.data, b.data, c.data], [a, b, c], body), c


def arithmetic_dtypes(node):
    """Dtypes in which operators and math functions are computed."""
    out = set()

    def visit(e):
        if isinstance(e, ir.Binary):
            out.add(str(e.a.dtype))
            visit(e.a)
            visit(e.b)
        elif isinstance(e, ir.Cast):
            visit(e.value)
        elif isinstance(e, ir.Call):
            out.add(str(e.dtype))
            for arg in e.args:
                visit(arg)

    visit(node.body.body.value)
    return out


def all_values(dtype, rng):
    """Every pair of 8-bit values, or random bit patterns of a 16-bit type."""
    bits = np.dtype(np_dtype(dtype)).itemsize * 8
    if bits == 8:
        codes = np.arange(256, dtype=np.uint8)
        return np.repeat(codes, 256).view(np_dtype(dtype)), np.tile(codes, 256).view(np_dtype(dtype))
    return tuple(rng.integers(0, 1 << 16, 4096).astype(np.uint16).view(np_dtype(dtype)) for _ in range(2))


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "min", "max", "lt", "eq"])
@pytest.mark.parametrize("dtype", SMALL)
def test_results_are_those_of_the_small_type(dtype, name):
    rng = np.random.default_rng(1)
    x, y = all_values(dtype, rng)
    pick = rng.permutation(x.size)[:300]
    x, y = x[pick].copy(), y[pick].copy()
    before, c = elementwise(dtype, 300, lambda a, b: ir.Binary(name, a, b))
    after = legalize_dtypes(before, Target("cuda", arch="sm_80"))
    results = []
    for func in (before, after):
        out = np.zeros(300, np_dtype(c.dtype))
        run(func, [x, y, out])
        results.append(out.astype(np.float64))
    assert np.array_equal(*results, equal_nan=True)


@pytest.mark.parametrize(
    "dtype, arch, computed",
    [("float16", "sm_80", "float16"), ("bfloat16", "sm_80", "float32"), ("bfloat16", "sm_90a", "bfloat16"),
     ("float8_e4m3fn", "sm_100a", "float32"), ("float32", "sm_80", "float32"),
     ("float4_e2m1fn", "sm_100a", "float32")],
)  # fmt: skip
def test_the_target_says_what_is_computed_where(dtype, arch, computed):
    func, _ = elementwise(dtype, 4, lambda a, b: a + b * a)
    assert arithmetic_dtypes(legalize_dtypes(func, Target("cuda", arch=arch))) == {computed}


def test_math_of_8_bit_floats():
    func, _ = elementwise("float8_e5m2", 4, lambda a, b: ir.call("float8_e5m2", "tx.exp", [a]))
    out = legalize_dtypes(func, Target("cuda", arch="sm_90a"))
    assert arithmetic_dtypes(out) == {"float32"} and str(out.body.body.value.dtype) == "float8_e5m2"


@pytest.mark.parametrize("source", ["float16", "bfloat16", "int32", "float8_e5m2"])
def test_conversions_of_8_bit_floats_go_through_float32(source):
    func, _ = elementwise(source, 4, lambda a, b: a.astype("float8_e4m3fn"))
    value = legalize_dtypes(func, Target("cuda", arch="sm_90a")).body.body.value
    assert str(value.value.dtype) == "float32"


def test_float64_is_converted_at_once():
    """Through float32 a value just above a tie would lose what decides: 1.0625 + 2^-40 is 1.125 in e4m3."""
    func, _ = elementwise("float64", 1, lambda a, b: a.astype("float8_e4m3fn"))
    assert legalize_dtypes(func, Target("cuda", arch="sm_90a")).same_as(func)


def test_nothing_to_do_returns_the_function():
    func, _ = elementwise("float32", 4, lambda a, b: a * b)
    assert legalize_dtypes(func, Target("cuda", arch="sm_80")).same_as(func)
