"""Operations of Apache TVM's layouts and ours on the same small layouts, both compared with enumerated places.

    python tests/python/tvm_compare.py        # prints the table

An answer is wrong when its placements are not those that the definition gives; None or an error is a refusal.
"""

import itertools
import math
from collections import Counter

from layout_cases import build, coords, linear, moved, scaled_sum, shards_of, small_shards

from tirx.layout import laneid, placements
from tirx.layout.tile import Layout

STRIDES = (0, 1, 2, 3, 6, 1 @ laneid)


def sample():
    """Layouts of one and two iters, some with a replica, an offset or both."""
    for shard in small_shards(2, extents=(2, 3, 4), strides=STRIDES):
        yield build(shard)
    for shard in small_shards(1, extents=(2, 3, 4), strides=STRIDES):
        for replica in ((), ((2, 1),), ((2, 4),), ((2, 1), (2, 2)), ((3, 2 @ laneid),)):
            for offset in ((5,), (1 @ laneid, 2)):
                yield build(shard, replica, offset)


def shapes_of(size):
    """Every shape of up to two dimensions with this size."""
    return [(a, size // a) for a in range(1, size + 1) if size % a == 0]


# ---- per operation: (layout, other arguments, expected placements), and how to call it ----


def canonicalize(layout):
    yield (), placements(layout)


def permute_dims(layout):
    extents, places = shards_of(layout), placements(layout)
    for order in itertools.permutations(range(len(extents))):
        shape = [extents[i] for i in order]
        yield (list(order),), [places[linear([c[order.index(i)] for i in range(len(order))], extents)]
                               for c in coords(shape)]  # fmt: skip


def group(layout):
    for shape in shapes_of(math.prod(shards_of(layout))):
        yield (list(shape),), placements(layout)


def slice(layout):
    places = placements(layout)
    for shape in shapes_of(len(places)):
        boxes = [[(b, e) for b in range(n) for e in range(b + 1, n + 1)] for n in shape]
        for region in itertools.product(*boxes):
            inside = itertools.product(*[range(b, e) for b, e in region])
            yield (list(shape), [tuple(r) for r in region]), [places[linear(c, shape)] for c in inside]


def tile(layout):
    """Without offsets: TVM counts the span from 0 instead of from the smallest coordinate, another convention."""
    if layout.offset:
        return
    inner, n = placements(layout), math.prod(shards_of(layout))
    for outer in (build([(2, 1)]), build([(3, 2)]), build([(2, 1 @ laneid)]), build([(2, 3), (2, 1)])):
        m = math.prod(shards_of(outer))
        want = [scaled_sum(a, b, lambda axis: span_of(inner, axis)) for a in placements(outer) for b in inner]
        yield (outer, [m], [n]), want


def span_of(places, axis):
    values = [dict(p).get(axis, 0) for ps in places for p in ps]
    return max(values) - min(values) + 1


def direct_sum(layout):
    right, n = placements(layout), math.prod(shards_of(layout))
    for left in (build([(2, 1)]), build([(3, 8)]), build([(2, 4 @ laneid)])):
        yield (left, [math.prod(shards_of(left))], [n]), [
            scaled_sum(a, b, lambda axis: 1) for a in placements(left) for b in right]  # fmt: skip


def unpack(layout):
    if layout.shard[-1].axis != "m":
        return
    for num in (2, 3):
        yield (
            (num,),
            [
                frozenset(widened(p, num, j) for p in places)
                for places in placements(layout)
                for j in range(num)
            ],
        )


def widened(place, num, j):
    at = dict(place)
    return moved({k: v for k, v in at.items() if k != "m"}.items(), m=at.get("m", 0) * num + j)


def pack(layout):
    """The inverse of unpack: expected places only where every aligned run is whole."""
    if layout.shard[-1].axis != "m":
        return
    places = placements(layout)
    for num in (2, 3):
        if len(places) % num == 0:
            yield (num,), [narrowed(places[i : i + num], num) for i in range(0, len(places), num)]


def narrowed(run, num):
    """Places of `num` elements as one, or None when they are not one aligned run in every copy."""
    firsts = frozenset(p for p in run[0])
    want = [frozenset(widened(q, num, j) for q in (shrunk(p, num) for p in firsts)) for j in range(num)]
    if any(dict(p).get("m", 0) % num for p in firsts) or want != list(run):
        return None
    return frozenset(shrunk(p, num) for p in firsts)


def shrunk(place, num):
    at = dict(place)
    return moved({k: v for k, v in at.items() if k != "m"}.items(), m=at.get("m", 0) // num)


def broadcast(layout):
    places = placements(layout)
    yield (3,), [p for p in places for _ in range(3)]
    yield (2, 0), [p for _ in range(2) for p in places]


def is_tile_inner(layout):
    """`layout` is the inner; an answer is checked by tiling it, so expected places are those of the tiled one.
    The second half asks about layouts that are no tiles of it, unless by chance."""
    n = len(placements(layout))
    if layout.offset:
        return
    for other in (build([(2, 1)]), build([(3, 2)]), build([(2, 1 @ laneid)])):
        tiled = layout.tile(other, shards_of(other), [n])
        yield (tiled, [len(placements(tiled))], [n]), placements(tiled)
    for tiled in (build([(2, 5), (n, 1)]), build([(n, 1), (2, 1)]), build([(2, 1), (n, 2)])):
        yield (tiled, [2 * n], [n]), placements(tiled)


def _retiled(layout, args, outer):
    inner = placements(layout)
    return [scaled_sum(a, b, lambda axis: span_of(inner, axis)) for a in placements(outer) for b in inner]


OPERATIONS = [
    canonicalize,
    permute_dims,
    group,
    slice,
    tile,
    direct_sum,
    unpack,
    pack,
    broadcast,
    is_tile_inner,
]


def outcome(name, layout, args, want, call):
    """'right', 'wrong' or 'refused' for one call."""
    try:
        got = call(args)
    except Exception:
        return "refused"
    if got is None:
        return "refused"
    return (
        "right"
        if (_retiled(layout, args, got) if name == "is_tile_inner" else placements(got)) == want
        else "wrong"
    )


def answer(x):
    """The layout of an answer: `group` gives a pair."""
    return x if x is None or hasattr(x, "canonicalize") else x[0]


def ours(layout, name):
    return lambda args: answer(getattr(layout, name)(*args))


def theirs(layout, name):
    """The same call on TVM's objects, its answer converted back."""
    from tirx.interop.tvm import from_tvm, to_tvm

    def convert(x):
        return to_tvm(x) if isinstance(x, Layout) else x

    def call(args):
        got = answer(getattr(to_tvm(layout), name)(*[convert(a) for a in args]))
        return None if got is None else from_tvm(got)

    return call


def compare(stride=1):
    """{operation: {"tirx": Counter, "tvm": Counter, "first": example}} over every `stride`-th case."""
    out = {}
    for operation in OPERATIONS:
        name, counts = operation.__name__, {"tirx": Counter(), "tvm": Counter(), "first": None}
        cases = itertools.islice(((x, *c) for x in sample() for c in operation(x)), 0, None, stride)
        for layout, args, want in cases:
            if name == "pack" and None in want:
                want = None  # no answer exists
            mine = outcome(name, layout, args, want, ours(layout, name))
            peer = outcome(name, layout, args, want, theirs(layout, name))
            counts["tirx"][mine] += 1
            counts["tvm"][peer] += 1
            if peer == "wrong" and counts["first"] is None:
                counts["first"] = f"{layout} {args}"
        out[name] = counts
    return out


def table(found) -> str:
    """One line per operation."""
    lines = [
        f"{'operation':<14} {'cases':>6} | {'wrong':>6} {'refused':>7} | {'tvm wrong':>9} {'tvm refused':>11}"
    ]
    for name, c in found.items():
        n = sum(c["tirx"].values())
        lines.append(f"{name:<14} {n:>6} | {c['tirx']['wrong']:>6} {c['tirx']['refused']:>7} | "
                     f"{c['tvm']['wrong']:>9} {c['tvm']['refused']:>11}")  # fmt: skip
        if c["first"]:
            lines.append(f"    tvm: {c['first']}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(compare()))
