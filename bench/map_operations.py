"""Linear layouts and layout maps: cases, definitions and our calls; the companion of layout_meaning.

A linear layout is the tuple of its bases (from 2^k to 8 elements); a mixed-radix map is (shape, stride, offset); both
mean the list of their values. No other package is asked: these operations have no counterpart under the same definition.
"""

import functools
import itertools

from layout_meaning import Op

BITS = 3


# --- linear layouts -----------------------------------------------------------------------------------------


@functools.cache
def xors(bases):
    """All values: the XOR of the bases at the set bits."""
    out = [0]
    for basis in bases:
        out += [v ^ basis for v in out]
    return tuple(out)


@functools.cache
def squares():
    """Every linear map of three bits to three bits."""
    return tuple(itertools.product(range(1 << BITS), repeat=BITS))


def _pairs():
    return itertools.product(squares()[::11], squares()[::5])


def _compose(args, got):
    inner, outer = map(xors, args)
    return got == [outer[v] for v in inner]


def _product(args, got):
    low, high = map(xors, args)
    return got == [a | b << BITS for b in high for a in low]


def _invert_and_compose(args, got):
    inner, outer = map(xors, args)
    return _chain(outer, got) == list(inner)


def _chain(outer, got):
    """outer(got(x)) for every x; a linear map sends 0 to 0 and stays inside."""
    return [outer[v] for v in got] if got[0] == 0 and max(got) < len(outer) else None


def _pseudoinvert(args, got):
    return _chain(xors(args[0]), got) == list(range(1 << BITS))


def _covers(args):
    return set(xors(args[0])) <= set(xors(args[1]))


def _free_masks(args, mask):
    """With the masked bits at 0 the map is injective and has the same image."""
    values = xors(args[0])
    kept = [values[x] for x in range(len(values)) if not x & mask]
    return len(set(kept)) == len(kept) and set(kept) == set(values)


def _consecutive(args, width):
    """The largest power of two such that aligned runs of this length stay runs."""
    values, best = xors(args[0]), 1
    for v in (2, 4, 8):
        if any(values[x] != values[x - x % v] + x % v for x in range(len(values))):
            break
        best = v
    return width == best


LINEAR_OPS = [
    Op("linear apply", lambda: [(b, x) for b in squares() for x in range(8)],
       lambda args, y: y == xors(args[0])[args[1]]),
    Op("linear compose", _pairs, _compose),
    Op("linear product", _pairs, _product),
    Op("linear divide_left", _pairs, lambda args, got: got == list(xors(args[1])), lambda args: True),
    Op("linear invert_and_compose", _pairs, _invert_and_compose, _covers),
    Op("linear pseudoinvert", lambda: [(b,) for b in squares()], _pseudoinvert,
       lambda args: len(set(xors(args[0]))) == 1 << BITS),
    Op("linear free masks", lambda: [(b,) for b in squares()], _free_masks),
    Op("linear num_consecutive", lambda: [(b,) for b in squares()], _consecutive),
]  # fmt: skip


@functools.cache
def linear(bases, source="x", target="y"):
    from tirx.layout.linear import LinearLayout

    return LinearLayout({source: list(bases)}, {target: 1 << BITS})


def _table(out):
    (dim,) = out.in_dims
    return [next(iter(out.apply({dim: x}).values())) for x in range(out.in_size(dim))]


def _two(call, read=_table):
    def prepare(a, b):
        a, b = linear(a), linear(b)
        return (lambda: call(a, b)), read

    return prepare


def _composed(a, b):
    a, b = linear(a), linear(b, "y", "z")
    return (lambda: a.compose(b)), _table


def _one(call, read=_table):
    def prepare(a):
        a = linear(a)
        return (lambda: call(a)), read

    return prepare


def _apply(bases, x):
    layout = linear(bases)
    return (lambda: layout.apply({"x": x})), lambda out: out["y"]


def _divide(left, right):
    from tirx.layout.linear import divide_left

    a, whole = linear(left), linear(left) * linear(right)
    return (lambda: divide_left(whole, a)), _table


def _solve(name, read):
    def call(layout):
        from tirx.layout import linear as room

        return getattr(room, name)(layout)

    return _one(call, read)


LINEAR = {
    "linear apply": _apply,
    "linear compose": _composed,
    "linear product": _two(lambda a, b: a * b),
    "linear divide_left": _divide,
    "linear invert_and_compose": _two(lambda a, b: a.invert_and_compose(b)),
    "linear pseudoinvert": _one(lambda a: a.pseudoinvert()),
    "linear free masks": _solve("free_variable_masks", lambda out: out["x"]),
    "linear num_consecutive": _solve("num_consecutive", int),
}


# --- maps ---------------------------------------------------------------------------------------------------


@functools.cache
def radix(spec):
    """The values of (shape, stride, offset), two modes, row-major over the coordinates."""
    (m, n), (a, b), offset = spec
    return tuple(offset + i * a + j * b for i in range(m) for j in range(n))


@functools.cache
def radixes():
    """Two modes with padded, overlapping and reversed strides, the last shifted to start at 0."""
    sides = [(m, d) for m in (1, 2, 3, 4) for d in (-3, -1, 0, 1, 2, 3, 4, 7)]
    return tuple(
        ((m, n), (a, b), -min(0, (m - 1) * a) - min(0, (n - 1) * b))
        for (m, a), (n, b) in itertools.product(sides, repeat=2)
    )


def _radix_pairs():
    """(outer, inner) with the values of inner inside one mode of outer."""
    outers = [(((1, n), (0, d), max(0, -d * (n - 1)))) for n in (24, 40) for d in (-2, 0, 1, 3)]
    return [(o, i) for i in radixes() for o in outers if max(radix(i)) < o[0][1]]


def _after(args, got):
    outer, inner = map(radix, args)
    return got == [outer[v] for v in inner]


def facts(values, extent):
    """The four facts by enumeration."""
    inside = all(0 <= v < extent for v in values)
    return {"total": True, "bounds": inside, "injective": len(set(values)) == len(values),
            "surjective": set(range(extent)) <= set(values)}  # fmt: skip


def _agrees(truth, got):
    """No fact is claimed against the truth."""
    return all(truth[name] == (status == "PROVEN") for name, status in got.items() if status != "UNKNOWN")


def _open(got):
    return "UNKNOWN" in got.values()


def _prove_radix(args, got):
    spec, extent = args
    return _agrees(facts(radix(spec), extent), got)


def _prove_bits(args, got):
    bases, shift, ragged = args
    return _agrees(facts([v ^ shift for v in xors(bases)[:ragged]], 8), got)


def _radix_facts():
    return [(s, max(radix(s)) + d) for s in radixes() for d in (0, 1) if max(radix(s)) + d > 0]


def _bit_facts():
    """Every 3 x 3 matrix with every XOR offset, over the whole and a ragged domain."""
    return [(b, c, ragged) for b in squares() for c in range(8) for ragged in (8, 5 + c % 3)]


def _inverse(args, got):
    """The points of the values, in the order of the points."""
    return got == list(itertools.product(*map(range, args[0][0])))


def _fibers():
    return [(s, v) for s in radixes()[::2] for v in range(max(radix(s)) + 2)]


def _fiber(spec, value):
    points = itertools.product(*map(range, spec[0]))
    return sorted(p for p, v in zip(points, radix(spec)) if v == value)


MAP_OPS = [
    Op("map call", lambda: [(s,) for s in radixes()], lambda args, got: got == list(radix(args[0]))),
    Op("map compose", _radix_pairs, _after),
    Op("map normalize", _radix_pairs, _after),
    Op("map try_inverse", lambda: [(s,) for s in radixes()], _inverse,
       lambda args: len(set(radix(args[0]))) == len(radix(args[0]))),
    Op("map preimage", _fibers, lambda args, got: got == _fiber(*args), lambda args: bool(_fiber(*args))),
    Op("map image", lambda: [(s,) for s in radixes()], lambda args, n: n == len(set(radix(args[0])))),
    Op("map prove, strides", _radix_facts, _prove_radix, unsure=_open),
    Op("map prove, bits", _bit_facts, _prove_bits, unsure=_open),
    Op("map prove, no budget", _radix_facts, _prove_radix, unsure=_open),
]  # fmt: skip


@functools.cache
def mixed_radix(spec, extent=None):
    from tirx.layout.maps import MixedRadix

    return MixedRadix(*spec, codomain=extent)


def _values(f):
    return [v for (v,) in f.table()]


def _call(spec):
    f, points = mixed_radix(spec), list(itertools.product(*map(range, spec[0])))
    return (lambda: [f(*p) for p in points]), lambda out: [v for (v,) in out]


def _row(spec):
    """The outer map with its one moving mode as its only axis."""
    (_, n), (_, d), offset = spec
    from tirx.layout.maps import MixedRadix

    return MixedRadix(n, d, offset)


def _map_compose(outer, inner):
    outer, inner = _row(outer), mixed_radix(inner)
    return (lambda: outer @ inner), _values


def _normalize(outer, inner):
    both = _row(outer) @ mixed_radix(inner)
    return (lambda: both.normalize()), _values


def _try_inverse(spec):
    f = mixed_radix(spec)
    return (lambda: f.try_inverse()), lambda inverse: [inverse(v) for v in radix(spec)]


def _preimage(spec, value):
    f = mixed_radix(spec)
    wide = f.with_codomain(max(f.codomain[0], value + 1))
    return (lambda: wide.preimage(value)), lambda fiber: sorted(fiber.table())


def _image(spec):
    f = mixed_radix(spec)
    return (lambda: len(f.image())), int


def _prove(make, **options):
    def prepare(*args):
        from tirx.layout.proof import prove

        f = make(*args)
        return (lambda: prove(f, **options)), lambda proof: proof.statuses()

    return prepare


@functools.cache
def bit_linear(bases, shift, ragged):
    from tirx.layout.maps import BitLinear

    return BitLinear(ragged, 8, [list(bases)], [shift])


MAP = {
    "map call": _call,
    "map compose": _map_compose,
    "map normalize": _normalize,
    "map try_inverse": _try_inverse,
    "map preimage": _preimage,
    "map image": _image,
    "map prove, strides": _prove(mixed_radix),
    "map prove, bits": _prove(bit_linear),
    "map prove, no budget": _prove(mixed_radix, budget=0),
}
