"""Every operation of the layout page on whole families of small layouts, plain and swizzled, with overlapping
replicas and offsets, against the tables of their definition (layout_families). A refusal is right only where
no result exists."""

import itertools
import math

import pytest
from layout_cases import coords, is_mixed_radix, linear, refused
from layout_families import LANE, WARP, Case, M, boxes, family, place, shapes_of, table_of

from tirx.layout import equivalent


def every(step, cases):
    return itertools.islice(cases, 0, None, step)


# The fast tests take every 37th layout of a family, the slow ones all.
SPREAD = [pytest.param(37, id="sample"), pytest.param(1, id="all", marks=pytest.mark.slow)]


def bare(case):
    """D and O alone, unswizzled: the list of (axis, value) dicts."""
    return [dict(next(iter(p))) for p in Case(case.shard, (), case.offset).table]


# --- evaluation ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", SPREAD)
def test_size_span_and_apply(step):
    for case in every(step, family()):
        layout, table = case.layout, case.table
        assert layout.size() == len(table)
        first = Case(case.shard, (), case.offset, case.swizzle).table
        for x, (only,) in enumerate(first):
            at = layout.apply(x)
            assert place(at) == only and only in table[x]
            for rows, columns in shapes_of(len(table), 2)[1:]:
                assert layout.apply(*divmod(x, columns), shape=(rows, columns)) == at
        for axis in (M, LANE, WARP):
            values = [dict(p).get(axis, 0) for places in table for p in places]
            exact = max(values) - min(values) + 1
            assert layout.span(axis) == exact if axis != M or not case.swizzle else layout.span(axis) >= exact


# --- group, permute, slice ----------------------------------------------------------------------------------


def separable(values, inner):
    """Whether D(a * inner + b) - D(0) = D(a * inner) - D(0) + D(b) - D(0)."""
    axes = {a for v in values for a in v}
    return all(
        v.get(a, 0) + values[0].get(a, 0) == values[x - x % inner].get(a, 0) + values[x % inner].get(a, 0)
        for x, v in enumerate(values)
        for a in axes
    )


@pytest.mark.parametrize("step", SPREAD)
def test_group_and_permute(step):
    for case in every(step, family()):
        layout, table, values = case.layout, case.table, bare(case)
        for shape in shapes_of(len(table), 3):
            error = refused(lambda la=layout, s=shape: la.group(s))
            assert (error is None) == all(
                separable(values, math.prod(shape[d:])) for d in range(1, len(shape))
            )
            if error is not None:
                assert error.code == "not-groupable"
                continue
            grouped, seps = layout.group(shape)
            assert table_of(grouped) == table and len(seps) == len(shape) + 1
            for order in itertools.permutations(range(len(shape))):
                turned = table_of(grouped.permute_by_groups(seps, order))
                new = [shape[d] for d in order]
                for c in coords(new):
                    old = [c[order.index(d)] for d in range(len(shape))]
                    assert turned[linear(c, new)] == table[linear(old, shape)]


@pytest.mark.parametrize("step", SPREAD)
def test_slice(step):
    """All boxes of all shapes: exact, and refused only when the box's map is no list of iters."""
    for case in every(step, family()):
        layout, table, values = case.layout, case.table, bare(case)
        for shape in shapes_of(len(table), 2):
            for region in boxes(shape):
                inside = [linear(c, shape) for c in itertools.product(*[range(b, e) for b, e in region])]
                error = refused(lambda la=layout, s=shape, r=region: la.slice(s, r))
                if error is None:
                    assert table_of(layout.slice(shape, region)) == tuple(table[x] for x in inside)
                else:
                    assert error.code in ("slice-not-a-layout", "not-groupable"), error
                    assert not is_mixed_radix([values[x] for x in inside]), (str(layout), shape, region)


@pytest.mark.slow
def test_slice_three_iters():
    steps = [(2, 1, M), (3, 2, M), (2, 4, M), (2, 1, LANE), (3, 5, M)]
    for case in family(3, steps, [((), ()), (((2, 1, M),), ((M, 3),))], [None, (0, 1, 2)]):
        layout, table, values = case.layout, case.table, bare(case)
        n = len(table)
        for b, e in itertools.combinations(range(n + 1), 2):
            error = refused(lambda la=layout, s=(n,), r=(b, e): la.slice(s, [r]))
            if error is None:
                assert table_of(layout.slice((n,), [(b, e)])) == table[b:e]
            else:
                assert error.code == "slice-not-a-layout" and not is_mixed_radix(values[b:e])


# --- tile, direct sum ---------------------------------------------------------------------------------------

INNER = [(2, 1, M), (3, 1, M), (2, 2, M), (2, -1, M), (2, 1, LANE)]
OUTER = [(2, 1, M), (2, 2, M), (3, -1, M), (2, 0, M), (2, 1, LANE)]
PLAIN = [((), ()), (((2, 1, M),), ()), (((2, 2, M), (2, 1, LANE)), ((M, 1),)), (((3, 2, M), (2, 3, M)), ())]


def plus(p, q, scale):
    at = dict(q)
    for axis, v in p:
        at[axis] = at.get(axis, 0) + v * scale(axis)
    return place(at)


def check_sum(total, outer, outer_shape, inner, inner_shape, scale):
    interleaved = [e for pair in zip(outer_shape, inner_shape) for e in pair]
    got = table_of(total)
    assert len(got) == math.prod(interleaved)
    for c in coords(interleaved):
        o, i = outer.table[linear(c[::2], outer_shape)], inner.table[linear(c[1::2], inner_shape)]
        assert got[linear(c, interleaved)] == frozenset(plus(p, q, scale) for p in o for q in i)


def pairs(step):
    inner = list(family(2, INNER, PLAIN, [None]))
    outer = list(family(1, OUTER, PLAIN, [None]))
    return every(step, itertools.product(outer, inner))


@pytest.mark.parametrize("step", SPREAD)
def test_tile_and_direct_sum(step):
    for outer, inner in pairs(step):
        a, b = (outer.size,), (inner.size,)
        tiled = inner.layout.tile(outer.layout, a, b)
        check_sum(tiled, outer, a, inner, b, inner.layout.span)
        total = inner.layout.direct_sum(outer.layout, a, b)
        check_sum(total, outer, a, inner, b, lambda axis: 1)
        n = (a[0] * b[0],)
        found = inner.layout.is_tile_inner(tiled, n, b)
        assert equivalent(inner.layout.tile(found, a, b), tiled), (outer, inner)
        found = outer.layout.is_tile_outer(tiled, n, a)
        assert equivalent(found.tile(outer.layout, a, b), tiled), (outer, inner)
        found = inner.layout.is_direct_sum_right(total, (*a, *b), b)
        assert equivalent(inner.layout.direct_sum(found, a, b), total), (outer, inner)
        found = outer.layout.is_direct_sum_left(total, (*a, *b), a)
        assert equivalent(found.direct_sum(outer.layout, a, b), total), (outer, inner)


def test_tile_in_two_dimensions():
    outers = [Case(((2, 1, M), (2, 2, M))), Case(((2, 1, LANE), (2, 0, M)), ((2, 4, M),)), Case(((4, 1, M),))]
    inners = [
        Case(((2, 3, M), (3, 1, M))),
        Case(((6, 1, M),), ((2, 1, LANE),), ((M, 2),)),
        Case(((3, 1, LANE), (2, 1, M))),
    ]
    shapes = [((2, 2), (2, 3)), ((4, 1), (6, 1)), ((1, 4), (3, 2))]
    for outer, inner, (a, b) in itertools.product(outers, inners, shapes):
        if refused(lambda o=outer, s=a: o.layout.group(s)) or refused(lambda i=inner, s=b: i.layout.group(s)):
            continue
        check_sum(inner.layout.tile(outer.layout, a, b), outer, a, inner, b, inner.layout.span)
        check_sum(inner.layout.direct_sum(outer.layout, a, b), outer, a, inner, b, lambda axis: 1)
        to = [x * y for x, y in zip(a, b)]
        tiled = inner.layout.tile_to(to, b)
        count = Case(((a[0], a[1], M), (a[1], 1, M)))
        check_sum(tiled, count, a, inner, b, inner.layout.span)


def test_no_answer_means_that_there_is_none():
    """Every layout of a family against every inner (outer, left, right): None exactly when no partner of a larger
    family gives it."""
    twos = [(2, s, a) for s, a in ((0, M), (1, M), (2, M), (3, M), (4, M), (1, LANE))]
    sets = [(), ((2, 1, M),), ((4, 1, M),), ((2, 2, M), (2, 3, M))]
    tiled = [c for c in family(2, twos, [(r, ()) for r in sets], [None]) if c.size == 4]
    sets = [(), ((2, 1, M),), ((2, 2, M),), ((3, 1, M),), ((2, 3, M),)]
    parts = list(family(1, twos, [(r, ()) for r in sets], [None]))
    answered = 0
    for known in parts:
        made = {"tile": {}, "outer": {}, "right": {}, "left": {}}
        for other in parts:
            made["tile"][table_of(known.layout.tile(other.layout, (2,), (2,)))] = other
            made["outer"][table_of(other.layout.tile(known.layout, (2,), (2,)))] = other
            made["right"][table_of(known.layout.direct_sum(other.layout, (2,), (2,)))] = other
            made["left"][table_of(other.layout.direct_sum(known.layout, (2,), (2,)))] = other
        for whole in tiled:
            k, t = known.layout, whole.layout
            found = {
                "tile": k.is_tile_inner(t, (4,), (2,)),
                "outer": k.is_tile_outer(t, (4,), (2,)),
                "right": k.is_direct_sum_right(t, (2, 2), (2,)),
                "left": k.is_direct_sum_left(t, (2, 2), (2,)),
            }
            again = {
                "tile": lambda f, k=k: k.tile(f, (2,), (2,)),
                "outer": lambda f, k=k: f.tile(k, (2,), (2,)),
                "right": lambda f, k=k: k.direct_sum(f, (2,), (2,)),
                "left": lambda f, k=k: f.direct_sum(k, (2,), (2,)),
            }
            for question, answer in found.items():
                if answer is None:
                    assert whole.table not in made[question], (question, known, whole)
                else:
                    answered += 1
                    assert table_of(again[question](answer)) == whole.table, (question, known, whole)
    assert answered > 100


def test_a_rest_that_is_no_largest_set():
    """{0,1} + X = {0,1,2,3,4,5} has the largest X = {0..4} and needs, in multiples of 2, X = {0,2,4}."""
    inner = Case(((2, 1, LANE),), ((2, 1, M),)).layout  # span 2 on m
    outer = Case(((2, 1, LANE),), ((3, 1, M),)).layout
    tiled = inner.tile(outer, (2,), (2,))
    assert str(inner.is_tile_inner(tiled, (4,), (2,)).canonicalize()) == str(outer.canonicalize())


# --- widths, broadcast --------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", SPREAD)
def test_unpack_and_pack(step):
    """unpack: element x becomes num elements at num * m .. num * m + num - 1. pack: its exact inverse, refused only
    when some group is not consecutive, aligned and together (for swizzles: or cut by a chunk)."""
    for case in every(step, family()):
        layout, table = case.layout, case.table
        for num in (2, 3):
            if not (case.swizzle and num == 3):
                wide = table_of(layout.unpack(num))
                for x, places in enumerate(wide):
                    want = {place({**dict(p), M: dict(p).get(M, 0) * num + x % num}) for p in table[x // num]}
                    assert places == want
                assert equivalent(layout.unpack(num).pack(num), layout)
            error = refused(lambda la=layout, n=num: la.pack(n))
            narrow = packed(table, num)
            if error is None:
                assert table_of(layout.pack(num)) == narrow
            else:
                assert error.code in ("not-packable", "swizzle-recast")
                assert narrow is None or case.swizzle, (str(layout), num)


def packed(table, num):
    """The table of groups of `num`, or None when they are not consecutive and aligned."""
    out = []
    for x in range(0, len(table), num):
        first = table[x]
        if len(table) % num or any(dict(p).get(M, 0) % num for p in first):
            return None
        for j in range(num):
            if table[x + j] != {place({**dict(p), M: dict(p).get(M, 0) + j}) for p in first}:
                return None
        out.append(frozenset(place({**dict(p), M: dict(p).get(M, 0) // num}) for p in first))
    return tuple(out)


@pytest.mark.parametrize("step", SPREAD)
def test_broadcast_storage_owners_scope(step):
    for case in every(step, family()):
        layout, table = case.layout, case.table
        for at in range(len(case.shard) + 1):
            inner = math.prod(e for e, _, _ in case.shard[at:])
            wide = table_of(layout.broadcast(3, at))
            assert wide == tuple(table[x // (3 * inner) * inner + x % inner] for x in range(3 * len(table)))
        whole = set().union(*table)
        for part, keep in ((layout.storage(), (M,)), (layout.owners(), (LANE, WARP))):
            kept = {tuple((a, v) for a, v in p if a in keep) for p in whole}
            assert set().union(*table_of(part)) == kept, str(layout)
        axes = {a for e, _, a in (*case.shard, *case.replica) for _ in [e]} | {a for a, _ in case.offset}
        want = (
            None
            if not axes - {M}
            else ("warp" if axes <= {M, WARP} else "thread", "cta" if WARP in axes else "warp")
        )
        assert layout.get_scope() == want, str(layout)


# --- equality -----------------------------------------------------------------------------------------------


def test_equivalent_and_its_witness():
    """All pairs of a family: equal exactly when the tables are; the witness is the first index that differs."""
    cases = list(every(29, family())) + list(every(7, family(1)))
    for a, b in itertools.product(cases, cases):
        answer = equivalent(a.layout, b.layout)
        if len(a.table) != len(b.table):
            assert answer.kind == "size"
        else:
            first = next((x for x, (p, q) in enumerate(zip(a.table, b.table)) if p != q), None)
            assert answer.index == first and bool(answer) == (first is None), (a, b)


def swizzled_sums():
    """(inner, outer): swizzled inners with replicas and offsets, plain outers, spans of all sizes."""
    inners = [
        Case(shard, *constants, swizzle)
        for shard in (((4, 1, M),), ((2, 4, M), (2, 1, M)), ((2, 1, LANE), (4, 1, M)))
        for constants in (((), ()), (((2, 1, WARP),), ((M, 4),)), (((2, 8, M),), ()))
        for swizzle in ((0, 1, 1), (1, 1, 1), (0, 2, 2))
    ]
    outers = [Case(((2, s, a),), r) for s, a in ((0, M), (1, M), (2, M), (4, M), (16, M), (1, LANE))
              for r in ((), ((2, 8, M),))]  # fmt: skip
    return itertools.product(inners, outers)


def test_sums_with_swizzled_parts():
    """Exact when the outer moves by whole periods, with the parts found again; refused otherwise."""
    made = {"tile": 0, "sum": 0, "refused": 0}
    for inner, outer in swizzled_sums():
        m, b, s = inner.swizzle
        period, n = 1 << (m + b + s), inner.size
        for kind, scale in (("tile", inner.layout.span), ("sum", lambda axis: 1)):
            moves = [st * scale(M) for e, st, a in (*outer.shard, *outer.replica) if a == M]
            whole = all(move % period == 0 for move in moves)
            do = inner.layout.tile if kind == "tile" else inner.layout.direct_sum
            error = refused(lambda f=do, o=outer, n=n: f(o.layout, (2,), (n,)))
            assert (error is None) == whole, (inner, outer, kind)
            if error is not None:
                made["refused"] += 1
                assert error.code == "swizzle-period" and f"multiples of {period}" in error.required
                continue
            made[kind] += 1
            total = do(outer.layout, (2,), (n,))
            check_sum(total, outer, (2,), inner, (n,), scale)
            if kind == "tile":
                left = inner.layout.is_tile_inner(total, (2 * n,), (n,))
                right = outer.layout.is_tile_outer(total, (2 * n,), (2,))
                again = right and right.tile(outer.layout, (2,), (n,))
            else:
                left = inner.layout.is_direct_sum_right(total, (2, n), (n,))
                right = outer.layout.is_direct_sum_left(total, (2, n), (2,))
                again = right and right.direct_sum(outer.layout, (2,), (n,))
            assert left and equivalent(do(left, (2,), (n,)), total), (kind, inner, outer)
            assert again and equivalent(again, total), (kind, inner, outer)
    assert min(made.values()) > 30, made
