"""The notation of layouts: axes, `4 @ laneid`, and `S[...] + R[...] + offset`."""

from __future__ import annotations

import itertools

from .. import _ffi_api as _api
from .. import ir as _ir
from ..errors import LayoutError


class Axis(str):
    """A named axis. `4 @ laneid` is a stride (or offset) of 4 on it.

    Attributes: `extent` (0 when not fixed by the hardware), `extent_from`, `scope` and `subscope` (a thread
    axis numbers the subscope instances in one scope instance; "" for memory axes).
    """

    __slots__ = ("_is_thread", "extent", "extent_from", "scope", "subscope")
    __array_ufunc__ = None  # NumPy integers leave `n @ axis` to __rmatmul__
    _known: dict[str, Axis] = {}

    @classmethod
    def get(cls, name: str) -> Axis:
        """The axis of this name; LayoutError when it is not registered."""
        if name not in cls._known:
            cls._load()
        if name not in cls._known:
            _api.Iter(1, 1, name)  # raises, naming the nearest axes
        return cls._known[name]

    @classmethod
    def register(cls, name, *, thread, extent=0, extent_from="launch", scope="", subscope="") -> Axis:
        """Add an axis (a backend's own). Registering the same facts again is allowed."""
        _api.axis_register(name, thread, extent, extent_from, scope, subscope)
        return cls.get(name)

    @classmethod
    def _load(cls):
        for name, thread, extent, source, scope, subscope in (list(row) for row in _api.axis_table()):
            if name in cls._known:
                continue
            axis = str.__new__(cls, name)
            axis._is_thread, axis.extent, axis.extent_from = bool(thread), extent, str(source)
            axis.scope, axis.subscope = str(scope), str(subscope)
            cls._known[str(name)] = axis
            if not hasattr(cls, name):  # Axis.laneid
                setattr(cls, str(name), axis)

    def is_thread(self) -> bool:
        """Whether coordinates name owners (lanes, warps, CTAs, devices)."""
        return self._is_thread

    def is_memory(self) -> bool:
        """Whether coordinates name places inside one owner's storage."""
        return not self._is_thread

    def __rmatmul__(self, value):
        if isinstance(value, _OnAxis | Axis):
            raise LayoutError("a stride or offset is on one axis", code="two-axes", found=f"{value}@{self}",
                              required="number@axis")  # fmt: skip
        return _OnAxis(value, self)

    def __reduce__(self):
        return Axis.get, (str(self),)


class _OnAxis:
    """`value @ axis`; sums of these are offsets."""

    __slots__ = ("value", "axis")

    def __init__(self, value, axis):
        self.value, self.axis = value, axis

    def __add__(self, other):
        return _Spec(offset=[self]) + other

    __radd__ = __add__

    def __repr__(self):
        return f"{self.value}@{self.axis}"


class _Spec:
    """What `S[...] + R[...] + offset` adds up to; TileLayout reads it."""

    __slots__ = ("shard", "replica", "offset")

    def __init__(self, shard=None, replica=None, offset=()):
        self.shard, self.replica, self.offset = shard, replica, list(offset)

    def __add__(self, other):
        other = as_spec(other)
        if other is None:
            return NotImplemented
        if self.shard is not None and other.shard is not None:
            raise LayoutError("a layout has one S[...]", code="two-shards", hint="list its iters in one")
        replica = (self.replica or []) + (other.replica or [])
        return _Spec(self.shard if other.shard is None else other.shard, replica, self.offset + other.offset)

    __radd__ = __add__


def as_spec(x):
    if isinstance(x, _Spec):
        return x
    if isinstance(x, _OnAxis):
        return _Spec(offset=[x])
    return _Spec(offset=[_OnAxis(x, "m")]) if is_number(x) else None


def is_number(x) -> bool:
    return (hasattr(x, "__index__") and not isinstance(x, bool)) or isinstance(x, _ir.PrimExpr)


def check_number(x):
    """An int or an expression; anything else is the user's mistake."""
    if type(x) is int or isinstance(x, _ir.PrimExpr):
        return x
    if is_number(x):
        return int(x)
    raise LayoutError(
        "a layout's extents, strides and offsets are integers", code="not-an-integer",
        found=f"{x!r} of type {type(x).__name__}", required="an int or a scalar integer expression",
    )  # fmt: skip


def listed(x):
    return list(x) if isinstance(x, (tuple, list)) else [x]


class _Builder:
    """`S[shape : strides]`, `S[shape]` (row-major on m), `R[extents : strides]`."""

    __slots__ = ("_replica",)

    def __init__(self, replica):
        self._replica = replica

    def __getitem__(self, key):
        if isinstance(key, slice):
            iters = self._pairs(listed(key.start), listed(key.stop), key.step)
        else:
            extents = [check_number(e) for e in listed(key)]
            iters = list(zip(extents, _row_major(extents), itertools.repeat("m")))
        return _Spec(replica=iters) if self._replica else _Spec(shard=iters)

    @staticmethod
    def _pairs(extents, strides, step):
        if len(extents) != len(strides) or step is not None:
            raise LayoutError(
                "a layout needs one stride per extent", code="stride-count",
                found=f"{len(extents)} extents and {len(strides)} strides", required="equal counts",
            )  # fmt: skip
        return [(check_number(e), *_stride(s)) for e, s in zip(extents, strides)]


def _stride(s):
    if isinstance(s, _OnAxis):
        return check_number(s.value), s.axis
    if isinstance(s, str):  # a bare axis: stride 1
        return 1, s
    return check_number(s), "m"


def _row_major(extents):
    strides, stride = [], 1
    for e in reversed(extents):
        strides.append(stride)
        stride = stride * e
    return strides[::-1]


S = _Builder(replica=False)
R = _Builder(replica=True)

Axis._load()
