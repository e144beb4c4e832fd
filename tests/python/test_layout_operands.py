"""What tile calls read of an operand (tile/operand.py, which takes whole dimensions and single iters itself to be
quick) has the meaning of the algebra's slice: the same memory coordinates and threads for every element."""

import itertools
from types import SimpleNamespace

import pytest
from layout_cases import coords, linear, refused
from layout_families import LANE, WARP, Case, M, boxes

from tirx.arith import Analyzer, simplify
from tirx.errors import LayoutError
from tirx.ir import Buffer, BufferRegion, IntImm, Range, Var, substitute
from tirx.tile.operand import Operand, View
from tirx.tile.registry import DispatchFail

CTX = SimpleNamespace(analyzer=Analyzer())
THREADS = {LANE: 1, WARP: 32, M: 0}

CASES = [
    (Case(((4, 9, M), (6, 1, M))), (4, 6)),
    (Case(((4, 1, M), (6, 4, M)), (), ((M, 8),)), (4, 6)),
    (Case(((2, 12, M), (2, 3, M), (3, 1, M), (2, 40, M))), (4, 6)),
    (Case(((2, 1, WARP), (2, 6, M), (3, 2, M), (2, 4, LANE)), ((2, 8, LANE),), ((WARP, 2),)), (4, 6)),
    (Case(((2, 48, M), (2, 12, M), (2, 2, LANE), (3, 1, M))), (2, 2, 6)),
]


def operand(case, shape, region, scope="shared"):
    buffer = Buffer.make("b", shape, "float16", scope, case.layout)
    ranges = [Range(b, e - b) for b, e in region]
    return Operand("src", BufferRegion(buffer, ranges))


def place_of(view, coord, extents):
    """(memory coordinate, thread) of one element, from the iterators of a view."""
    m, t = view.base, view.threads
    for iters, c in zip(view.dims, coord):
        for extent, memory, thread in reversed(iters):
            c, digit = divmod(c, extent)
            m, t = m + digit * memory, t + digit * thread
        assert c == 0
    return m, t


@pytest.mark.parametrize("case,shape", CASES, ids=str)
def test_operands_are_slices(case, shape):
    first = Case(case.shard, (), case.offset).table
    declined = 0
    for region in boxes(shape):
        extents = [e - b for b, e in region]
        op = operand(case, shape, region)
        error = refused(lambda la=case.layout, s=shape, r=region: la.slice(s, r))
        if error is not None:
            declined += 1
            with pytest.raises((LayoutError, DispatchFail)):
                View(op, extents, CTX)
            continue
        view = View(op, extents, CTX)
        for c in coords(extents):
            (place,) = first[linear([x + b for x, (b, _) in zip(c, region)], shape)]
            at = dict(place)
            want = at.get(M, 0), sum(THREADS[a] * v for a, v in at.items())
            assert place_of(view, c, extents) == want, (region, c)
        assert len(view.replica) == len(case.replica)
    assert declined < 130


def test_symbolic_starts_are_slices():
    """A start along single iters needs no proof; its memory coordinate is that of the number put in."""
    i, j = Var("i"), Var("j")
    case, shape = CASES[0]
    buffer = Buffer.make("b", shape, "float16", "shared", case.layout)
    op = Operand(
        "src", BufferRegion(buffer, [Range(i, IntImm("int32", 2)), Range(j * 3, IntImm("int32", 3))])
    )
    view = View(op, [2, 3], CTX)
    for b, c in itertools.product(range(3), range(2)):
        base = simplify(substitute(view.base, {i: b, j: c})).value
        assert base == case.layout.apply(b, 3 * c, shape=shape)["m"]
