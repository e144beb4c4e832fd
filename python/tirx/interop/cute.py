"""CuTe layouts of `pycute` (the pure-Python reference in the wheel nvidia-cutlass) to and from `tirx.layout.cute`.

`from_cute` reads any object with `shape` and `stride`, hence also static layouts of the CUTLASS DSL; only
`to_cute` needs pycute.
"""

from __future__ import annotations

from ..errors import LayoutError, absent
from ..layout.cute import ComposedLayout, CuteLayout, Swizzle

CHECKED = 4096


def from_cute(obj):
    """A CuteLayout, Swizzle or ComposedLayout with the values of `obj`.

    Objects that can be called are compared at every index, up to 4,096 of them. LayoutError for objects
    that are none of these, layouts that are not static, and layouts whose own call gives other values.
    """
    layout = _read(obj)
    if callable(obj) and not isinstance(layout, Swizzle):
        for x in range(min(layout.size(), CHECKED)):
            if obj(x) != layout(x):
                raise LayoutError("the object's values are not its layout's", code="import-differs",
                                  found=f"{obj(x)} at {x} of {obj}", required=f"{layout(x)} of {layout}")  # fmt: skip
    return layout


def _read(obj):
    if hasattr(obj, "layoutA") and hasattr(obj, "layoutB"):  # pycute: layoutB(offset + layoutA(x))
        return ComposedLayout(_read(obj.layoutB), obj.offset, _read(obj.layoutA))
    if hasattr(obj, "bits") and hasattr(obj, "base") and hasattr(obj, "shift"):
        return Swizzle(obj.bits, obj.base, obj.shift)
    if not (hasattr(obj, "shape") and hasattr(obj, "stride")) or callable(obj.stride):
        raise LayoutError("this is no CuTe layout", code="not-a-layout", found=f"a {type(obj).__name__}",
                          required="an object with shape and stride")  # fmt: skip
    return CuteLayout(obj.shape, obj.stride)


def to_cute(layout):
    """The pycute object with the same shape, strides and values. LayoutError when pycute is not installed or the
    layout has symbols, or is no CuteLayout, Swizzle or ComposedLayout of these."""
    pycute = _pycute()
    if isinstance(layout, Swizzle):
        return pycute.Swizzle(layout.bits, layout.base, layout.shift)
    if isinstance(layout, ComposedLayout):
        return pycute.ComposedLayout(to_cute(layout.outer), layout.offset, to_cute(layout.inner))
    if not isinstance(layout, CuteLayout) or not layout.is_static():
        raise LayoutError("pycute has no such layout", code="not-a-layout", found=repr(layout),
                          required="a static CuteLayout, a Swizzle, or a ComposedLayout of these")  # fmt: skip
    made = pycute.Layout(layout.shape, layout.stride)
    for x in range(min(layout.size(), CHECKED)):
        if made(x) != layout(x):
            raise LayoutError("pycute evaluates this layout to other values", code="export-differs",
                              found=f"{made(x)} at {x} of {made}", required=f"{layout(x)} of {layout}")  # fmt: skip
    return made


def _pycute():
    """NVIDIA's pycute; a package of the same name on the index is another one."""
    try:
        import pycute
    except ImportError:
        pycute = None
    if not hasattr(pycute, "logical_divide"):
        raise absent("pycute", "the module of the wheel nvidia-cutlass", "pip install tirx[interop]")
    return pycute
