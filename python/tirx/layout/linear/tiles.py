"""Between linear layouts and TileLayouts, in both directions and exactly.

A *placement* maps a tensor to places: inputs dim0, dim1, ..., outputs axes (m, laneid, ...). A TileLayout without
replicas is one when its extents are powers of two, it has no offset, and no two digits share a bit of an axis:
then, and only then, its integer sums are XORs. A ComposeLayout adds its XOR.

A *distribution* maps places to a tensor, as Triton's layouts of registers do: inputs axes, outputs dim0, dim1, ...
Replicas are inputs on which the output does not depend. Every place must hold one element.

Dimensions are named dim0, dim1, ... as in the shape and listed the last one first, since the first dimension of a
linear layout is the most minor: flattened, they are the row-major index.
"""

from __future__ import annotations

from ..notation import Axis
from ..tile import ComposeLayout, Iter, Layout, TileLayout, _int
from . import gf2
from .layout import LinearLayout, linear_of, log2, refuse
from .solve import pseudoinvert

# Triton's names of a distribution's inputs.
AXES = {"register": "m", "lane": "laneid", "warp": "warpid", "block": "cta_id", "offset": "m"}


def dims_of(shape) -> list:
    """[(name, size)] of a tensor's dimensions, the most minor first."""
    return [(f"dim{i}", shape[i]) for i in reversed(range(len(shape)))]


class _Digits:
    """A static layout as input bits: for each a {axis: step}; the row-major index's bits from the lowest, then
    the replicas' bits."""

    def __init__(self, layout):
        if not isinstance(layout, Layout):
            refuse(
                "this is no TileLayout",
                "not-a-layout",
                type(layout).__name__,
                "a TileLayout or ComposeLayout",
            )
        layout = layout.canonicalize()
        self.swizzle = layout if isinstance(layout, ComposeLayout) else None
        tile = layout.tile_layout if self.swizzle is not None else layout
        iters = [(_int(i.extent), _int(i.stride), str(i.axis)) for i in tile.shard]
        copies = [(_int(i.extent), _int(i.stride), str(i.axis)) for i in tile.replica]
        for e, s, _ in iters + copies:
            if type(e) is not int or type(s) is not int:
                refuse("a linear layout is static", "symbolic", layout, "constant extents and strides")
        self._refuse_offset(layout, tile)
        self.index = [step for it in reversed(iters) for step in self._bits(*it)]
        self.copies = [step for it in copies for step in self._bits(*it)]
        self._refuse_carries(layout)

    @staticmethod
    def _refuse_offset(layout, tile):
        if any(_int(v) != 0 for v in tile.offset.values()):
            refuse("a linear layout maps 0 to 0", "not-linear", f"an offset in {layout}", "no offset",
                   "slice it off, or keep the offset beside the linear layout")  # fmt: skip

    @staticmethod
    def _bits(extent, stride, axis):
        bits = log2(extent, "an extent")
        if stride < 0 and bits:
            refuse("a negative stride is not XOR", "not-linear", f"{extent}:{stride}@{axis}", "strides >= 0")
        return [(axis, stride << i) for i in range(bits)]

    def _refuse_carries(self, layout):
        seen = {}
        for axis, step in self.index + self.copies:
            if seen.get(axis, 0) & step:
                refuse(f"digits share a bit of {axis}: their sum is not an XOR", "not-linear",
                       f"step {step}@{axis} in {layout}", "steps without common bits")  # fmt: skip
            seen[axis] = seen.get(axis, 0) | step
        self.axes = _in_order(seen)
        self.sizes = {a: 1 << seen[a].bit_length() for a in self.axes}

    def swizzled(self, axis, step):
        return _swizzle(step, *_exponents(self.swizzle)) if self.swizzle is not None and axis == "m" else step

    def images(self, steps):
        """Tuples over the axes."""
        return [tuple(self.swizzled(a, s) if a == axis else 0 for a in self.axes) for axis, s in steps]


def _in_order(axes):
    """Memory axes first, then thread axes, in the order in which they are declared."""
    known = list(Axis._known)
    return sorted(axes, key=lambda a: (Axis.get(a).is_thread(), known.index(a)))


def _exponents(layout):
    return layout.per_element, layout.swizzle_len, layout.atom_len


def _swizzle(m, per_element, bits, atom):
    x = m >> per_element
    x ^= (x & (((1 << bits) - 1) << atom)) >> atom
    return x << per_element | m & ((1 << per_element) - 1)


def _shaped(layout, shape):
    size = _int(layout.size())
    shape = [size] if shape is None else list(shape)
    product = 1
    for s in shape:
        product *= 1 << log2(s, "a dimension")
    if product != size:
        refuse("the shape has another size than the layout", "bad-shape", shape, f"a product of {size}")
    return shape


def placement_of(layout, shape=None) -> LinearLayout:
    """The LinearLayout (dims -> axes) of a TileLayout or ComposeLayout without replicas, on `shape`."""
    digits = _Digits(layout)
    if digits.copies:
        refuse("an element has several places", "not-a-function", layout, "a layout without replicas",
               "distribution_of maps places to elements")  # fmt: skip
    sizes = digits.sizes
    if digits.swizzle is not None and "m" in sizes:
        sizes = {**sizes, "m": _swizzled_size(digits)}
    flat = LinearLayout({"x": digits.images(digits.index)}, sizes)
    return flat.reshape_ins(dims_of(_shaped(layout, shape)))


def _swizzled_size(digits):
    at = digits.axes.index("m")
    values = [i[at] for i in digits.images(digits.index + digits.copies)]
    return 1 << max([v.bit_length() for v in values], default=0)


def distribution_of(layout, shape=None) -> LinearLayout:
    """The LinearLayout (axes -> dims) that says which element a place holds; replicas are inputs that do not
    matter. Refused when a place of the covered box holds no element or several."""
    digits = _Digits(layout)
    sizes = dict(digits.sizes)
    if digits.swizzle is not None and "m" in sizes:
        sizes["m"] = max(sizes["m"], _swizzled_size(digits))
    places = LinearLayout({"x": digits.images(digits.index), "r": digits.images(digits.copies)}, sizes)
    if not places.is_injective():
        refuse("a place holds several elements", "not-injective", layout, "different places for all elements")
    if not places.is_surjective():
        refuse("a place of the covered box holds no element", "not-surjective", f"{layout} in {sizes}",
               "places without gaps")  # fmt: skip
    elements = places.inverse().sublayout(list(sizes), ["x"])
    return elements.reshape_outs(dims_of(_shaped(layout, shape)))


def tile_of_placement(linear):
    """The TileLayout, or the ComposeLayout of a swizzle, with the placements of a LinearLayout whose outputs are
    axes. The row-major index is the flattened input. Refused when there is none."""
    linear = linear_of(linear)
    steps = [_one_axis(dict(zip(linear.out_dims, b)), linear) for bs in linear.bases.values() for b in bs]
    if not _carries(steps):
        return TileLayout.from_iters(_iters(steps)).canonicalize()
    found = _unswizzled(steps)
    if found is None:
        refuse("no layout of strides, nor a swizzle of one, has these places", "no-tile-layout", linear,
               "bases without common bits per axis, after one XOR of higher bits into lower ones")  # fmt: skip
    exponents, steps = found
    return ComposeLayout(*exponents, TileLayout.from_iters(_iters(steps)).canonicalize())


def _one_axis(places, linear):
    """(axis, step) of a basis {axis: coordinate}."""
    moving = [(a, v) for a, v in places.items() if v]
    if len(moving) > 1:
        refuse("one bit of the index moves along several axes", "no-tile-layout", f"{dict(moving)} in {linear}",
               "a digit that steps on one axis")  # fmt: skip
    return moving[0] if moving else ("m", 0)


def _carries(steps):
    seen = {}
    for axis, step in steps:
        if seen.get(axis, 0) & step:
            return True
        seen[axis] = seen.get(axis, 0) | step
    return False


def _iters(steps):
    """One iter of extent 2 per bit, the highest first."""
    return [Iter(2, step, axis) for axis, step in reversed(steps)]


def _unswizzled(steps):
    """((M, B, S), steps) such that the swizzle of `steps` is what was given: swizzles undo themselves."""
    top = max(s.bit_length() for a, s in steps if a == "m") if any(a == "m" for a, _ in steps) else 0
    for bits in range(1, top):
        for atom in range(bits, top):
            for per in range(top - atom):
                plain = [(a, _swizzle(s, per, bits, atom) if a == "m" else s) for a, s in steps]
                if not _carries(plain):
                    return (per, bits, atom), plain
    return None


def tile_of_distribution(linear, axes=None):
    """The TileLayout with the places of a LinearLayout from places to elements: `axes` names the axis of each
    input (Triton's register, lane, warp and block are known). Inputs that do not matter become replicas; the
    row-major index is the flattened output. Refused when there is none."""
    linear = linear_of(linear)
    names = {n: (axes or {}).get(n, AXES.get(n, n)) for n in linear.in_dims}
    places = pseudoinvert(linear).rename_outs(names)
    copies = gf2.reduced(gf2.kernel(linear._cols))
    if not copies:
        return tile_of_placement(places)
    steps = [_one_axis(dict(zip(places.out_dims, b)), linear) for bs in places.bases.values() for b in bs]
    extra = [_one_axis(dict(zip(places.out_dims, places._unpack(k))), linear) for k in copies]
    if _carries(steps + extra):
        refuse("the copies of an element are not at fixed distances", "no-tile-layout", linear,
               "free input bits that no other basis depends on")  # fmt: skip
    return TileLayout.from_iters(_iters(steps), _iters(extra)).canonicalize()
