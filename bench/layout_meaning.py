"""What layout operations mean, in plain Python, and the cases that `python -m bench layouts` tries.

Imported under the interpreters of other packages too, so it imports none of them. A layout is a `Tile` of plain
numbers; `places` is the definition; every operation has its cases and a check of an answer against `places`.
Strides are at least 0 here, which all packages take.
"""

import functools
import itertools
import math
import time
from typing import NamedTuple

M, LANE, WARP = "m", "laneid", "warpid"


class Tile(NamedTuple):
    """shard and replica: (extent, stride, axis) each; offset: (axis, value) each; swizzle: (M, B, S) or None."""

    shard: tuple
    replica: tuple = ()
    offset: tuple = ()
    swizzle: tuple | None = None


@functools.cache
def places(tile):
    """For each linear index the frozenset of its places, each a frozenset of (axis, coordinate != 0)."""
    out = []
    for digits in itertools.product(*[range(e) for e, _, _ in tile.shard]):
        found = set()
        for steps in itertools.product(*[range(e) for e, _, _ in tile.replica]):
            at = dict(tile.offset)
            for d, (_, stride, axis) in zip(digits + steps, tile.shard + tile.replica):
                at[axis] = at.get(axis, 0) + d * stride
            found.add(place(at if tile.swizzle is None else {**at, M: swizzled(at.get(M, 0), *tile.swizzle)}))
        out.append(frozenset(found))
    return tuple(out)


def place(at):
    return frozenset((a, v) for a, v in at.items() if v)


def swizzled(m, per, bits, shift):
    x = m >> per
    return ((x ^ ((x & (((1 << bits) - 1) << shift)) >> shift)) << per) + m % (1 << per)


def size(tile):
    return math.prod(e for e, _, _ in tile.shard)


def span(tile, axis):
    """Largest minus smallest coordinate, plus 1."""
    values = [dict(p).get(axis, 0) for element in places(tile) for p in element]
    return max(values) - min(values) + 1


def linear(coord, shape):
    x = 0
    for c, e in zip(coord, shape):
        x = x * e + c
    return x


def coords(shape):
    return itertools.product(*map(range, shape))


def shapes(n):
    """All shapes of two dimensions and n elements."""
    return [(a, n // a) for a in range(1, n + 1) if n % a == 0]


# --- families -----------------------------------------------------------------------------------------------

STRIDES = ((0, M), (1, M), (2, M), (3, M), (6, M), (1, LANE), (2, LANE))
REPLICAS = ((), ((2, 1, M),), ((2, 1, M), (2, 2, M)), ((3, 2, M), (2, 3, M)), ((2, 4, WARP),))
OFFSETS = ((), ((M, 5),), ((WARP, 3), (M, 1)))
SWIZZLES = ((0, 1, 1), (0, 2, 2), (1, 1, 2))


def shards(rank, extents):
    iters = [(e, s, a) for e in extents for s, a in STRIDES]
    return itertools.product(iters, repeat=rank)


@functools.cache
def plain(extents=(1, 2, 3)):
    """Every shard of one or two iters."""
    return tuple(Tile(s) for rank in (1, 2) for s in shards(rank, extents))


@functools.cache
def decorated():
    """Every shard of one iter with every replica list and offset."""
    return tuple(Tile(s, r, o) for s in shards(1, (1, 3)) for r in REPLICAS for o in OFFSETS)


def everything():
    return plain() + decorated()


@functools.cache
def swizzles():
    """Swizzled memory of up to 32 elements, dense, padded and offset."""
    memory = [((4, 4, M), (4, 1, M)), ((4, 8, M), (8, 1, M)), ((8, 1, M), (2, 8, M)), ((4, 6, M), (4, 1, M))]
    return tuple(Tile(s, (), o, z) for s in memory for o in ((), ((M, 4),)) for z in SWIZZLES)


def boxes(shape):
    """All boxes [begin, end) per dimension."""
    sides = [[(b, e) for b in range(n) for e in range(b + 1, n + 1)] for n in shape]
    return itertools.product(*sides)


# --- operations: cases and checks -----------------------------------------------------------------------------


class Op(NamedTuple):
    """`cases()` gives argument tuples; `check(args, answer)` says whether an answer (never None) is right;
    `denied(args)`, where given, says whether None is the wrong answer: elsewhere None is a refusal.
    `unsure(answer)` says whether an answer, right so far, leaves something open: a refusal, too."""

    name: str
    cases: object
    check: object
    denied: object = None
    unsure: object = None


def _same(args, answer):
    return places(answer) == places(args[0])


_FORMS = {}


def _one_form(args, answer):
    """Layouts with equal places get equal objects: the form of the first one seen."""
    return _FORMS.setdefault(places(args[0]), answer) == answer


def _apply(args, answer):
    tile, x = args
    return place(answer) == next(iter(places(tile._replace(replica=()))[x]))


def _group_cases():
    return [(t, s) for t in everything() for s in shapes(size(t))]


def _group(args, answer):
    (tile, shape), (grouped, seps) = args, answer
    extents = [e for e, _, _ in grouped.shard]
    parts = [math.prod(extents[a:b]) for a, b in zip(seps, seps[1:])]
    return places(grouped) == places(tile) and tuple(parts) == tuple(shape) and seps[-1] == len(extents)


def _permute(args, answer):
    tile, order = args
    return places(answer) == places(tile._replace(shard=tuple(tile.shard[k] for k in order)))


def _slice_cases(tiles):
    return [(t, s, box) for t in tiles for s in shapes(size(t)) for box in boxes(s)]


def _slice(args, answer):
    tile, shape, box = args
    truth, extents = places(tile), [e - b for b, e in box]
    wanted = [truth[linear([b + c for (b, _), c in zip(box, coord)], shape)] for coord in coords(extents)]
    return places(answer) == tuple(wanted)


def summed(a, b, factor):
    """{factor(axis) * p + q} over the places of two elements."""
    out = set()
    for p in a:
        for q in b:
            at = dict(q)
            for axis, v in p:
                at[axis] = at.get(axis, 0) + v * factor(axis)
            out.add(place(at))
    return frozenset(out)


def _sum_of(total, outer, outer_shape, inner, inner_shape, factor):
    both = [e for pair in zip(outer_shape, inner_shape) for e in pair]
    po, pi, pt = places(outer), places(inner), places(total)
    return len(pt) == math.prod(both) and all(
        pt[linear(c, both)]
        == summed(po[linear(c[::2], outer_shape)], pi[linear(c[1::2], inner_shape)], factor)
        for c in coords(both)
    )


def _spans(inner):
    return functools.lru_cache(maxsize=None)(lambda axis: span(inner, axis))


def _pair_cases():
    """Outer and inner of two iters and two dimensions, each iter one dimension."""
    small = [Tile(s) for s in itertools.product([(2, s, a) for s, a in STRIDES[:4] + STRIDES[5:6]], repeat=2)]
    return [(inner, outer, (2, 2), (2, 2)) for inner in small for outer in small]


def _tile(args, answer):
    inner, outer, outer_shape, inner_shape = args
    return _sum_of(answer, outer, outer_shape, inner, inner_shape, _spans(inner))


def _direct_sum(args, answer):
    right, left, left_shape, right_shape = args
    return _sum_of(answer, left, left_shape, right, right_shape, lambda axis: 1)


def _tile_to_cases():
    return [(t, (2 * a, 3 * b), (a, b)) for t in plain((2, 3)) for a, b in shapes(size(t))]


def _tile_to(args, answer):
    inner, to, now = args
    outer_shape = [a // b for a, b in zip(to, now)]
    outer = Tile(((outer_shape[0], outer_shape[1], M), (outer_shape[1], 1, M)))
    return _sum_of(answer, outer, outer_shape, inner, now, _spans(inner))


WIDE = (*STRIDES, (4, M), (8, M))


@functools.cache
def addends():
    """One-dimensional layouts of up to four elements, the family that missing parts are looked for in."""
    one = [Tile(((e, s, a),)) for e in (2, 3, 4) for s, a in WIDE]
    return (*one, *(Tile(s) for s in itertools.product([(2, s, a) for s, a in WIDE], repeat=2)))


@functools.cache
def totals():
    """Candidates for tiled layouts and sums: eight elements at most."""
    two = itertools.product([(2, s, a) for s, a in WIDE], repeat=2)
    return tuple(Tile(s) for s in two) + tuple(Tile(((4, s, a), (2, 1, M))) for s, a in WIDE)


PARTS = (Tile(((2, 1, M),)), Tile(((2, 2, M),)), Tile(((2, 1, LANE),)), Tile(((2, 0, M),)))


def _part_cases(shape):
    return [(part, t, *shape(part, t)) for part in PARTS for t in totals()]


def _tiled_shape(part, total):
    return (size(total),), (size(part),)


def _summed_shape(own_is_right):
    def shape(part, total):
        n, own = size(total), size(part)
        return ((n // own, own) if own_is_right else (own, n // own)), (own,)

    return shape


def _is_sum(total, outer, inner, factor):
    return size(total) == size(outer) * size(inner) and _sum_of(
        total, outer, (size(outer),), inner, (size(inner),), factor
    )


def _outer_fits(args, answer):
    return _is_sum(args[1], answer, args[0], _spans(args[0]))


def _inner_fits(args, answer):
    return _is_sum(args[1], args[0], answer, _spans(answer))


def _left_fits(args, answer):
    return _is_sum(args[1], answer, args[0], lambda axis: 1)


def _right_fits(args, answer):
    return _is_sum(args[1], args[0], answer, lambda axis: 1)


def _exists(fits):
    """Whether some member of the family is the missing part: then None is a wrong answer."""
    return lambda args: any(fits(args, a) for a in addends() if size(a) * size(args[0]) == size(args[1]))


def scaled(element, num, j=0):
    """Coordinates on m times num, plus j."""
    return frozenset(place({**dict(p), M: dict(p).get(M, 0) * num + j}) for p in element)


def _unpack(args, answer):
    tile, num = args
    return places(answer) == tuple(scaled(p, num, j) for p in places(tile) for j in range(num))


def _pack_cases():
    wide = [Tile(s + ((4, 1, M),), r, o) for s in shards(1, (1, 3)) for r in REPLICAS for o in OFFSETS]
    return [(t, num) for t in (*plain((2, 4)), *wide) for num in (2, 4)]


def _pack(args, answer):
    tile, num = args
    truth, packed = places(tile), places(answer)
    return len(truth) == num * len(packed) and all(
        truth[x] == scaled(packed[x // num], num, x % num) for x in range(len(truth))
    )


def _recast_cases():
    return [(t, old, new) for t in _dense() for old, new in ((8, 4), (4, 8), (6, 8), (8, 6), (16, 4), (4, 6))]


def _dense():
    return [Tile(((a, s, axis), (b, 1, M))) for a in (1, 2, 4) for b in (2, 3, 4, 8)
            for s, axis in ((0, M), (3, M), (4, M), (8, M), (1, LANE))]  # fmt: skip


def _recast(args, answer):
    """The same bits in the same order."""
    tile, old, new = args
    return _bits(tile, old) == _bits(answer, new)


def _bits(tile, width):
    out = []
    for (at,) in places(tile):
        m, others = dict(at).get(M, 0), frozenset((a, v) for a, v in at if a != M)
        out += [(others, m * width + j) for j in range(width)]
    return out


def _broadcast(args, answer):
    tile, num, position = args
    shard = list(tile.shard)
    shard.insert(position if position >= 0 else len(shard) + 1 + position, (num, 0, M))
    return places(answer) == places(tile._replace(shard=tuple(shard)))


def _storage(args, answer):
    """Storage coordinates over all elements are those of the whole on m."""
    stored = {p for element in places(answer) for p in element}
    whole = {frozenset(x for x in p if x[0] == M) for element in places(args[0]) for p in element}
    return stored == whole


def _equivalent_cases():
    some = plain((2, 3))
    return [(a, b) for a in some[::3] for b in some if size(a) == size(b)]


def _equivalent(args, answer):
    return answer == (places(args[0]) == places(args[1]))


def _each(tiles):
    return lambda: [(t,) for t in tiles()]


TILE_OPS = [
    Op("apply", lambda: [(t, x) for t in everything() + swizzles() for x in range(size(t))], _apply),
    Op("canonicalize", _each(lambda: everything() + swizzles()), _same),
    Op("canonicalize, one form", _each(lambda: everything() + swizzles()), _one_form),
    Op("equivalent", _equivalent_cases, _equivalent),
    Op("group", _group_cases, _group),
    Op("permute", lambda: [(t, p) for t in plain() for p in itertools.permutations(range(len(t.shard)))], _permute),
    Op("slice", lambda: _slice_cases(plain((2, 3))), _slice),
    Op("slice, swizzled", lambda: _slice_cases(swizzles()), _slice),
    Op("tile", _pair_cases, _tile),
    Op("tile_to", _tile_to_cases, _tile_to),
    Op("direct_sum", _pair_cases, _direct_sum),
    Op("is_tile_inner", lambda: _part_cases(_tiled_shape), _outer_fits, _exists(_outer_fits)),
    Op("is_tile_outer", lambda: _part_cases(_tiled_shape), _inner_fits, _exists(_inner_fits)),
    Op("is_direct_sum_right", lambda: _part_cases(_summed_shape(True)), _left_fits, _exists(_left_fits)),
    Op("is_direct_sum_left", lambda: _part_cases(_summed_shape(False)), _right_fits, _exists(_right_fits)),
    Op("unpack", lambda: [(t, n) for t in everything() for n in (2, 3)], _unpack),
    Op("pack", _pack_cases, _pack),
    Op("recast", _recast_cases, _recast),
    Op("broadcast", lambda: [(t, 3, p) for t in everything() for p in (0, -1)], _broadcast),
    Op("storage", _each(everything), _storage),
]  # fmt: skip


# --- running ------------------------------------------------------------------------------------------------


def run(ops, adapter, refusals):
    """{name: {cases, wrong, refused, us}}. `adapter[name](*args)` returns (call, read): `call()` is timed, `read`
    turns its answer into plain data. An exception of `refusals` or an answer None is a refusal."""
    return {op.name: _run_op(op, adapter[op.name], refusals) for op in ops if op.name in adapter}


def _run_op(op, prepare, refusals):
    cases = wrong = refused = 0
    spent = 0.0
    for args in op.cases():
        call, read = prepare(*args)
        start = time.thread_time()
        try:
            answer = call()
        except refusals:
            answer = None
        spent += time.thread_time() - start
        cases += 1
        if answer is not None:
            answer = read(answer)
            right = op.check(args, answer)
            wrong += not right
            refused += bool(right and op.unsure and op.unsure(answer))
        elif op.denied and op.denied(args):
            wrong += 1
        else:
            refused += 1
    return {"cases": cases, "wrong": wrong, "refused": refused, "us": spent / max(cases, 1) * 1e6}
