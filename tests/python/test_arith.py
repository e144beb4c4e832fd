"""The analyzer: readable rewrites, bounds, divisibility, assumptions. Random programs: test_arith_fuzz.py."""

import pytest

from tirx import ir
from tirx.arith import Analyzer
from tirx.ir import Var


def show(e):
    """Infix text of an expression (enough for goldens; independent of the printer)."""
    if isinstance(e, ir.Var):
        return e.name
    if isinstance(e, ir.IntImm):
        return str(bool(e.value)) if str(e.dtype) == "bool" else str(e.value)
    if isinstance(e, ir.Binary):
        name, symbol = ir.BIN_OPS[e.op]
        a, b = show(e.a), show(e.b)
        return f"({a} {symbol} {b})" if symbol else f"{name}({a}, {b})"
    if isinstance(e, ir.Not):
        return f"not {show(e.a)}"
    if isinstance(e, ir.Cast):
        return f"{e.dtype}({show(e.value)})"
    if isinstance(e, ir.Select):
        return f"({show(e.cond)} ? {show(e.true_value)} : {show(e.false_value)})"
    return type(e).__name__


@pytest.fixture
def v():
    class Names:
        x, y, z = Var("x"), Var("y"), Var("z")
        n, m = Var("n"), Var("m")

    return Names


@pytest.fixture
def a(v):
    """0 <= x < 128, 0 <= y < 8, 0 <= z < 4; n and m are any int32."""
    a = Analyzer()
    a.bind(v.x, 0, 128)
    a.bind(v.y, 0, 8)
    a.bind(v.z, 0, 4)
    return a


REWRITES = [
    ("(x*8 + y) // 8", "x"),
    ("(x*8 + y) % 8", "y"),
    ("x*4 % 2", "0"),
    ("x//4*4 + x%4", "x"),
    ("x//4 // 8", "(x // 32)"),
    ("x%32 // 4", "((x % 32) // 4)"),
    ("x//32*32 + x%32//4*4 + x%4", "x"),
    ("(x*8 + y) // 4", "((x * 2) + (y // 4))"),
    ("(x*16 + y*2 + 1) % 32", "((((x % 2) * 16) + (y * 2)) + 1)"),
    ("(y + 8) // 4", "((y // 4) + 2)"),
    ("(y - 1) % 8", "((y + 7) % 8)"),
    ("x*8 + z - x*8", "z"),
    ("n*8 + m - n*8", "m"),
    ("n*m - m*n", "0"),
    ("x < 200", "True"),
    ("x + 3 < y + 3", "(x < y)"),
    ("x*4 < 18", "(x < 5)"),
    ("x//4 < 3", "(x < 12)"),
    ("(x*8 + y) ^ z", "((x * 8) + (y ^ z))"),
    ("x & 31", "(x & 31)"),
    ("x - x//4*4", "(x % 4)"),
    ("x - x%4", "((x // 4) * 4)"),
]


@pytest.mark.parametrize("source, expected", REWRITES)
def test_rewrite(source, expected, a, v):
    assert show(a.simplify(eval(source, dict(vars(v))))) == expected


def test_simplest_form_is_returned_itself(a, v):
    for e in (v.x % 32 // 4, v.x // 4 + v.y, v.x < v.n, (v.n + v.m) * 4, v.x & 31, v.y ^ v.z):
        assert a.simplify(e).same_as(e)


def test_bounds_and_divisors(a, v):
    assert a.bound(v.x * 8 + v.y) == (0, 1023)
    assert a.bound(v.n) == (-(2**31), 2**31 - 1)
    assert a.modular(v.x * 12 + 18) == (12, 6)
    assert a.divisor(v.n * 16 + v.x * 8) == 8


def test_assumptions_are_scoped(a, v):
    with a.constraint(v.n > 4):
        assert a.bound(v.n)[0] == 5
        with a.constraint(v.n % 8 == 0):
            assert a.modular(v.n) == (8, 0)
    assert a.bound(v.n)[0] == -(2**31)
    assert a.modular(v.n) == (1, 0)
