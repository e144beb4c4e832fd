"""Coverage proofs: complete digit sets pass, every kind of gap or overlap declines, and rules rely on them."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tile_fakes import cuda_context, tile_call, whole

from tirx import ir
from tirx.errors import DispatchFail
from tirx.tile import partition
from tirx.tile.coverage import prove_by_enumeration, prove_digits, prove_threads

partition_module = sys.modules["tirx.tile.partition"]


@given(st.lists(st.integers(1, 5), max_size=5), st.randoms())
def test_a_mixed_radix_is_complete_in_any_order(extents, rng):
    digits, weight = [], 1
    for e in extents:
        digits.append((e, weight))
        weight *= e
    rng.shuffle(digits)
    prove_digits(digits, weight)
    prove_by_enumeration(sorted(numbers(digits)), weight)


def numbers(digits):
    out = [0]
    for extent, weight in digits:
        out = [o + x * weight for o in out for x in range(extent)]
    return out


@pytest.mark.parametrize(
    "digits, total, why",
    [
        ([(4, 1), (2, 8)], 16, "written once"),  # a gap between the digits
        ([(4, 1), (4, 2)], 16, "written once"),  # overlap
        ([(4, 1)], 8, "covers 4 of 8"),  # the tail is missing
        ([(4, 1), (2, 4)], 4, "covers 8 of 4"),
    ],
)
def test_incomplete_digits_decline(digits, total, why):
    with pytest.raises(DispatchFail, match=why):
        prove_digits(digits, total)


@pytest.mark.parametrize(
    "digits, why", [([(1, 4), (2, 8)], "overlap"), ([(1, 32), (32, 2)], "owned by 64 threads")]
)
def test_thread_digits(digits, why):
    prove_threads([(1, 4), (4, 8)], 32)
    with pytest.raises(DispatchFail, match=why):
        prove_threads(digits, 32)


@pytest.mark.parametrize(
    "points, why", [([0, 1, 1], "element 1 twice"), ([0, 2], "never writes element 1"), ([0, 3], "outside")]
)
def test_enumeration(points, why):
    with pytest.raises(DispatchFail, match=why):
        prove_by_enumeration(points, 3)


def test_enumeration_has_a_budget():
    with pytest.raises(DispatchFail, match="budget of 4"):
        prove_by_enumeration(range(5), 5, budget=4)


def copy_call():
    dst = ir.Buffer.make("S", [24, 16], "float32", "shared")
    return tile_call("copy", whole(dst), whole(ir.Buffer.make("A", [24, 16], "float32")))


def test_a_partition_that_loses_elements_declines(monkeypatch):
    """Half the work of each thread is dropped behind the rule's back: the proof notices, the rule declines."""
    assign = partition_module._assign_free

    def lossy(part, rest, lead):
        assign(part, rest, lead)
        part.loops = [s.resized(s.extent // 2) for s in part.loops]

    ctx = cuda_context("cta", 32)
    work = partition(ctx, copy_call().operands("dst", "src"))
    assert work.part.steps == 3 and work.part.lanes == 4
    monkeypatch.setattr(partition_module, "_assign_free", lossy)
    monkeypatch.setattr(partition_module, "_CACHE", {})
    with pytest.raises(DispatchFail, match="covers 128 of 384"):
        partition(ctx, copy_call().operands("dst", "src"))
