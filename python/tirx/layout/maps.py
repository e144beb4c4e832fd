"""Layout maps: functions between boxes of integers (faces of include/tirx/layout/map.h).

A map takes a point of its domain, one int per axis, to one int per codomain axis. Boxes are written as an
extent, a tuple of extents or a dict {axis name: extent}. Nothing is approximated: where a subexpression
overflows 64 bits, divides by zero or leaves the domain it enters, the map has no value and a call raises
LayoutError. The declared codomain is a claim that `prove` checks, not evaluation.
"""

from __future__ import annotations

from array import array

from tvm_ffi import Object, register_object

from .. import _ffi_api as _api
from ..errors import LayoutError
from .symbolic import trace


@register_object("tx.IndexBox")
class IndexBox(Object):
    """The box [0, n0) x [0, n1) x .., axes optionally named."""


def box(spec) -> IndexBox:
    """An IndexBox from an extent, a tuple of extents, a dict {name: extent} or an IndexBox."""
    if isinstance(spec, IndexBox):
        return spec
    if isinstance(spec, dict):
        return _api.index_box(_ints(spec.values()), [str(n) for n in spec])
    return _api.index_box(_ints(spec), [])


def _wrong(what, found, required):
    raise LayoutError(what, code="bad-argument", found=repr(found), required=required)


def as_layout_map(f) -> LayoutMap:
    """f itself; LayoutError when it is no map."""
    if not isinstance(f, LayoutMap):
        _wrong("this is no layout map", f, "a LayoutMap, for instance Identity, MixedRadix or index_map")
    return f


def _budget(n) -> int:
    if not isinstance(n, int) or isinstance(n, bool) or n < 0:
        _wrong("a budget is a number of points", n, "an int of at least 0")
    return n


def _pairs(domain, region) -> list:
    """One (begin, end) pair of ints for each axis."""
    pairs = [_ints(r) for r in region] if isinstance(region, (list, tuple)) else ()
    if len(pairs) != len(domain) or any(len(p) != 2 for p in pairs):
        _bad_region(domain, region)
    return pairs


def _region(domain, region) -> list:
    """The same, not empty and inside the domain."""
    pairs = _pairs(domain, region)
    if any(not 0 <= b < e <= n for (b, e), n in zip(pairs, domain)):
        _bad_region(domain, region)
    return pairs


def _bad_region(domain, region):
    raise LayoutError("the region is not a box of the domain", code="bad-box", found=repr(region),
                      required=f"one (begin, end) for each extent of {tuple(domain)}")  # fmt: skip


def _maybe_box(spec):
    return None if spec is None else box(spec)


def _ints(values) -> list:
    """A list of 64-bit Python ints from an int or a sequence of int-like numbers."""
    try:
        out = [v.__index__() for v in ((values,) if hasattr(values, "__index__") else values)]
    except (TypeError, AttributeError):
        raise LayoutError("a map takes integers", code="not-an-integer", found=repr(values),
                          required="ints, or a sequence of ints") from None  # fmt: skip
    if any(not -(1 << 63) <= v < 1 << 63 for v in out):
        raise LayoutError("a number does not fit 64 bits", code="overflow", found=repr(values),
                          required="64-bit integers")  # fmt: skip
    return out


@register_object("tx.LayoutMap")
class LayoutMap(Object):
    """Base of all maps. `domain` and `codomain` are tuples of extents; `f @ g` is f after g."""

    @property
    def domain(self) -> tuple:
        return tuple(self.domain_box.extents)

    @property
    def codomain(self) -> tuple:
        return tuple(self.codomain_box.extents)

    @property
    def domain_names(self) -> tuple:
        """One name per axis ("" where it has none)."""
        return _names(self.domain_box)

    @property
    def codomain_names(self) -> tuple:
        return _names(self.codomain_box)

    @property
    def size(self) -> int:
        """Number of points of the domain."""
        return _product(self.domain)

    def __call__(self, *coords) -> tuple:
        """The value at a point. LayoutError "outside-domain", or "no-value" naming the subexpression."""
        if len(coords) == 1 and isinstance(coords[0], (tuple, list)):
            coords = coords[0]
        return tuple(_api.map_eval(self, _ints(coords)))

    def table(self) -> list:
        """All values as tuples, row-major over the domain (last axis fastest); up to 2**20 points."""
        flat = array("q", bytes(_api.map_table(self)))
        return list(zip(*[iter(flat)] * len(self.codomain)))

    def compose(self, inner: LayoutMap) -> LayoutMap:
        """self after `inner`, whose codomain lies in this domain. Never fails for want of a flat form."""
        return _api.map_compose(self, as_layout_map(inner))

    __matmul__ = compose

    def normalize(self) -> LayoutMap:
        """The strongest form that fits: Identity, MixedRadix (coalesced), BitLinear, Piecewise, a Transform
        composition, else IndexExpr. Equal at every point; see include/tirx/layout/map.h."""
        return _api.map_normalize(self)

    def try_inverse(self, budget=1 << 20) -> LayoutInverse:
        """The inverse and why it is one. LayoutError "not-injective" with two points of one value, or
        "unproved"; `budget` bounds the points that may be listed."""
        map, argument, *image = list(_api.map_inverse(self, _budget(budget)))
        return LayoutInverse(map, image[0] if image else None, str(argument))

    def preimage(self, *value, budget=1 << 20) -> LayoutMap | None:
        """All points of a value, as an injective map from a fiber box onto them (its `table()` lists
        them); None when there are none."""
        if len(value) == 1 and isinstance(value[0], (tuple, list)):
            value = value[0]
        return _api.map_fiber(self, _ints(value), _budget(budget))

    def image(self, region=None, budget=1 << 20) -> LayoutImage:
        """The set of values, of the whole domain or of a box given as (begin, end) per axis."""
        return LayoutImage(self if region is None else self @ _box_of(self, region), _budget(budget))

    def difference(self, other, budget=1 << 20) -> tuple | None:
        """A point where the two functions differ, or None when they are equal at every point. LayoutError
        "unproved" when neither is shown; "box-mismatch" for maps on different domains."""
        point = _api.map_difference(self, as_layout_map(other), _budget(budget))
        return None if point is None else tuple(point)

    def with_codomain(self, codomain) -> LayoutMap:
        """The same function with another declared codomain."""
        return _api.map_with_codomain(self, box(codomain))

    def text(self, output=0) -> str:
        """The expression of one codomain axis over the coordinates."""
        return str(_api.map_text(self, output))

    def __repr__(self):
        kind = type(self).__name__
        return f"<{kind} {_box_text(self.domain_box)} -> {_box_text(self.codomain_box)}>"


class LayoutInverse:
    """What `try_inverse` proved: `map` sends f(x) back to x and has no value off the image of f; `image` is
    a map from the codomain to 1 (in the image) or 0, None when f is onto; `argument` says why."""

    def __init__(self, map, image, argument):
        self.map, self.image, self.argument = map, image, argument

    def __call__(self, *value):
        return self.map(*value)

    def __repr__(self):
        where = "everywhere" if self.image is None else "on the image"
        return f"<inverse {where}: {self.argument}>"


class LayoutImage:
    """The values of a map. `len` counts them, `in` asks for one, `points()` lists them in order."""

    def __init__(self, map, budget):
        self.map, self._budget = map, budget

    def __len__(self):
        return _api.map_image_size(self.map, self._budget)

    def __contains__(self, value):
        return self.map.preimage(value, budget=self._budget) is not None

    def points(self) -> list:
        return sorted(set(self.map.table()))


def _box_of(f, region):
    """The inclusion of a box into the domain of f."""
    region = _region(f.domain, region)
    shape = tuple(e - b for b, e in region)
    unit = tuple(tuple(int(i == j) for j in range(len(shape))) for i in range(len(shape)))
    return MixedRadix(shape, unit, tuple(b for b, _ in region), f.domain_box)


def _product(extents) -> int:
    n = 1
    for e in extents:
        n *= e
    return n


def _names(b) -> tuple:
    return tuple(str(n) for n in b.names) or ("",) * len(b.extents)


def _box_text(b) -> str:
    parts = [f"{n}={e}" if n else str(e) for n, e in zip(_names(b), b.extents)]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _kind(name):
    """The Python class of one form of the grammar."""
    return register_object(f"tx.LayoutMap{name}")(
        type(f"{name}Map", (LayoutMap,), {"__slots__": (), "__module__": __name__})
    )


IdentityMap = _kind("Identity")
MixedRadixMap = _kind("MixedRadix")
BitLinearMap = _kind("BitLinear")
TranslateMap = _kind("Translate")
ComposeMap = _kind("Compose")
ProductMap = _kind("Product")
ProjectMap = _kind("Project")
PermuteMap = _kind("Permute")
RecastMap = _kind("Recast")
TransformMap = _kind("Transform")
PiecewiseMap = _kind("Piecewise")
IndexExprMap = _kind("IndexExpr")
FiniteTableMap = _kind("FiniteTable")


def Identity(shape) -> LayoutMap:
    """x -> x."""
    return _api.map_identity(box(shape))


def MixedRadix(shape, stride, offset=0, codomain=None) -> LayoutMap:
    """offset + sum of digit * stride, as CuTe: one domain axis per top-level mode of `shape`, whose
    coordinate is split over the leaves of that mode, the leftmost fastest. A stride is an int, or a tuple
    with one int per codomain axis. Without `codomain`: just large enough for the largest value."""
    modes, strides = (shape, stride) if isinstance(shape, (tuple, list)) else ((shape,), (stride,))
    if not isinstance(strides, (tuple, list)) or len(modes) != len(strides):
        _bad_profile(shape, stride)
    leaves = [list(_leaves(m, s)) for m, s in zip(modes, strides)]
    vectors = [[_ints(s) for _, s in axis] for axis in leaves]
    rank = max((len(v) for axis in vectors for v in axis), default=1)
    start = _ints(offset)
    start = start * rank if start == [0] else start
    extents = [[_ints(e)[0] for e, _ in axis] for axis in leaves]
    return _api.map_mixed_radix(extents, vectors, start, _maybe_box(codomain))


def _leaves(shape, stride):
    """(extent, stride) pairs of a nested shape, leftmost first."""
    if not isinstance(shape, (tuple, list)):
        yield shape, stride
    elif not isinstance(stride, (tuple, list)) or len(shape) != len(stride):
        _bad_profile(shape, stride)
    else:
        for m, s in zip(shape, stride):
            yield from _leaves(m, s)


def _bad_profile(shape, stride):
    raise LayoutError("shape and stride are not nested alike", code="profile-mismatch",
                      found=f"{shape}:{stride}", required="one stride (an int, or a tuple with one int per "
                      "codomain axis) for each extent")  # fmt: skip


def BitLinear(domain, codomain, basis, translation=None) -> LayoutMap:
    """translation XOR XOR(basis[i][b] for the bits b set in coordinate i), linear over GF(2).

    basis[i] has ceil(log2(extent of axis i)) entries, each a tuple with one int per codomain axis (an int
    when there is one axis)."""
    if not all(
        isinstance(axis, (list, tuple)) for axis in (basis, *(basis if hasattr(basis, "__iter__") else ()))
    ):
        _wrong("a basis is nested wrongly", basis, "basis[axis][bit], a list of bit images for each axis")
    rows = [[_ints(v) for v in axis] for axis in basis]
    to = box(codomain)
    start = [0] * len(to.extents) if translation is None else _ints(translation)
    return _api.map_bit_linear(box(domain), to, rows, start)


def Translate(map, offset, codomain=None) -> LayoutMap:
    """map(x) + offset, per codomain axis."""
    return _api.map_translate(as_layout_map(map), _ints(offset), _maybe_box(codomain))


def Compose(outer, inner) -> LayoutMap:
    """outer after inner."""
    return as_layout_map(outer).compose(inner)


def product(*maps) -> LayoutMap:
    """(x1, x2, ..) -> (f1(x1), f2(x2), ..): the axes of the factors in sequence."""
    return _api.map_product([as_layout_map(f) for f in maps])


Product = product


def Project(shape, axes) -> LayoutMap:
    """x -> the coordinates `axes` of x."""
    return _api.map_project(box(shape), _ints(axes), False)


def Permute(shape, axes) -> LayoutMap:
    """Axis k of the result is axis axes[k] of the argument."""
    return _api.map_project(box(shape), _ints(axes), True)


def Recast(map, from_bits, to_bits, axis=-1) -> LayoutMap:
    """A map to one memory axis in elements of `from_bits`, seen in elements of `to_bits`. Domain axis `axis`
    holds the consecutive elements; LayoutError "not-recastable" when wider ones are not whole."""
    from_bits, to_bits, axis = _ints((from_bits, to_bits, axis))
    axis = axis + len(as_layout_map(map).domain) if axis < 0 else axis
    return _api.map_recast(map, from_bits, to_bits, axis)


def index_map(domain, fn, codomain=None) -> LayoutMap:
    """The map x -> fn(*x). `fn` is called once with symbolic coordinates, which take + - * // % ^ & | << >>
    and comparisons (1 or 0), and returns one expression per codomain axis. Without `codomain` all values are
    listed to find the smallest box (up to 2**20 points, all of which need a value)."""
    dom = box(domain)
    code, outputs = trace(len(dom.extents), fn)
    if codomain is not None:
        return _api.map_index_expr(dom, box(codomain), code, outputs)
    wide = _api.map_index_expr(dom, _api.index_box([1] * len(outputs), []), code, outputs)
    highest = [max(1, 1 + max(column)) for column in zip(*wide.table())]
    return _api.map_index_expr(dom, box(highest), code, outputs)


def FiniteTable(domain, codomain, values) -> LayoutMap:
    """values[k] is the value (a tuple, or an int when there is one codomain axis) at the k-th point of the
    domain, row-major."""
    if not hasattr(values, "__iter__"):
        _wrong("a table is a list of values", values, "one value for each point of the domain")
    flat = [v for row in values for v in _ints(row)]
    return _api.map_finite_table(box(domain), box(codomain), flat)


def Piecewise(domain, pieces) -> LayoutMap:
    """`pieces` lists (where, map): `where` is a list of (begin, end) per axis, or a function of symbolic
    coordinates that gives 1 or 0. A point where none or several hold has no value."""
    dom = box(domain)
    if not all(isinstance(p, (tuple, list)) and len(p) == 2 for p in pieces):
        _wrong("a piece is a pair", pieces, "(where, map) pairs")
    predicates = [_predicate(dom, w) for w, _ in pieces]
    return _api.map_piecewise(predicates, [as_layout_map(m) for _, m in pieces])


def _predicate(dom, where):
    fn = where if callable(where) else _inside(_pairs(dom.extents, where))
    return _api.map_index_expr(dom, _api.index_box([2], []), *trace(len(dom.extents), fn))


def _inside(region):
    def fn(*coords):
        holds = 1
        for x, (begin, end) in zip(coords, region):
            holds = holds * (x >= begin) * (x < end)
        return holds

    return fn


def Transform(name, params, domain, codomain=None, inverted=False) -> LayoutMap:
    """A registered bijection, for instance Transform("xor_swizzle", (M, B, S), 1024)."""
    to = box(domain) if codomain is None else box(codomain)
    if not isinstance(name, str):
        _wrong("a transform is named", name, "the name of a registered transform")
    return _api.map_transform(name, _ints(params), box(domain), to, inverted)


def register_transform(name, forward, inverse, bijective=None):
    """Register a bijection for `Transform`. `forward` and `inverse` are called as fn(params, coords) with
    tuples of ints and return a tuple. `bijective(params, domain, codomain)` returns the argument that they
    are inverse to each other between these boxes ("" when they are not); without it, every Transform of at
    most 65,536 points is checked point by point, and larger ones are refused."""

    if not isinstance(name, str) or not (callable(forward) and callable(inverse)):
        _wrong(
            "a transform has a name and two functions", (name, forward, inverse), "str, callable, callable"
        )

    def evaluator(fn):
        return lambda params, coords: _ints(fn(tuple(params), tuple(coords)))

    def argue(params, domain, codomain):
        boxes = tuple(domain), tuple(codomain)
        return bijective(tuple(params), *boxes) if bijective else _checked(forward, inverse, params, *boxes)

    _api.map_register_transform(name, evaluator(forward), evaluator(inverse), argue)


def _checked(forward, inverse, params, domain, codomain) -> str:
    import itertools

    n, params = _product(domain), tuple(params)
    if n > 1 << 16 or n != _product(codomain):
        return ""
    for x in itertools.product(*map(range, domain)):
        y = tuple(forward(params, x))
        inside = len(y) == len(codomain) and all(0 <= v < e for v, e in zip(y, codomain))
        if not inside or tuple(inverse(params, y)) != x:
            return ""
    return f"its inverse was checked at all {n} points"


def __getattr__(name):
    if name in ("LayoutCorr", "as_map", "corr_of", "to_layout"):
        from . import corr

        return getattr(corr, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
