"""Exact answers about quasi-affine layout maps through the integer-set library isl (`pip install tirx[isl]`).

Every node of a map's index DAG becomes a piecewise quasi-affine function whose domain is the set of points where
the node has a value; 64-bit ranges, divisors and the boxes of compositions cut that domain. Bit operations are
sums over bits, comparisons and pieces are unions, so everything but products of coordinates and transforms
without a formula is expressible. Sets of 64-bit points are exact whatever their size; what can grow is the
number of pieces. A map of which some function has more than PIECES pieces (a table: more than so many arithmetic
runs), or that needs more than `limit` isl operations, is UNKNOWN: a large table without a pattern is for enumeration.
"""

from __future__ import annotations

import contextlib
import itertools

from .. import _ffi_api as _api
from ..errors import absent
from .proof import FACTS, Fact, LayoutProof

# Operations that isl may count for one map, and pieces that a function or relation of it may have. isl counts
# the steps of its simplex alone, and one takes up to 0.1 ms; what it does for each pair of pieces is bounded by
# their number only.
LIMIT = 50_000
# For an instance of what counting has disproved: a few hundred values in a box of 2^62 can take isl long.
INSTANCE_LIMIT = 10_000
PIECES = 64
_LOW, _HIGH = -(1 << 63), (1 << 63) - 1


class Unsupported(Exception):
    """The map is not quasi-affine, or too large for the limit."""


def _library():
    try:
        import islpy
    except ImportError:
        raise absent("islpy", "isl, for the exact back end", "pip install tirx[isl]") from None
    return islpy


def exact_proof(f, facts=FACTS, limit=LIMIT) -> LayoutProof:
    """The four facts of a LayoutMap, decided exactly; UNKNOWN for those not asked for, for maps that are not
    quasi-affine and where isl needs more than `limit` operations or PIECES pieces (for injective: pieces times
    axes of the domain). Witnesses are points that were found in the violating set and evaluated again."""
    isl = _library()
    context = isl.Context()
    unknown = {name: Fact("UNKNOWN") for name in FACTS}
    context.set_max_operations(limit)
    with contextlib.suppress(Unsupported, isl.Error):
        question = _Question(isl, context, f)
        for name in facts:
            with contextlib.suppress(Unsupported):
                unknown[name] = getattr(question, name)()
    return LayoutProof(**unknown)


def image_size(f, limit=LIMIT):
    """Number of distinct values, or None where that is not decided."""
    isl = _library()
    context = isl.Context()
    context.set_max_operations(limit)
    try:
        return int(_Question(isl, context, f).image.count_val().to_python())
    except (Unsupported, isl.Error):
        return None


class _Question:
    """A map as an isl relation, and the four facts about it."""

    def __init__(self, isl, context, f):
        self.f, self.isl = f, isl
        lowered = _Lowering(isl, context, f)
        self.domain = lowered.box
        self.relation = lowered.relation()
        self.image = self.relation.range()
        self.codomain = _box(isl, self.image.get_space(), f.codomain)

    def total(self):
        return self._contained(self.domain, self.relation.domain())

    def bounds(self):
        bad = self.relation.subtract_range(self.codomain).domain()
        return self._empty(bad)

    def surjective(self):
        return self._contained(self.codomain, self.image)

    def injective(self):
        # Every pair of pieces is compared, once for each axis at which two points can differ first.
        _few(self.relation.n_basic_map() * len(self.f.domain))
        same = self.relation.apply_range(self.relation.reverse())
        pairs = same.intersect(self.isl.Map.lex_lt(same.get_space().domain()))
        if pairs.is_empty():
            return Fact("PROVEN", "isl: no two points share a value")
        x, y = _halves(_point(pairs.wrap()), len(self.f.domain))
        return Fact("DISPROVEN", "isl: a pair of the kernel relation", (x, y))

    def _contained(self, inner, outer):
        return self._empty(inner.subtract(outer))

    def _empty(self, bad):
        if bad.is_empty():
            return Fact("PROVEN", "isl: the set of counterexamples is empty")
        return Fact("DISPROVEN", "isl: a point of the set of counterexamples", _point(bad))


def _point(points):
    """One point of a non-empty set, as a tuple of ints."""
    point, isl_type = points.sample_point(), _library().dim_type.set
    count = points.dim(isl_type)
    return tuple(point.get_coordinate_val(isl_type, i).to_python() for i in range(count))


def _halves(point, n):
    return point[:n], point[n:]


def _box(isl, space, extents):
    """The set of points below the extents."""
    out = isl.Set.universe(space)
    for i, extent in enumerate(extents):
        out = out.lower_bound_val(isl.dim_type.set, i, _val(isl, space.get_ctx(), 0))
        out = out.upper_bound_val(isl.dim_type.set, i, _val(isl, space.get_ctx(), extent - 1))
    return out


def _val(isl, context, number):
    return isl.Val(str(number), context)


class _Lowering:
    """Nodes of the index DAG (include/tirx/layout/index_dag.h) as piecewise quasi-affine functions."""

    def __init__(self, isl, context, f):
        domain, _, code, outputs, *tables = [list(part) for part in _api.map_dag(f)]
        self.isl, self.context, self.tables = isl, context, tables
        self.space = isl.Space.set_alloc(context, 0, len(domain))
        self.box = _box(isl, self.space, domain)
        self.rows = [code[i : i + 4] for i in range(0, len(code), 4)]
        self.outputs, self.extents = outputs, domain
        self.values, self.ranges = {}, {}

    def relation(self):
        """{x -> f(x)} for every x that has a value."""
        needed = self._needed()
        for node in sorted(needed):
            value, low, high = self._node(*self.rows[node])
            self.values[node], self.ranges[node] = self._fit(value, low, high)
        parts = [self.values[o] for o in self.outputs]
        out = self.isl.Map.from_pw_aff(parts[0])
        for part in parts[1:]:
            out = out.flat_range_product(self.isl.Map.from_pw_aff(part))
            _few(out.n_basic_map())
        return out.intersect_domain(self.box).coalesce()

    def _needed(self):
        seen, stack = set(), list(self.outputs)
        while stack:
            node = stack.pop()
            if node not in seen:
                seen.add(node)
                stack.extend(self._operands(*self.rows[node]))
        return seen

    def _operands(self, op, a, b, c):
        if 2 <= op <= 12 or op == 17:
            return (a, b)
        if op == 14:
            return (a, b, c)
        if op in (13, 15):
            return (a,)
        if op == 16:
            raise Unsupported("a transform without a formula")
        return ()

    def _fit(self, value, low, high):
        """Cuts the domain where the exact result leaves 64 bits."""
        _few(value.n_piece())
        if low < _LOW or high > _HIGH:
            value = self._where(value, _LOW, _HIGH)
            low, high = max(low, _LOW), min(high, _HIGH)
        return value, (low, high)

    def _where(self, value, low, high):
        inside = value.ge_set(self._constant(low)).intersect(value.le_set(self._constant(high)))
        return value.intersect_domain(inside)

    def _constant(self, number):
        return self.isl.PwAff.val_on_domain(self.box, _val(self.isl, self.context, number))

    def _coordinate(self, axis):
        local = self.isl.LocalSpace.from_space(self.space)
        return self.isl.PwAff.var_on_domain(local, self.isl.dim_type.set, axis).intersect_domain(self.box)

    def _node(self, op, a, b, c):
        """(function, low, high): the exact result, before it is fitted to 64 bits."""
        if op == 0:
            return self._constant(c), c, c
        if op == 1:
            return self._coordinate(c), 0, self.extents[c] - 1
        if op == 13:
            return self._where(self.values[a], 0, c - 1), 0, c - 1
        if op == 14:
            return self._select(a, b, c)
        if op == 15:
            return self._lookup(a, self.tables[b], c)
        if op == 17:
            return (self.values[a].intersect_domain(self.values[b].domain()), *self.ranges[a])
        return self._binary(op, (self.values[a], *self.ranges[a]), (self.values[b], *self.ranges[b]))

    def _select(self, a, b, c):
        zero = self._constant(0)
        nonzero, is_zero = self.values[a].ne_set(zero), self.values[a].eq_set(zero)
        then, other = self.values[b].intersect_domain(nonzero), self.values[c].intersect_domain(is_zero)
        (l1, h1), (l2, h2) = self.ranges[b], self.ranges[c]
        return then.union_add(other), min(l1, l2), max(h1, h2)

    def _lookup(self, row, table, column):
        """A table as one piece per run of equal steps."""
        columns, *values = table
        values = values[column::columns]
        runs = list(itertools.islice(_runs(values), PIECES + 1))
        _few(len(runs))
        index, out = self.values[row], None
        for start, count, step in runs:
            piece = self._where(index, start, start + count - 1)
            line = _scaled(self, piece, step).add(self._constant(values[start] - step * start))
            line = line.intersect_domain(piece.domain())
            out = line if out is None else out.union_add(line)
        return out, min(values), max(values)

    def _binary(self, op, a, b):
        return _RULES[op](self, a, b)


def _few(pieces):
    if pieces > PIECES:
        raise Unsupported(f"more than {PIECES} pieces")


def _runs(values):
    """(start, count, step) of maximal arithmetic runs, in order."""
    at = 0
    while at < len(values):
        step = values[at + 1] - values[at] if at + 1 < len(values) else 0
        end = at + 1
        while end < len(values) and values[end] - values[end - 1] == step:
            end += 1
        yield at, end - at, step
        at = end


def _scaled(on, value, k):
    return value.scale_val(_val(on.isl, on.context, k))


def _number(operand):
    """The value of an operand that is one number, or None."""
    return operand[1] if operand[1] == operand[2] else None


def _add(on, a, b):
    return a[0].add(b[0]), a[1] + b[1], a[2] + b[2]


def _sub(on, a, b):
    return a[0].sub(b[0]), a[1] - b[2], a[2] - b[1]


def _mul(on, a, b):
    if _number(b) is None:
        a, b = b, a
    k = _number(b)
    if k is None:
        return _mul_few(on, *sorted((a, b), key=lambda x: x[2] - x[1]))
    ends = sorted((a[1] * k, a[2] * k))
    return _scaled(on, a[0], k).intersect_domain(b[0].domain()), *ends


def _mul_few(on, a, b):
    """A product with a factor of few values, such as a comparison: one piece for each."""
    if a[2] - a[1] >= 8:
        raise Unsupported("a product of coordinates")
    out = None
    for k in range(a[1], a[2] + 1):
        piece = _scaled(on, b[0], k).intersect_domain(a[0].eq_set(on._constant(k)))
        out = piece if out is None else out.union_add(piece)
    ends = [x * y for x in a[1:] for y in b[1:]]
    return out, min(ends), max(ends)


def _divisor(b):
    k = _number(b)
    if k is None:
        raise Unsupported("a divisor that is no number")
    return k


def _div(on, a, b):
    k = _divisor(b)
    if k == 0:
        return a[0].intersect_domain(on.box.subtract(on.box)), 0, 0
    over = a[0] if k > 0 else a[0].neg()
    down = over.scale_down_val(_val(on.isl, on.context, abs(k))).floor()
    ends = sorted((a[1] // k, a[2] // k))
    return down.intersect_domain(b[0].domain()), *ends


def _mod(on, a, b):
    k = _divisor(b)
    if k == 0:
        return a[0].intersect_domain(on.box.subtract(on.box)), 0, 0
    quotient, _, _ = _div(on, a, b)
    ends = sorted((0, k - 1 if k > 0 else k + 1))
    return a[0].sub(_scaled(on, quotient, k)), *ends


def _bit(on, value, k):
    """Bit k of a two's complement number: floor(value / 2^k) mod 2."""
    shifted = value.scale_down_val(_val(on.isl, on.context, 1 << k)).floor()
    half = shifted.scale_down_val(_val(on.isl, on.context, 2)).floor()
    return shifted.sub(_scaled(on, half, 2))


def _width(a):
    """Bits after which all bits of a number in [low, high] are its sign."""
    return max(a[1].bit_length(), a[2].bit_length(), (~a[1]).bit_length() if a[1] < 0 else 0)


def _and(on, a, b):
    if _number(a) is not None:
        a, b = b, a
    mask = _number(b)
    if mask is not None and mask >= 0:
        return _masked(on, a[0], mask).intersect_domain(b[0].domain()), 0, mask
    width = max(_width(a), _width(b))
    out = on._constant(0)
    for k in range(width + 1):
        both = _bit(on, a[0], k).min(_bit(on, b[0], k))
        # The last bit is the sign, with negative weight.
        out = out.add(_scaled(on, both, -(1 << k) if k == width else 1 << k))
    low = 0 if a[1] >= 0 or b[1] >= 0 else -(1 << width)
    highs = [x[2] for x in (a, b) if x[1] >= 0]
    return out, low, min(highs) if highs else (1 << width) - 1


def _masked(on, value, mask):
    """The sum over runs of ones of the mask of (value mod 2^high) - (value mod 2^low)."""
    out, k = on._constant(0), 0
    low_bits = lambda bits: _mod(on, (value, _LOW, _HIGH), (on._constant(1 << bits), 1 << bits, 1 << bits))[0]  # noqa: E731
    while mask >> k:
        if mask >> k & 1:
            end = k
            while mask >> end & 1:
                end += 1
            out = out.add(low_bits(end).sub(low_bits(k)))
            k = end
        else:
            k += 1
    return out.intersect_domain(value.domain())


def _xor(on, a, b):
    both, low, high = _and(on, a, b)
    width = max(_width(a), _width(b))
    bounds = (0, (1 << width) - 1) if a[1] >= 0 and b[1] >= 0 else (-(1 << width), (1 << width) - 1)
    return a[0].add(b[0]).sub(_scaled(on, both, 2)), *bounds


def _shift_amount(b):
    k = _number(b)
    if k is None:
        raise Unsupported("a shift by a coordinate")
    return k


def _shl(on, a, b):
    k = _shift_amount(b)
    if not 0 <= k <= 63:
        return a[0].intersect_domain(on.box.subtract(on.box)), 0, 0
    value, low, high = _mul(on, a, (b[0].mul(on._constant(0)).add(on._constant(1 << k)), 1 << k, 1 << k))
    if low >= _LOW and high <= _HIGH:
        return value, low, high
    moved = value.add(on._constant(1 << 63))
    wrapped, _, _ = _mod(on, (moved, low, high), (on._constant(1 << 64), 1 << 64, 1 << 64))
    return wrapped.sub(on._constant(1 << 63)), _LOW, _HIGH


def _shr(on, a, b):
    k = _shift_amount(b)
    if not 0 <= k <= 63:
        return a[0].intersect_domain(on.box.subtract(on.box)), 0, 0
    if k == 0:
        return a
    if a[1] < 0:
        unsigned, _, _ = _mod(on, a, (on._constant(1 << 64), 1 << 64, 1 << 64))
        a = (unsigned, 0, (1 << 64) - 1)
    return _div(on, a, (on._constant(1 << k), 1 << k, 1 << k))


def _indicator(on, where):
    """1 on a set, 0 elsewhere in the box."""
    one = on._constant(1).intersect_domain(where)
    return one.union_add(on._constant(0).intersect_domain(on.box.subtract(where)))


def _less(on, a, b):
    defined = a[0].domain().intersect(b[0].domain())
    return _indicator(on, a[0].lt_set(b[0])).intersect_domain(defined), 0, 1


def _equal(on, a, b):
    defined = a[0].domain().intersect(b[0].domain())
    return _indicator(on, a[0].eq_set(b[0])).intersect_domain(defined), 0, 1


_RULES = {
    2: _add,
    3: _sub,
    4: _mul,
    5: _div,
    6: _mod,
    7: _xor,
    8: _and,
    9: _shl,
    10: _shr,
    11: _less,
    12: _equal,
}
