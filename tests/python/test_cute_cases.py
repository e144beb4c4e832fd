"""The numbered cases of the CuTe algebra, compared as functions with the definition on values."""

import math

import pytest
from cute_cases import P, composed, extent_of, is_layout, is_layout_of, leaves, refused, value, values

from tirx.ir import Var
from tirx.layout.cute import (
    ComposedLayout,
    CuteLayout,
    Swizzle,
    coalesce,
    complement,
    composition,
    left_inverse,
    logical_divide,
    logical_product,
    nullspace,
    recast,
    right_inverse,
    same_map,
)


def cases(*rows):
    """Parametrises over rows (number, ...) with the number as id."""
    return pytest.mark.parametrize("case", [r[1:] for r in rows], ids=[r[0] for r in rows])


# --- composition --------------------------------------------------------------------------------------------


@cases(
    ("3.1", "(6,2):(8,2)", "(4,3):(3,1)", "((2,2),3):((24,2),8)"),
    ("3.2", "20:2", "(5,4):(4,1)", "(5,4):(8,2)"),
    ("3.5", "(4,6,8,10):(2,3,5,7)", "6:12", "(2,3):(9,5)"),
    ("3.6", "(4,6,8):(1,4,7)", "6:1", "6:1"),
    ("3.7-two", "(8,8):(8,1)", "2:3", "2:24"),
    ("3.7-three", "(8,8):(8,1)", "3:3", "3:24"),
    ("3.10", "(10,2):(16,4)", "(3,4):(1,5)", "(3,(2,2)):(16,(80,4))"),
    ("3.11", "(2,3):(1,2)", "(2,3):(3,1)", "(2,3):(3,1)"),
    ("3.14-24", "(4,3):(3,1)", "24:1", "(4,6):(3,1)"),
    ("3.14-8", "(4,3):(3,1)", "8:1", "(4,2):(3,1)"),
    ("3.15", "(4,3,1):(3,1,0)", "24:1", "(4,3,2):(3,1,0)"),  # the last mode as written goes on
    ("3.16-a", "1:0", "4:1", "4:0"),
    ("3.16-b", "4:1", "4:2", "4:2"),
    ("3.16-c", "4:0", "4:1", "4:0"),
    ("3.16-d", "4:1", "4:0", "4:0"),
)
def test_composition(case):
    a, b, expected = map(P, case)
    got = composition(a, b)
    assert values(got) == composed(a, b) == values(expected)
    assert len(got) == len(b) or len(b) == 1  # a leaf may split, a mode stays
    assert composition(a, b, budget=0) == got  # the walk alone decides


@cases(
    ("3.3", "(4,6,8):(2,3,5)", "6:3"),
    ("3.4", "(3,3):(1,4)", "4:2"),
    ("3.8", "(8,8):(8,1)", "4:3"),
    ("3.9", "(2,2):(1,3)", "3:1"),
    ("3.11-carry", "(4,3):(3,1)", "(2,3):(3,1)"),
    ("3.12", "(6,2):(1,10)", "(3,2):(2,3)"),
    ("3.13", "(4,3):(1,5)", "(2,2):(2,2)"),
)
def test_composition_that_no_layout_is(case):
    a, b = map(P, case)
    error = refused(composition, a, b)
    assert error is not None and error.code == "not-composable" and error.found and error.required
    assert not is_layout_of(a, b)
    opaque = composition(a, b, opaque=True)
    assert [opaque(x) for x in range(opaque.size())] == opaque.values() == composed(a, b)


@pytest.mark.parametrize("case", [0], ids=["3.17"])
def test_composition_with_a_dynamic_extent(case):
    m = Var("m", "int32")
    a, b = CuteLayout((m, 24, 5), (1, 128, 3072)), CuteLayout(32)
    assert refused(composition, a, b).code == "unproved"
    guards = []
    got = composition(a, b, guards=guards)
    assert got == P("32:1") and [str(g) for g in guards] == ["m > 31"]
    for number in (32, 33, 48, 64):
        assert values(got) == composed(CuteLayout((number, 24, 5), (1, 128, 3072)), b)
    assert values(got) != composed(
        P("(31,24,5):(1,128,3072)"), b
    )  # where the guard fails, so does the result


# --- complement ---------------------------------------------------------------------------------------------


def check_complement(layout, other, codomain):
    """Sums of both are a bijection onto [0, codomain)."""
    moving = {v for v in values(layout)}
    assert sorted(v + w for v in moving for w in values(other)) == list(range(codomain))
    assert values(other) == sorted(values(other))


@cases(
    ("3.18", "4:2", 24, "(2,3):(1,8)"),
    ("3.19", "(2,2):(1,6)", 24, "(3,2):(2,12)"),
    ("3.20-least", "(2,2):(4,1)", None, "2:2"),
    ("3.20", "(2,2):(4,1)", 24, "(2,3):(2,8)"),
    ("3.21-zero", "4:0", 8, "8:1"),
    ("3.21-unit", "1:5", 8, "8:1"),
)
def test_complement(case):
    layout, codomain, expected = P(case[0]), case[1], P(case[2])
    got = complement(layout, codomain)
    assert same_map(got, expected) and values(got) == values(expected)
    check_complement(layout, got, codomain or 8)


@cases(
    ("3.22-a", "(2,2):(2,3)", 24),
    ("3.22-b", "((2,2),(2,2)):((1,8),(8,4))", 64),
    ("3.22-c", "(2,2):(1,1)", 24),
    ("3.23", "4:1", 10),
    ("3.24", "(2,2):(1,3)", 24),
)
def test_complement_refused(case):
    error = refused(complement, P(case[0]), case[1])
    assert error.code == "no-complement" and "|" in error.required


@pytest.mark.parametrize("case", [0], ids=["3.23"])
def test_complement_rounds_up_on_request(case):
    got = complement(P("4:1"), 10, round_up=True)
    assert values(got) == [0, 4, 8]
    check_complement(P("4:1"), got, 12)


# --- divide, product ----------------------------------------------------------------------------------------


@cases(
    ("3.25", "(2,4,3):(4,1,8)", "4:1", "((2,2),(2,3)):((4,1),(2,8))"),
    ("3.26", "(4,2,3):(2,1,8)", "4:2", "((2,2),(2,3)):((4,1),(2,8))"),
    ("3.30", "(6,8):(8,1)", "(3,4):(1,3)", "((3,(2,2)),4):((8,(24,1)),2)"),
    ("3.31", "(6,6):(1,12)", "(6,3):(3,1)", "(((2,3),3),2):(((3,12),1),36)"),
)
def test_logical_divide(case):
    a, b, expected = map(P, case)
    got = logical_divide(a, b)
    assert values(got) == values(expected) and values(got[0]) == composed(a, b)
    assert sorted(values(got)) == sorted(values(a))


@pytest.mark.parametrize("n, limit", [(6, 8), (10, 12)], ids=["3.27-6", "3.27-10"])
def test_ragged_divide(n, limit):
    assert refused(logical_divide, CuteLayout(n), 4).code == "no-complement"
    got = logical_divide(CuteLayout(n), 4, ragged=True)
    assert got.size() == limit
    inside = [x for x in range(limit) if got.valid(x)]
    assert sorted(got(x) for x in inside) == list(range(n)) and len(inside) == n
    outside = next(x for x in range(limit) if not got.valid(x))
    assert refused(got, outside).code == "out-of-range"


@cases(
    ("3.28", "24:1", "(2,2):(1,3)"),
    ("3.29-four", "(3,4):(4,1)", "4:1"),
    ("3.29-two", "(3,4):(4,1)", "2:1"),
)
def test_divide_refused(case):
    assert refused(logical_divide, *map(P, case)).code in ("no-complement", "not-composable")


@cases(
    ("3.32-six", "(2,2):(4,1)", "6:1", "((2,2),(2,3)):((4,1),(2,8))"),
    ("3.32-two-modes", "(2,2):(4,1)", "(4,2):(2,1)", "((2,2),(4,2)):((4,1),(8,2))"),
    ("3.33", "4:1", 2, "(4,2):(1,4)"),
)
def test_logical_product(case):
    a, b, expected = P(case[0]), case[1] if type(case[1]) is int else P(case[1]), P(case[2])
    got = logical_product(a, b)
    assert values(got) == values(expected) and values(got[0]) == values(a)
    assert len(set(values(got))) == extent_of(got)


# --- inverses, recast, nullspace ----------------------------------------------------------------------------


@cases(
    ("3.34-a", "(2,4,6):(4,1,8)", "(4,2,6):(2,1,8)"),
    ("3.34-b", "(2,2,2):(4,0,1)", "2:4"),
    ("3.34-longest", "(2,4):(1,1)", "4:2"),
)
def test_right_inverse(case):
    a, expected = map(P, case)
    got = right_inverse(a)
    assert values(got) == values(expected)
    assert composed(a, got) == list(range(extent_of(got)))


@pytest.mark.parametrize("case", [0], ids=["3.35"])
def test_left_inverse(case):
    a = P("(4,2):(1,16)")
    got = left_inverse(a)
    assert values(got) == values(P("(4,4,2):(1,8,4)")) and composed(got, a) == list(range(8))


@cases(("3.35-gap", "(2,2):(2,3)"), ("3.35-zero", "(2,2,2):(4,0,1)"))
def test_left_inverse_refused(case):
    assert refused(left_inverse, P(case[0])).code in ("no-complement", "not-injective")


NEGATIVE = {
    "right_inverse": lambda: right_inverse(P("4:-1")),
    "left_inverse": lambda: left_inverse(P("4:-1")),
    "complement": lambda: complement(P("4:-1"), 8),
    "cosize": lambda: P("4:-1").cosize(),
    "nullspace": lambda: nullspace(P("(2,2):(1,-1)")),
    "recast": lambda: recast(P("(4,2):(1,-4)"), 8, 16),
    "right side": lambda: composition(P("4:1"), P("4:-1")),
}


@pytest.mark.parametrize("call", NEGATIVE.values(), ids=[f"3.36-{k}" for k in NEGATIVE])
def test_negative_strides_are_refused(call):
    assert refused(call).code == "negative-stride"


@pytest.mark.parametrize("case", [0], ids=["3.36"])
def test_negative_strides_where_they_are_exact(case):
    a, b = P("(4,6):(-1,8)"), P("(2,3):(2,4)")
    assert a.values() == values(a) and coalesce(P("(2,3):(-1,-2)")) == P("6:-1")
    assert values(composition(a, b)) == composed(a, b)


def bits_of(layout, bits, line):
    """For each group of coordinates without that of leaf `line`, the bit positions along it, in order."""
    out = {}
    for x in range(extent_of(layout)):
        digits, rest = [], x
        for extent, _ in leaves(layout):
            digits.append(rest % extent)
            rest //= extent
        start = sum(d * s for d, (_, s) in zip(digits, leaves(layout))) * bits
        out.setdefault(tuple(digits[:line] + digits[line + 1 :]), []).extend(range(start, start + bits))
    return out


@cases(
    ("3.37-bytes", "(8,4):(1,8)", 32, 8, "(32,4):(1,32)"),
    ("3.37-four-bits", "(8,4):(1,8)", 6, 4, "(12,4):(1,12)"),
    ("3.37-row-major", "(4,8):(8,1)", 8, 32, "(4,2):(2,1)"),
    ("3.37-zero", "(2,(4,8)):(0,(16,1))", 4, 16, "(2,(4,2)):(0,(4,1))"),
)
def test_recast(case):
    layout, old, new, expected = P(case[0]), case[1], case[2], P(case[3])
    got = recast(layout, old, new)
    line = [d for _, d in leaves(layout)].index(1)
    assert got == expected and bits_of(got, new, line) == bits_of(layout, old, line)


@cases(
    ("3.37-extent", "(3,4):(1,8)", 8, 16, "not-divisible"),
    ("3.37-stride", "(4,4):(1,5)", 8, 16, "not-divisible"),
    ("3.37-gcd", "(9,4):(1,10)", 4, 6, "not-divisible"),
    ("3.37-no-line", "(4,4):(2,8)", 32, 8, "no-contiguous-mode"),
    ("3.37-two-lines", "(4,4):(1,1)", 32, 8, "no-contiguous-mode"),
)
def test_recast_refused(case):
    assert refused(recast, P(case[0]), *case[1:3]).code == case[3]


@cases(("3.38-a", "(7,5,16):(3,1,0)", 16), ("3.38-b", "(2,2,2):(0,0,0)", 8))
def test_nullspace(case):
    layout, count = P(case[0]), case[1]
    kernel = [x for x, v in enumerate(values(layout)) if v == 0]
    assert values(nullspace(layout)) == kernel and len(kernel) == count


@pytest.mark.parametrize("case", [0], ids=["3.39"])
def test_coalesce_by_profile(case):
    got = coalesce(P("(3,(4,5)):(8,(1,4))"), (1, 1))
    assert got == P("(3,20):(8,1)") and values(got) == values(P("(3,(4,5)):(8,(1,4))"))
    assert coalesce(P("(3,(4,5)):(8,(1,4))")) == P("(3,20):(8,1)")
    assert coalesce(P("((2,2),(2,3)):((1,2),(4,8))"), (1, 1)) == P("(4,6):(1,4)")


# --- swizzle, large strides ---------------------------------------------------------------------------------


def swizzled(x, bits, base, shift):
    """Bits base.. of x xored with bits base + shift.., one at a time."""
    for i in range(bits):
        x ^= ((x >> (base + shift + i)) & 1) << (base + i)
    return x


@pytest.mark.parametrize("case", [0], ids=["3.40"])
def test_slice_of_a_swizzled_layout(case):
    layout = P("(10,2):(2,1)")
    both = ComposedLayout(Swizzle(3, 4, 3), 0, layout)
    for j in range(2):
        part, offset = both.slice(None, j)
        assert [offset + part(i) for i in range(10)] == [swizzled(2 * i + j, 3, 4, 3) for i in range(10)]
    wide = ComposedLayout(Swizzle(3, 4, 3), 0, P("(10,2):(200,1)"))
    part, offset = wide.slice(None, 1)
    truth = [swizzled(200 * i + 1, 3, 4, 3) for i in range(10)]
    assert [offset + part(i) for i in range(10)] == truth
    assert not is_layout([v - truth[0] for v in truth]) and refused(part.flatten).code == "not-flat"


@cases(
    ("3.41-a", "(65536,4096):(128,8388608)"),
    ("3.41-b", "(32,262144,65536):(262144,8388608,2199023255552)"),
    ("3.41-c", "(8388608,128,65536):(1,549755813888,8388608)"),
)
def test_large_strides(case):
    a = P(case[0])
    filled = CuteLayout((min(d for _, d in leaves(a)), a.shape), (1, a.stride)) if leaves(a)[0][1] > 1 else a
    right, left = right_inverse(filled), left_inverse(a)
    size = extent_of(a)
    assert extent_of(right) == extent_of(filled) and extent_of(filled) > 2**31
    for x in [0, 1, size // 3, size // 2 + 1, size - 1]:
        assert value(left, value(a, x)) == x
        assert value(filled, value(right, x)) == x
    rest = complement(a)
    assert extent_of(rest) * size == max(e * d for e, d in leaves(a))
    assert math.prod(rest.shape if isinstance(rest.shape, tuple) else [rest.shape]) == extent_of(rest)
