"""Folding, literal and promotion rules of the factories (include/tirx/expr/ops.h), against Python's integers."""

import operator

import pytest
import tvm_ffi
from generators import INTS, LIMITS, imm

from tirx import ir

ORDER = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "min": min, "max": max,
    "floordiv": operator.floordiv, "floormod": operator.mod,
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
    "ge": operator.ge,
}  # fmt: skip


def trunc_div(a, b):
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def expected(name, dtype, a, b):
    """The value of a op b as the language defines it, or None when it has none in `dtype`."""
    if name in ("floordiv", "floormod", "truncdiv", "truncmod") and b == 0:
        return None
    if name == "truncdiv":
        v = trunc_div(a, b)
    elif name == "truncmod":
        v = a - trunc_div(a, b) * b
    elif name in ("shift_left", "shift_right"):
        if not 0 <= b < tvm_ffi.dtype(dtype).bits:
            return None
        v = a << b if name == "shift_left" else a >> b
    else:
        v = ORDER[name](a, b)
    lo, hi = LIMITS[dtype]
    return v if isinstance(v, bool) or lo <= v <= hi else None


def value_of(e):
    """The Python integer of an IntImm."""
    return e.value + 2**64 if e.dtype == "uint64" and e.value < 0 else e.value


@pytest.mark.parametrize("dtype", INTS)
def test_integer_constants_fold_exactly_or_not_at_all(dtype):
    lo, hi = LIMITS[dtype]
    values = sorted(
        {v for v in (lo, lo + 1, -7, -1, 0, 1, 2, 3, 7, 8, 31, 32, 63, 64, hi - 1, hi) if lo <= v <= hi}
    )
    names = [*ORDER, "truncdiv", "truncmod", "shift_left", "shift_right"]
    for name in names:
        for a in values:
            for b in values:
                got, want = ir.Binary(name, imm(dtype, a), imm(dtype, b)), expected(name, dtype, a, b)
                if want is not None:
                    assert type(got) is ir.IntImm and value_of(got) == want, (name, a, b, got)
                    assert got.dtype == ("bool" if isinstance(want, bool) else dtype)
                elif not (name == "mul" and 0 in (a, b)):
                    assert type(got) is ir.Binary, (name, a, b, got)


@pytest.mark.parametrize("source", [*INTS, "bool"])
def test_casts_of_integer_constants_wrap(source):
    lo, hi = LIMITS.get(source, (0, 1))
    for value in (lo, hi, 0, 1, hi // 2 + 1):
        for target in INTS:
            bits = tvm_ffi.dtype(target).bits
            wrapped = value % 2**bits
            if target[0] == "i" and wrapped >= 2 ** (bits - 1):
                wrapped -= 2**bits
            assert value_of(imm(source, value).astype(target)) == wrapped
        assert imm(source, value).astype("bool").value == (value != 0)


X, U, L = ir.Var("x"), ir.Var("u", "uint8"), ir.Var("l", "int64")
F, H, D = ir.Var("f", "float32"), ir.Var("h", "float16"), ir.Var("d", "float64")
C, P = ir.Var("c", "bool"), ir.Var("p", "handle")
V = ir.Ramp(X, 1, 4)
A = ir.Buffer.make("A", [8], "int32")
LOAD = ir.BufferLoad(A, [0])


@pytest.mark.parametrize(
    "e, same",
    [
        (X + 0, X), (0 + X, X), (X - 0, X), (X * 1, X), (1 * X, X), (X // 1, X), (X * 0, 0), (0 * X, 0),
        (X % 1, 0), (ir.Binary("truncdiv", X, 1), X), (ir.Binary("truncmod", X, 1), 0),
        (ir.Binary("and", C, True), C), (ir.Binary("and", True, C), C), (ir.Binary("or", C, False), C),
        (ir.Binary("or", False, C), C), (ir.Binary("and", False, C), False), (ir.Binary("or", True, C), True),
        (ir.Not(ir.Not(C)), C), (ir.Select(True, X, 5), X), (ir.Select(False, X, 5), 5),
        (X.astype("int32"), X), (ir.Ramp(X, 2, 1), X), (ir.Broadcast(X, 1), X),
    ],
)  # fmt: skip
def test_identities_fold(e, same):
    assert ir.structural_equal(e, same if isinstance(same, ir.PrimExpr) else ir._api.const(e.dtype, same))


@pytest.mark.parametrize(
    "e, text",
    [
        # what may have an effect, or may divide by zero, is never dropped
        (LOAD * 0, "A[0] * 0"),
        (0 * ir.call("int32", "my.op", []), '0 * T.call("int32", "my.op")'),
        ((X // L) * 0, "T.cast(x, \"int64\") // l * 0"),
        ((X // 0) % 1, "x // 0 % 1"),
        ((X % 3) * 0, "0"),
        (ir.Binary("and", LOAD > 0, False), "A[0] > 0 and T.bool(False)"),
        # what floats do
        (F + 0.0, "f + 0.0"), (F * 1.0, "f * 1.0"), (F * 0.0, "f * 0.0"), (F - F, "f - f"),
        (ir.FloatImm("float32", 1) + 2.0, "T.float32(1.0) + T.float32(2.0)"),
        (-F, "-0.0 - f"), (-X, "0 - x"), (F // 2, "T.floor(f / 2.0)"),
        # division by zero and overflow stay in the program
        (imm("int32", 7) // 0, "T.int32(7) // T.int32(0)"),
        (imm("int32", 2**31 - 1) + 1, "T.int32(2147483647) + T.int32(1)"),
        (imm("uint8", 1) - imm("uint8", 2), "T.uint8(1) - T.uint8(2)"),
        (imm("int32", 1) << 32, "T.int32(1) << T.int32(32)"),
    ],
)  # fmt: skip
def test_what_does_not_fold(e, text):
    assert str(e) == text


@pytest.mark.parametrize(
    "e, dtype, text",
    [
        # a literal takes the dtype of its neighbour when it fits
        (U + 1, "uint8", "u + 1"), (L * 3, "int64", "l * 3"), (H + 1.5, "float16", "h + 1.5"),
        (H * 2, "float16", "h * 2.0"), (D / 3, "float64", "d / 3.0"), (X < 3, "bool", "x < 3"),
        (U + 300, "int32", 'T.cast(u, "int32") + 300'), (X + 2**40, "int64", 'T.cast(x, "int64") + 1099511627776'),
        (U - (-1), "int32", 'T.cast(u, "int32") - -1'), (X * 1.5, "float32", 'T.cast(x, "float32") * 1.5'),
        # promotion
        (X + L, "int64", 'T.cast(x, "int64") + l'), (X + U, "int32", 'x + T.cast(u, "int32")'),
        (X + ir.Var("w", "uint32"), "uint32", 'T.cast(x, "uint32") + w'),
        (X * F, "float32", 'T.cast(x, "float32") * f'), (C + F, "float32", 'T.cast(c, "float32") + f'),
        # bool is an integer where Python's is, and a truth value where Python's is
        (C + 1, "int32", 'T.cast(c, "int32") + 1'), (C + C, "int32", 'T.cast(c, "int32") + T.cast(c, "int32")'),
        (C << 3, "int32", 'T.cast(c, "int32") << 3'), (C & C, "bool", "c & c"), (~C, "bool", "not c"),
        (C == True, "bool", "c == T.bool(True)"), (C & 3, "int32", 'T.cast(c, "int32") & 3'),
        (ir.Binary("min", C, C), "bool", "T.min(c, c)"), (ir.Binary("and", X, C), "bool", "x != 0 and c"),
        (ir.Not(X), "bool", "not x != 0"), (ir.Select(X, 1, 2), "int32", "T.Select(x != 0, 1, 2)"),
        (P == P, "bool", "p == p"),
        # a scalar meeting a vector is broadcast
        (V + 1, "int32x4", "T.Ramp(x, 1, 4) + T.Broadcast(1, 4)"),
        (V * L, "int64x4", 'T.cast(T.Ramp(x, 1, 4), "int64x4") * T.Broadcast(l, 4)'),
        (ir.Broadcast(U, 4) + 1, "uint8x4", "T.Broadcast(u, 4) + T.Broadcast(T.uint8(1), 4)"),
        (V < 3, "boolx4", "T.Ramp(x, 1, 4) < T.Broadcast(3, 4)"),
        (ir.Select(V < 3, F, 0.0), "float32x4",
         "T.Select(T.Ramp(x, 1, 4) < T.Broadcast(3, 4), T.Broadcast(f, 4), T.Broadcast(0.0, 4))"),
        (X.astype("float16x2"), "float16x2", 'T.Broadcast(T.cast(x, "float16"), 2)'),
        # stored values and ranges
        (ir.BufferStore(ir.Buffer.make("H", [1], "float16"), 0.1, [0]).value, "float16", "T.float16(0.1)"),
        (ir.BufferStore(ir.Buffer.make("H", [1], "float16"), F, [0]).value, "float16", 'T.cast(f, "float16")'),
        (ir.Range(L, 4).extent, "int64", "T.int64(4)"),
    ],
)  # fmt: skip
def test_literal_and_promotion_rules(e, dtype, text):
    assert (e.dtype, str(e)) == (dtype, text)


def test_constants_of_a_dtype():
    const = ir.const
    assert str(const(0.1, "float16")) == "T.float16(0.1)" and const(0.1, "float16").value == 0.1
    assert (
        const(2.0, "int8").value == 2 and const(5, "bool").value == 1 and const(3, "float8_e4m3fn").value == 3
    )
    assert type(const(1, "int32x4")) is ir.Broadcast
    assert value_of(ir.const(2**63 - 1, "uint64")) == 2**63 - 1
    assert type(const(X, "float32")) is ir.Cast


def test_python_values_become_expressions():
    assert type(ir.Evaluate(True).value) is ir.IntImm and ir.Evaluate(True).value.dtype == "bool"
    assert ir.Evaluate(2**31).value.dtype == "int64" and ir.Evaluate(2**31 - 1).value.dtype == "int32"
    assert ir.Evaluate(0.5).value.dtype == "float32"
    assert type(ir.call("void", "my.op", ["s"]).args[0]) is ir.StringImm


def test_truth_of_comparisons_is_identity():
    other = ir.Var("x")
    assert bool(X == X) and not bool(X == other) and bool(X != other)
    assert {X: 1}[X] == 1 and X in [other, X]
    with pytest.raises(ir.errors.ScriptError, match="no Python truth value"):
        bool(X < 3)
