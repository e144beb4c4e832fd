"""Between CuTe layouts and LayoutMaps. One domain axis per top-level mode, its coordinate leftmost-fastest."""

from __future__ import annotations

from .. import maps
from . import tuples
from .composed import ByMode, ComposedLayout, Swizzle
from .layout import CuteLayout, make_layout, need_static, nest
from .tuples import flatten, refuse


def to_map(layout):
    """The LayoutMap with `map(i, j, ...) == (layout(i, j, ...),)`. A CuteLayout is a MixedRadix; a ComposedLayout a
    Compose, its offset a Translate, a swizzle to the right the registered transform; static layouts only."""
    if isinstance(layout, CuteLayout):
        need_static(layout, "to_map")
        modes = layout.modes()
        return maps.MixedRadix(tuple(m.shape for m in modes), tuple(m.stride for m in modes))
    if isinstance(layout, ByMode):
        parts = [to_map(_one_axis(p)) for p in layout.parts]
        ends = tuple(p.codomain[0] for p in parts)
        return maps.MixedRadix(ends, (1,) * len(ends)) @ maps.product(*parts)
    if not isinstance(layout, ComposedLayout):
        refuse("this is no layout", "not-a-layout", repr(layout), "a CuteLayout or ComposedLayout")
    inner = to_map(layout.inner)
    if layout.offset:
        inner = maps.Translate(inner, layout.offset)
    return _outer(layout.outer, inner.codomain[0]) @ inner


def _one_axis(part):
    """A mode as a map of one axis."""
    if isinstance(part, CuteLayout):
        return make_layout(part) if isinstance(part.shape, tuple) else part
    if isinstance(part, ComposedLayout):
        return ComposedLayout(part.outer, part.offset, _one_axis(part.inner))
    refuse("a mode of modes has no single axis", "nested", repr(part), "layouts and composed layouts")


def _outer(outer, extent):
    """The map of an outer function on [0, extent); a layout's last leaf grows to reach that far."""
    if isinstance(outer, Swizzle):
        return _swizzle(outer, extent)
    if isinstance(outer, ComposedLayout):
        inner = _outer(outer.inner, extent)
        inner = maps.Translate(inner, outer.offset) if outer.offset else inner
        return _outer(outer.outer, inner.codomain[0]) @ inner
    need_static(outer, "to_map")
    extents, strides = list(flatten(outer.shape)), flatten(outer.stride)
    before = tuples.product(tuple(extents[:-1])) if len(extents) > 1 else 1
    extents[-1] = max(extents[-1], -(-extent // before))
    return maps.MixedRadix((tuple(extents),), (strides,))


def _swizzle(swizzle, extent):
    period = swizzle.period()
    whole = -(-extent // period) * period
    if swizzle.shift >= 0:
        return maps.Transform("xor_swizzle", (swizzle.base, swizzle.bits, swizzle.shift), whole)
    mask = ((1 << swizzle.bits) - 1) << swizzle.base
    return maps.index_map(whole, lambda x: x ^ ((x & mask) << -swizzle.shift), whole)


def from_map(f):
    """The CuteLayout, or the ComposedLayout with an offset, that a LayoutMap to one axis is: of a MixedRadix as it
    stands, of another map when its normal form is one. LayoutError otherwise."""
    form = f if isinstance(f, maps.MixedRadixMap) else f.normalize()
    if len(f.codomain) != 1 or not isinstance(form, (maps.MixedRadixMap, maps.IdentityMap)):
        refuse("this map is no CuTe layout", "not-mixed-radix", repr(form),
               "digits times strides, to one codomain axis")  # fmt: skip
    if isinstance(form, maps.IdentityMap):
        return CuteLayout(form.domain[0])
    axes = [list(zip(map(int, e), (int(s[0]) for s in d))) for e, d in zip(form.shape, form.stride)]
    modes = [nest([axis], 1) for axis in axes]
    layout = modes[0] if len(modes) == 1 else make_layout(*modes)
    offset = int(form.offset[0])
    return ComposedLayout(Swizzle(0, 0, 0), offset, layout) if offset else layout
