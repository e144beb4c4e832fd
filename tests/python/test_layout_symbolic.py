"""Symbolic layouts: every result, with numbers put in for its variables, is the static result for them."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layout_cases import build, factorisations, layouts, refused

from tirx.arith import Analyzer, simplify
from tirx.ir import Var, structural_equal, substitute
from tirx.layout import ComposeLayout, Iter, S, TileLayout, equivalent, laneid, mma_shared_layout

M, K, I, J = Var("M"), Var("K"), Var("i"), Var("j")


def with_values(layout, values):
    """The layout with numbers for its variables."""
    if isinstance(layout, ComposeLayout):
        tile = with_values(layout.tile_layout, values)
        return ComposeLayout(layout.per_element, layout.swizzle_len, layout.atom_len, tile)

    def number(e):
        return simplify(substitute(e, values))

    def iters(steps):
        return [Iter(number(it.extent), number(it.stride), it.axis) for it in steps]

    offset = {axis: number(v) for axis, v in layout.offset.items()}
    return TileLayout.from_iters(iters(layout.shard), iters(layout.replica), offset)


def facts(**bounds):
    analyzer = Analyzer()
    for name, extent in bounds.items():
        analyzer.bind({"i": I, "j": J}[name], 0, extent)
    return analyzer


@pytest.mark.parametrize("m,k", [(1, 1), (3, 5), (16, 64)])
def test_row_major_of_variables(m, k):
    layout, values = TileLayout(S[(M, K)]), {M: m, K: k}
    grouped, seps = layout.group([M, K])
    assert structural_equal(grouped, layout) and seps == [0, 1, 2]
    assert equivalent(with_values(layout, values), TileLayout(S[m, k]))
    assert simplify(substitute(layout.span(), values)).value == m * k
    for r, c in ((0, 0), (m - 1, k - 1)):
        at = layout.apply(I, J, shape=[M, K])["m"]
        assert simplify(substitute(at, {**values, I: r, J: c})).value == r * k + c
    assert str(layout.group([M * K])[1]) == "[0, 2]"


def test_a_split_of_a_variable_needs_a_fact():
    layout = TileLayout(S[(M, K)])
    error = refused(lambda: layout.group([M, K // 64, 64]))
    assert error.code == "unproved" and "64 steps of iter K:1" in error.found
    analyzer = Analyzer()
    analyzer.bind_modular(K, 64)
    grouped, seps = layout.group([M, K // 64, 64], analyzer=analyzer)
    assert seps == [0, 1, 2, 3]
    assert equivalent(with_values(grouped, {M: 3, K: 128}), TileLayout(S[3, 128]))
    assert layout.contiguous_run([M, K], analyzer=analyzer) == 64 and layout.contiguous_run([M, K]) == 1


def test_slices_of_variable_shapes():
    layout = TileLayout(S[(M, K)])
    box = layout.slice([M, K], [(I * 16, I * 16 + 16), (J * 64, J * 64 + 64)])
    values = {M: 64, K: 256, I: 2, J: 3}
    want = TileLayout(S[64, 256]).slice([64, 256], [(32, 48), (192, 256)])
    assert equivalent(with_values(box, values), want)


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_symbolic_starts(data):
    """Slices that begin at step * i + shift: refused, or right for every i that stays inside."""
    layout = data.draw(layouts(max_iters=3, replicas=1, max_size=64))
    if data.draw(st.booleans()):
        layout = ComposeLayout(1, 1, 2, layout)
    shape = data.draw(factorisations(layout.size(), 2))
    if refused(lambda: layout.group(shape)):
        return
    n = shape[1]
    length = data.draw(st.integers(1, n))
    step = data.draw(st.sampled_from([1, 2, 3, 4, length]))
    shift = data.draw(st.integers(0, n - length))
    count = (n - length - shift) // step + 1
    region = [(0, shape[0]), (I * step + shift, I * step + shift + length)]
    analyzer = facts(i=count)
    error = refused(lambda: layout.slice(shape, region, analyzer=analyzer))
    if error is not None:
        # One admitted start is a number, and then the refusal is that of the number.
        only = [(0, shape[0]), (shift, shift + length)]
        assert error.code == "unproved" or (count == 1 and refused(lambda: layout.slice(shape, only))), error
        return
    box = layout.slice(shape, region, analyzer=analyzer)
    for i in range(count):
        b = i * step + shift
        want = layout.slice(shape, [(0, shape[0]), (b, b + length)])
        assert equivalent(with_values(box, {I: i}), want), (str(layout), shape, str(box), i)


def test_starts_keep_divisibility():
    """Inside an iter of 8: multiples of 4 are taken, 8 i + 2 with 4 elements too, 8 i + 6 is refused."""
    tile = TileLayout(S[(2, 8, 3, 8) : (192, 8, 64, 1)])

    def cut(begin):
        return lambda: tile.slice([16, 24], [(begin, begin + 4), (0, 24)])

    assert refused(cut(I * 4)) is None and refused(cut(I * 8 + 2)) is None
    error = refused(cut(I * 8 + 6))
    assert error.code == "unproved" and "divides" in error.required and "multiple" in error.hint
    moved = TileLayout(S[512, 1024]).slice([512, 1024], [(I * 32, I * 32 + 32), (J * 32, J * 32 + 32)])
    assert moved.contiguous_run([32, 32]) == 32
    assert TileLayout(S[512, 1024]).slice([512, 1024], [(I, I + 1), (J, J + 32)]).contiguous_run([1, 32]) == 1


def test_apply_of_expressions_is_right_everywhere():
    fragment = build([(2, 2), (8, 4 @ laneid), (4, 1 @ laneid), (2, 1)])
    swizzled = mma_shared_layout("float16", 3, (16, 128))
    for layout, shape in ((fragment, (16, 8)), (swizzled, (16, 128))):
        at = layout.apply(I, J, shape=shape, analyzer=facts(i=shape[0], j=shape[1]))
        for i, j in itertools.product(range(0, shape[0], 3), range(0, shape[1], 5)):
            want = layout.apply(i, j, shape=shape)
            assert {a: simplify(substitute(e, {I: i, J: j})).value for a, e in at.items()} == want


def test_equality_of_symbolic_layouts_is_proved_or_refused():
    assert equivalent(TileLayout(S[(M, K)]), TileLayout(S[(M, K) : (K, 1)]).canonicalize())
    assert refused(lambda: equivalent(TileLayout(S[(M, K)]), TileLayout(S[(M, K)] + I))).code == "unproved"
    assert equivalent(TileLayout(S[8] + (I + I)), TileLayout(S[8] + 2 * I))


def test_tiles_of_variable_counts():
    tiled = TileLayout(S[16, 32]).tile_to([M * 16, 32], [16, 32])
    assert equivalent(with_values(tiled, {M: 3}), TileLayout(S[16, 32]).tile_to([48, 32], [16, 32]))
    assert refused(lambda: TileLayout(S[16, 32]).tile_to([M, 32], [16, 32])).code == "not-a-multiple"


def test_a_symbolic_stride_is_not_merged_without_proof():
    assert str(TileLayout(S[(4, 8) : (K, 1)]).canonicalize()) == "S[(4, 8):(K, 1)]"
    analyzer = Analyzer()
    analyzer.bind_value(K, 8)
    assert str(TileLayout(S[(4, 8) : (K, 1)]).canonicalize(analyzer=analyzer)) == "S[32:1]"


def test_a_symbolic_tile_is_recognised_or_refused():
    """The parts of a tile of variable count are found; what cannot be decided is no "None"."""
    atom = TileLayout(S[16, 32])
    tiled = atom.tile(TileLayout(S[M]), (M, 1), (16, 32))
    assert equivalent(
        with_values(atom.is_tile_inner(tiled, (M * 16, 32), (16, 32)), {M: 3}), TileLayout(S[3])
    )
    error = refused(lambda: TileLayout(S[(16, 32) : (K, 1)]).is_tile_inner(tiled, (M * 16, 32), (16, 32)))
    assert error.code == "unproved" and "K" in error.found
    left = TileLayout(S[M : 64 * K])
    total = atom.direct_sum(left, (M, 1), (16, 32))
    found = atom.is_direct_sum_right(total, (M, 16, 1, 32), (16, 32))
    assert equivalent(with_values(found, {M: 3, K: 2}), with_values(left, {M: 3, K: 2}))
    assert refused(lambda: atom.is_direct_sum_right(total, (M, 16, 1, 32), (K, 32))).code == "unproved"
    assert atom.is_direct_sum_right(TileLayout(S[2, 512]), (2, 16, 1, 32), (16, 32)) is not None
    assert atom.is_direct_sum_right(TileLayout(S[(1024,) : (2,)]), (2, 16, 1, 32), (16, 32)) is None
