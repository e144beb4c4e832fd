"""Against pycute, the pure-Python CuTe layouts of NVIDIA CUTLASS, where it is installed: wherever the reference is
right by the definition, the answers are the same function; its faults are listed, not imitated."""

import itertools
import math
import random
import types

import pytest
from cute_cases import P, composed, extent_of, refused, rule_holds, small, value, values

from tirx.interop.cute import from_cute, to_cute
from tirx.layout import cute
from tirx.layout.cute import ComposedLayout, CuteLayout, Swizzle

try:
    import pycute

    have = hasattr(pycute, "logical_divide")  # a package of this name on the index is another one
except ImportError:
    have = False
needs_pycute = pytest.mark.skipif(not have, reason="pycute is not installed (wheel nvidia-cutlass)")


def theirs(layout):
    return pycute.Layout(layout.shape, layout.stride)


def reference(name, *args):
    """Values of the reference's answer, or None where it refuses (assertions) or breaks."""
    try:
        got = getattr(pycute, name)(*(theirs(a) if isinstance(a, CuteLayout) else a for a in args))
        return [got(x) for x in range(pycute.size(got))]
    except (AssertionError, ZeroDivisionError, TypeError, ValueError, IndexError):
        return None


def ours(name, *args):
    """Values of our answer, or None where it is refused."""
    out = []
    error = refused(lambda: out.append(getattr(cute, name)(*args)))
    return None if error else values(out[0])


# --- conversions (the reading side needs no pycute) ---------------------------------------------------------


def test_reads_any_object_with_shape_and_stride():
    obj = types.SimpleNamespace(shape=[4, [2, 3]], stride=(1, (4, 8)))
    assert from_cute(obj) == P("(4,(2,3)):(1,(4,8))")
    assert refused(from_cute, 3).code == "not-a-layout"
    liar = type("Liar", (), {"shape": 4, "stride": 1, "__call__": lambda self, x: 0})()
    assert refused(from_cute, liar).code == "import-differs"


@pytest.mark.skipif(have, reason="pycute is installed")
def test_writing_without_the_package_says_what_to_install():
    assert "interop" in refused(to_cute, P("4:1")).hint


@needs_pycute
def test_round_trips():
    for layout in itertools.chain(
        small((1, 2, 3), (0, 1, 2, 5), 2), [P("((2,3),(4,(1,2))):((1,2),(6,(9,24)))"), P("7")]
    ):
        there = to_cute(layout)
        assert [there(x) for x in range(pycute.size(there))] == values(layout) and from_cute(there) == layout
    both = ComposedLayout(Swizzle(2, 1, 3), 8, P("(8,8):(8,1)"))
    there = to_cute(both)
    assert [there(x) for x in range(64)] == both.values() and from_cute(there) == both
    assert refused(to_cute, cute.ByMode([P("4:1")])).code == "not-a-layout"


# --- differential -------------------------------------------------------------------------------------------


@needs_pycute
def test_scalar_compositions_of_the_reference():
    """The sweep of test_cute_laws: 1,804 of 7,768 taken, 834 of them wrong, all too short."""
    total = taken = wrong = short = 0
    for shape in itertools.product(range(2, 6), repeat=3):
        a = CuteLayout(shape, (1, 7, 53))
        for n in range(2, 13):
            for r in range(1, (math.prod(shape) - 1) // (n - 1) + 1):
                total += 1
                got, truth = (
                    reference("composition", a, CuteLayout(n, r)),
                    [value(a, r * i) for i in range(n)],
                )
                taken += got is not None
                if got is not None and got != truth:
                    wrong, short = wrong + 1, short + (len(got) < n)
                elif got is not None:
                    assert ours("composition", a, CuteLayout(n, r)) == truth
    assert (total, taken, wrong, short) == (7768, 1804, 834, 834)


def law(name, a, b, got):
    """Whether values `got` are right for the operation, by definition."""
    if name == "composition":
        return got == composed(a, b)
    if name == "logical_divide":
        return sorted(got) == sorted(values(a)) and got[: extent_of(b)] == composed(a, b)
    if name == "logical_product":
        return got[: extent_of(a)] == values(a) and len(set(got)) == len(got) == extent_of(a) * extent_of(b)
    if name == "complement":
        return sorted(v + w for v in set(values(a)) for w in got) == list(range(b)) and got == sorted(got)
    if name == "right_inverse":
        return composed(a, _table(got)) == list(range(len(got)))
    if name == "left_inverse":
        return all(v < len(got) and got[v] == x for x, v in enumerate(values(a)))
    return got == values(a)  # coalesce


def defined(name, a, b=None):
    """Divides and products are defined through a complement; without one a right answer is a coincidence."""
    if name == "logical_divide":
        return rule_holds(b, extent_of(a))
    return name != "logical_product" or rule_holds(a, 0)


def _table(vals):
    """The flat layout with these values."""
    found = cute.layout.flat_from_values(vals)
    return cute.layout.from_leaves(found)


PAIRS = [("composition", 2), ("logical_divide", 2), ("logical_product", 2)]
SINGLE = [("complement", "codomain"), ("right_inverse", 1), ("left_inverse", 1), ("coalesce", 1)]


def inputs(kind):
    """Inputs of an operation: a sample of pairs, or all small layouts (of positive and zero strides)."""
    rng = random.Random(3)
    many = [*small((2, 3, 4), (0, 1, 2, 3, 4, 6, 8), 2), *small((2, 3), (0, 1, 2, 4, 6, 12), 3)]
    if kind == 2:
        bs = [*small((2, 3, 4), (1, 2, 3, 4, 6), 1), *small((2, 3), (1, 2, 3, 4, 6), 2)]
        return [(rng.choice(many), rng.choice(bs)) for _ in range(1500)]
    return [(a, 24) if kind == "codomain" else (a,) for a in many]


@needs_pycute
@pytest.mark.parametrize("name, kind", PAIRS + SINGLE)
def test_same_function_wherever_the_reference_is_right(name, kind):
    agreed = 0
    for args in inputs(kind):
        there, here = reference(name, *args), ours(name, *args)
        right = there is not None and law(name, args[0], args[-1], there) and defined(name, *args)
        if here is not None and name != "logical_product":
            assert law(name, args[0], args[-1], here), args
        if right and name == "left_inverse":
            assert here is None or law(name, *args, args[0], here)
        elif right and name == "right_inverse":
            assert len(here) >= len(there)
        elif right:
            assert here == there, args
        agreed += right
    assert agreed > 50


# --- the faults ---------------------------------------------------------------------------------------------


FAULTS = [
    ("3.7", "composition", "(8,8):(8,1)", P("2:3"), None, [0, 24]),
    ("3.9", "composition", "(2,2):(1,3)", P("3:1"), [0, 1], None),
    (
        "3.15",
        "composition",
        "(4,3,1):(3,1,0)",
        P("24:1"),
        values(P("(4,6):(3,1)")),
        values(P("(4,3,2):(3,1,0)")),
    ),
    ("3.22-a", "complement", "(2,2):(2,3)", 24, [], None),
    ("3.22-b", "complement", "((2,2),(2,2)):((1,8),(8,4))", 64, [], None),
    ("3.22-c", "complement", "(2,2):(1,1)", 24, [], None),
    ("3.24", "complement", "(2,2):(1,3)", 24, [0, 6, 12, 18], None),
    ("3.28", "logical_divide", "24:1", P("(2,2):(1,3)"), "16 of 24", None),
    ("3.33", "logical_product", "4:1", 2, [0, 1, 2, 3], values(P("(4,2):(1,4)"))),
    ("3.34", "right_inverse", "(2,2,2):(4,0,1)", None, [0], [0, 4]),
    ("3.35-a", "left_inverse", "(2,2):(2,3)", None, "wrong", None),
    ("3.35-b", "left_inverse", "(2,2,2):(4,0,1)", None, "wrong", None),
]


@needs_pycute
@pytest.mark.parametrize("case", [c[1:] for c in FAULTS], ids=[c[0] for c in FAULTS])
def test_listed_faults_of_the_reference(case):
    name, a, b, fault, answer = case
    args = [P(a)] if b is None else [P(a), b]
    there = reference(name, *args)
    if fault == "16 of 24":
        assert len(set(there)) == 16
    elif fault == "wrong":
        assert not law(name, args[0], None, there)
    else:
        assert there == fault
    assert ours(name, *args) == answer


@needs_pycute
def test_spellings_may_differ_where_functions_agree():
    assert (
        reference("complement", P("(2,2):(4,1)"), 1) == ours("complement", P("(2,2):(4,1)")) == [0, 2]
    )  # 3.20
