"""Apache TVM's layouts: import and export by exhaustive evaluation, and its operations beside ours.

Known wrong answers of apache-tvm 0.27.0.post1 (the definition, not the other implementation, decides):
- unpack multiplies strides on thread axes, does not move the offset, and leaves replica strides as they are:
  S[(2, 2):(1@laneid, 1)] unpacked by 2 moves the rows to lane 2.
- pack truncates strides that are no multiples of `num`: S[(2, 3):(2, 1)] packed by 3 puts both rows at 0.
Another convention, not compared: its span, and with it tile, counts from 0 and not from the smallest coordinate.
"""

import pytest
from layout_cases import refused, shard_map
from tvm_compare import OPERATIONS, compare, sample, table

from tirx import ir
from tirx.layout import ComposeLayout, S, SwizzleMode, TileLayout, mma_shared_layout, pid, placements

pytest.importorskip("tvm.tirx.layout", reason="needs the package apache-tvm")

import tvm  # noqa: E402

from tirx.interop.tvm import from_tvm, to_tvm  # noqa: E402

WRONG_IN_TVM = {"unpack", "pack"}


def number(x):
    return int(getattr(x, "value", x))


def their_places(layout):
    """The place of every element, replica digits 0, by TVM's own evaluation."""
    size = number(layout.size())
    return [{str(a): number(v) for a, v in layout.apply(i).items() if number(v)} for i in range(size)]


def our_places(layout):
    offset = {str(a): number(v) for a, v in layout.offset.items()}
    at = [{a: d.get(a, 0) + offset.get(a, 0) for a in {*d, *offset}} for d in shard_map(layout)]
    return [{a: v for a, v in d.items() if v} for d in at]


def test_import_and_export():
    count = 0
    for ours in sample():
        theirs = to_tvm(ours)
        assert their_places(theirs) == our_places(ours)
        back = from_tvm(theirs)
        assert placements(back) == placements(ours)
        count += 1
    assert count > 300


@pytest.mark.parametrize("mode", [SwizzleMode.SWIZZLE_32B_ATOM, SwizzleMode.SWIZZLE_64B_ATOM,
                                  SwizzleMode.SWIZZLE_128B_ATOM])  # fmt: skip
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32"])
def test_swizzles(mode, dtype):
    ours = mma_shared_layout(dtype, mode, (8, 128))
    theirs = to_tvm(ours)
    flat = [next(iter(p)) for p in placements(ours)]
    assert [p.get("m", 0) for p in their_places(theirs)] == [dict(p).get("m", 0) for p in flat]
    assert placements(from_tvm(theirs)) == placements(ours)


def test_what_the_other_side_lacks_is_refused():
    assert refused(lambda: to_tvm(TileLayout(S[2 : 1 @ pid]))).code == "no-axis"
    assert refused(lambda: to_tvm(TileLayout(S[ir.Var("n", "int32")]))).code == "symbolic"
    assert refused(lambda: from_tvm(3)).code == "not-a-layout"
    layout = tvm.tirx.layout
    inverse = layout.ComposeLayout(3, 3, 3, layout.TileLayout(layout.S[512]), False)
    assert refused(lambda: from_tvm(inverse)).code == "swizzle-direction"
    n = tvm.tirx.Var("n", "int32")
    assert refused(lambda: from_tvm(layout.TileLayout(layout.S[n]))).code == "symbolic"
    assert isinstance(from_tvm(to_tvm(ComposeLayout(0, 1, 1, TileLayout(S[8])))), ComposeLayout)


def check(found):
    print(table(found))
    for name, counts in found.items():
        assert counts["tirx"]["wrong"] == 0, name
        assert counts["tirx"]["right"] > 0 and sum(counts["tirx"].values()) >= 10, name
    assert set(found) == {f.__name__ for f in OPERATIONS}
    if tvm.__version__.startswith("0.27"):
        assert {name for name, counts in found.items() if counts["tvm"]["wrong"]} == WRONG_IN_TVM


def test_operations():
    check(compare(29))


@pytest.mark.slow
def test_operations_on_every_case():
    check(compare())
