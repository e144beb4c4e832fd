"""Expressions: Python values compute, IR values build; Python's meaning is kept or the form is refused."""

import math
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from script_helpers import body_of, check, round_trip  # noqa: F401

from tirx import errors, ir
from tirx.script import T, from_source


def value(expr, params="n: T.int32, x: T.float32", env=None):
    """The IR of an expression over parameters n and x (and p: bool)."""
    text = f"@T.prim_func\ndef f({params}, p: T.bool):\n    T.evaluate({expr})\n"
    func = from_source(text, names=env)
    return body_of(func)[0].value


def same(a, b, **kw):
    """Two spellings build the same node."""
    fa = from_source(
        f"@T.prim_func\ndef f(n: T.int32, x: T.float32, p: T.bool):\n    T.evaluate({a})\n", **kw
    )
    fb = from_source(
        f"@T.prim_func\ndef f(n: T.int32, x: T.float32, p: T.bool):\n    T.evaluate({b})\n", **kw
    )
    assert ir.first_difference(fa, fb) is None
    return True


def test_chained_comparison_means_both():
    assert same("1 < n < 3", "(1 < n) and (n < 3)")
    assert same("1 < n <= x < 5", "((1 < n) and (n <= x)) and (x < 5)")


def test_chained_comparison_of_python_values_is_pythons():
    assert value("T.bool(1 < 5 < 3)").value == 0
    assert value("T.bool(1 < 2 < 3)").value == 1


def test_a_false_python_part_decides_a_chain():
    assert value("T.bool((5 < 3 < n))").value == 0


def test_logic_keeps_pythons_values():
    assert same("p and n < 3", "T.And(p, n < 3)")
    assert same("True and n < 3", "n < 3")
    assert same("(False or n) + 1", "n + 1")
    assert same("not p", "T.Not(p)")
    assert value("7 and 3").value == 3


def test_logic_does_not_evaluate_python_operands_that_python_would_not():
    assert value("0 and 1 // 0").value == 0
    assert value("1 if True else 1 // 0").value == 1


def test_conditional_expressions():
    assert same("n if p else 3", "T.Select(p, n, 3)")
    assert same("T.if_then_else(n < 3, x, 0.0)", "T.Select(n < 3, x, 0.0)")
    assert same("1 if 2 > 1 else n", "1")


def test_arms_with_effects_are_refused():
    text = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), n: T.int32):
    x = T.alloc_local((1,), "float32")
    x[0] = {} if n < 3 else A[1]
"""
    assert from_source(text.format("A[0]"))
    for effect in ('T.cuda.func_call("g", A[0], source_code="", return_type="float32")', "T.local_scalar()"):
        with pytest.raises(errors.ScriptError) as e:
            from_source(text.format(effect))
        assert e.value.code == "effect-in-expression" and e.value.location.line == 5


def test_effects_right_of_and_are_refused():
    with pytest.raises(errors.ScriptError, match="right side"):

        @T.prim_func
        def f(n: T.int32):
            if n < 3 and T.local_scalar("int32") == 0:
                pass


def test_operators():
    assert same("-x", "T.float32(-0.0) - x")
    assert same("-n", "0 - n")
    assert same("~n", "T.bitwise_not(n)")
    assert same("n // 4 + n % 4", "T.floordiv(n, 4) + T.floormod(n, 4)")
    assert same("n << 2 >> 1", "T.shift_right(T.shift_left(n, 2), 1)")
    assert same("x / 2", "T.div(x, T.float32(2))")
    assert same("min(n, 3)", "T.min(n, 3)") and same("max(n, 3, 5)", "T.max(T.max(n, 3), 5)")
    assert same("abs(x)", "T.abs(x)")
    assert same("min(4, 3)", "3")


def test_integer_division_needs_a_choice():
    with pytest.raises(errors.TypeMismatch):
        value("n / 2")


def test_power_is_for_python_numbers():
    assert value("2 ** 10").value == 1024
    with pytest.raises(errors.TypeMismatch, match=r"\*\*"):
        value("n ** 2")


def test_constants():
    assert str(value("T.float16(0.5)").dtype) == "float16"
    assert math.isinf(value('T.float32("-inf")').value) and value('T.float32("-inf")').value < 0
    assert math.isnan(value('T.float64("nan")').value)
    assert value("T.int8(-128)").value == -128
    assert value("T.uint64(18446744073709551615)").value == -1
    assert str(value("4294967301").dtype) == "int64"
    assert value("T.bool(3)").value == 1
    assert value("T.float8_e4m3fn(0.5)").value == 0.5
    with pytest.raises(errors.TirxError):
        value("T.int8(128)")
    with pytest.raises(errors.TypeMismatch, match="is not an integer"):
        value("T.int32(0.5)")


def test_conversions():
    assert same("T.float16(n)", 'T.cast(n, "float16")')
    assert same('T.Cast("int64", n)', "T.int64(n)")
    assert same('n.astype("int64")', "T.int64(n)")
    assert same('T.cast(x, "float32x4")', "T.Broadcast(x, 4)")


def test_math():
    assert value("T.exp2(x)").op == "tx.exp2"
    assert str(value("T.sqrt(T.float16(x))").dtype) == "float16"
    assert same("T.pow(x, 2)", "T.pow(x, T.float32(2))")
    assert same("T.ceildiv(n, 8)", "(n + 8 - 1) // 8") and value("T.ceildiv(9, 8)").value == 2
    assert value("T.fma(x, x, 1.0)").args[2].value == 1.0
    with pytest.raises(errors.ScriptError, match="takes 1 operand"):
        value("T.exp(x, x)")


def test_vectors_and_bits():
    assert str(value("T.Ramp(n, 1, 4)").dtype) == "int32x4"
    assert value('T.reinterpret("uint32", x)').op == "tx.reinterpret"
    assert value('T.max_value("int8")').value == 127 and value('T.min_value("int8")').value == -128
    assert math.isinf(value('T.max_value("float16")').value)


def test_displays_and_comprehensions():
    assert value("sum([i * i for i in range(4) if i % 2])").value == 10
    assert value("len({i: i for i in (1, 2, 2)})").value == 2
    assert value("len({1, 1})").value == 1
    assert value("[*(1, 2), 3][2]").value == 3
    assert value("int(f'{7:02d}{1}')").value == 71
    assert same("sum([n + i for i in range(2)])", "0 + n + (n + 1)")


def test_comprehension_names_stay_inside():
    with pytest.raises(errors.ScriptError, match="name 'i' is not defined"):
        value("[i for i in range(4)][0] + i")


def test_python_functions_run_while_parsing():
    def square(v):
        return v * v

    assert same("square(n)", "n * n", names={"square": square})
    assert same("k * n", "3 * n", names={"k": 3})


def test_numpy_numbers_are_python_numbers():
    k = np.int64(3)
    config = types.SimpleNamespace(rows=np.int32(8), half=np.float32(0.5))
    table = np.array([5, 6])

    @T.prim_func
    def f(A: T.Buffer((8,), "float32"), n: T.int32):
        B = T.alloc_local((config.rows, k), "float32")
        A[k] = n + k
        A[table[0]] = n * config.half
        for j in table:
            A[j] = j

    check(
        f,
        """
@T.prim_func
def f(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (8,), "float32")
    B = T.alloc_buffer((8, 3), "float32", scope="local")
    A[3] = n + 3
    A[5] = n * 0.5
    A[5] = 5
    A[6] = 6
""",
    )


def test_failures_of_python_code_carry_the_line():
    def broken(_):
        raise KeyError("no such thing")

    with pytest.raises(errors.ScriptError) as e:
        value("broken(n)", env={"broken": broken})
    assert e.value.code == "python-error" and "KeyError" in e.value.found and e.value.location.line == 3
    assert isinstance(e.value.__cause__, KeyError)
    with pytest.raises(errors.ScriptError, match="ZeroDivisionError"):
        value("1 // 0")


def test_comparison_with_none():
    assert value("T.bool(n is None)").value == 0
    assert value("T.bool(n is not None)").value == 1
    with pytest.raises(errors.TypeMismatch, match="`in`"):
        value("n in (1, 2)")


def test_a_buffer_is_not_a_value():
    with pytest.raises(errors.TypeMismatch) as e:

        @T.prim_func
        def f(A: T.Buffer((8,), "int32")):
            A[0] = A + 1

    assert e.value.code == "not-a-value" and "A[...]" in e.value.hint


def test_spans_of_expressions():
    func = from_source("@T.prim_func\ndef f(n: T.int32):\n    T.evaluate(n * 3 + n // 2)\n", file="<spans>")
    e = body_of(func)[0].value
    assert (e.span.file, e.span.line, e.span.column, e.span.end_column) == ("<spans>", 3, 15, 29)
    assert (e.a.span.column, e.a.span.end_column) == (15, 20)
    assert (e.b.span.column, e.b.span.end_column) == (23, 29)


def test_logic_of_numbers_is_for_conditions():
    """`n and 3` is 3 or 0 in Python; a kernel's `and` yields a bool, so only its truth may be used."""
    for expr in ("n and 3", "n < 3 and n", "p or 0", "(n and n) + 1"):
        with pytest.raises(errors.TypeMismatch) as e:
            value(expr)
        assert e.value.code == "and-or-of-numbers"
    assert same("1 if n and n + 1 else 2", "T.Select(T.And(n, n + 1), 1, 2)")
    assert same("not (n or p)", "T.Not(T.Or(n, p))")
    assert same("p and n < 3", "T.And(p, n < 3)")
    func = from_source("@T.prim_func\ndef f(n: T.int32):\n    if n & 1 and n < 3:\n        pass\n")
    assert body_of(func)[0].cond.name == "and"


def conditions(e):
    """Conditions over integer expressions: chains, logic, negation, integers as truth values."""
    compare = st.tuples(e, st.sampled_from(["<", "<=", "==", "!=", ">", ">="]), e).map(" ".join)
    chain = st.tuples(e, st.sampled_from(["<", "<=", "=="]), e, st.sampled_from(["<", ">=", "!="]), e).map(
        " ".join
    )
    basic = compare | chain | e
    logic = st.tuples(basic, st.sampled_from(["and", "or"]), basic).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})")
    return basic | logic | basic.map(lambda t: f"not ({t})")


INT_EXPRS = st.recursive(
    st.sampled_from(["a", "b", "c"]) | st.integers(-9, 9).map(lambda v: f"({v})"),
    lambda e: st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "//", "%", "&", "|", "^"]), e, e).map(
            lambda t: f"({t[1]} {t[0]} {t[2]})"
        ),
        st.tuples(st.sampled_from(["min", "max"]), e, e).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        st.tuples(e, conditions(e), e).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        e.map(lambda t: f"(-{t})"),
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(INT_EXPRS, st.lists(st.integers(-5, 5), min_size=3, max_size=3), st.integers(0, 7))
def test_integer_expressions_mean_what_python_means(text, values, known):
    """Any of a, b, c is a Python number or an IR value; with the IR values replaced the result is Python's."""
    names = dict(zip("abc", values))
    try:
        expected = eval(text, {}, dict(names))
    except ZeroDivisionError:
        return
    python = {n: v for k, (n, v) in enumerate(names.items()) if known >> k & 1}
    params = ", ".join(f"{n}: T.int32" for n in names if n not in python)
    source = f"@T.prim_func\ndef f({params}):\n    T.evaluate({text})\n"
    try:
        func = from_source(source, names=python)
    except errors.ScriptError as e:
        assert "ZeroDivisionError" in e.found  # in an arm that Python does not reach, but the parser does
        return
    got = body_of(func)[0].value
    got = ir.substitute(got, {v: names[v.name] for v in func.params}) if func.params else got
    assert isinstance(got, ir.IntImm) and got.value == expected


def test_float_functions_take_floats():
    assert same("T.exp(2)", "T.exp(T.float32(2))")
    for expr in ("T.exp(n)", "T.popcount(x)", "T.fma(n, x, x)"):
        with pytest.raises(errors.TypeMismatch):
            value(expr)
    assert str(value("T.abs(n)").dtype) == "int32"


def test_conversions_of_other_things():
    for expr in ("T.float32(A)", "T.int32([1])", "T.float32x4(A)"):
        with pytest.raises(errors.TypeMismatch, match="not a value"):
            from_source(
                f"@T.prim_func\ndef f(a: T.handle):\n    A = T.match_buffer(a, (8,))\n    A[0] = {expr}\n"
            )


def test_more_functions():
    assert same("T.sigmoid(x)", "1.0 / (1.0 + T.exp(-x))")
    assert same("T.fabs(x)", "T.abs(x)") and same("T.any(p, n < 3)", "T.Or(p, n < 3)")
    assert same("T.all(p, n < 3, n > 0)", "T.And(T.And(p, n < 3), n > 0)")
    assert same("T.infinity('float16')", "T.float16('inf')")
    assert value("T.max_value('uint64')").value == -1 and value("T.min_value('uint8')").value == 0
    assert value("T.max_value('int64')").value == 2**63 - 1 and value("T.max_value('bool')").value == 1
    assert same("T.Select(True, n, 1 )", "n")
