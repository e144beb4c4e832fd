"""Digits of the device number, and the layouts that they make (mesh.py).

A sharding is a list of `Atom`s: each is a digit of the device number and says what it selects, a digit of an
index of the tensor, a copy, or a summand. `Cutter` gives digits to tensor dimensions in order, `layout_of` writes the
atoms as a layout on pid and m, `read` finds them in one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd, prod

from .given import integer, integers, refuse
from .tile import Iter, TileLayout, _int

REDUCTIONS = ("sum", "avg", "product", "max", "min")


@dataclass(frozen=True)
class Atom:
    """A digit of the device number, `extent` values `stride` apart, and its role: ("shard", dimension,
    weight): it is digit (index // weight) % extent of that tensor dimension; ("copy",); ("pending", op)."""

    extent: int
    stride: int
    role: tuple

    def cut(self, inner):
        """(outer, inner) digits; `inner` divides the extent."""
        outer_role = self.role
        if self.role[0] == "shard":
            outer_role = (*self.role[:2], self.role[2] * inner)
        return Atom(self.extent // inner, self.stride * inner, outer_role), replace(self, extent=inner)


def merged(atoms):
    """The same placement in the fewest digits, by stride."""
    out = []
    for a in sorted((a for a in atoms if a.extent > 1), key=lambda a: a.stride):
        joined = out[-1] if out else None
        whole = joined and Atom(joined.extent * a.extent, joined.stride, joined.role)
        if whole and whole.cut(joined.extent) == (a, joined):
            out[-1] = whole
        else:
            out.append(a)
    return out


def refined(atoms, strides):
    """The atoms cut so that every stride in `strides` that lies inside one starts a digit; None if impossible."""
    out = []
    for a in atoms:
        inside = sorted(s for s in set(strides) if a.stride < s < a.stride * a.extent)
        for s in reversed(inside):
            if s % a.stride or a.extent % (s // a.stride):
                return None
            outer, a = a.cut(s // a.stride)
            out.append(outer)
        out.append(a)
    return sorted(out, key=lambda a: a.stride)


def compatible(shape, roles):
    """Whether ("shard", dimension, weight) digits with their extents, as (extent, role) pairs, cut the shape into
    equal parts: within a dimension, each digit ends where, or before, the next begins."""
    for d, n in enumerate(shape):
        at = 1
        for weight, extent in sorted((r[2], e) for e, r in roles if r[0] == "shard" and r[1] == d):
            if weight % at:
                return False
            at = weight * extent
        if n % at:
            return False
    return True


class Cutter:
    """The memory digits (weight, extent) that are left of each tensor dimension, outermost first."""

    def __init__(self, shape):
        self.shape = integers(shape, "the shape of a tensor")
        self.digits = [[(1, n)] for n in self.shape]

    def cut(self, dim, iters, split_factor=1) -> list:
        """Give the digits `iters` of the device number to `dim`, outermost first, after the outer `split_factor`
        positions; the shard atoms."""
        rank, dim = len(self.shape), integer(dim, "a dimension")
        if not -rank <= dim < rank or integer(split_factor, "a split factor") < 1:
            refuse(
                "the tensor has no such dimension", "out-of-range", f"dimension {dim}", f"a rank of {rank}"
            )
        dim %= rank
        parts = split_factor * prod(n for n, _ in iters)
        if prod(e for _, e in self.digits[dim]) % parts:
            refuse("the shards of a dimension are not equal", "uneven-shard",
                   f"dimension {dim} of {self.shape} in {parts} parts", "a whole number of elements per device",
                   hint="pad the dimension to a multiple")  # fmt: skip
        kept = self._take(dim, split_factor)
        atoms = []
        for extent, stride in iters:
            taken, inner = self._take(dim, extent), extent
            for weight, part in taken:
                inner //= part
                atoms.append(Atom(part, stride * inner, ("shard", dim, weight)))
        self.digits[dim] = [*kept, *self.digits[dim]]
        return atoms

    def outside(self, dim, end):
        """How many values the left digits take at weight `end` and above."""
        return prod(max(1, e * w // max(w, end)) for w, e in self.digits[dim])

    def _take(self, dim, count) -> list:
        """The outermost digits of `dim` with product `count`, removed from what is left."""
        out, whole = [], count
        while count > 1:
            weight, extent = self.digits[dim].pop(0) if self.digits[dim] else (1, 1)
            n = gcd(extent, count)
            if n == 1 or (n != extent and n != count):
                refuse("the shards of a dimension are no layout", "not-a-layout",
                       f"dimension {dim} of {self.shape} over {whole}", "cuts that nest")  # fmt: skip
            out.append((weight * (extent // n), n))
            if n != extent:
                self.digits[dim].insert(0, (weight, extent // n))
            count //= n
        return out


def layout_of(shape, atoms, first, local):
    extents = [n // prod(a.extent for a in atoms if a.role[:2] == ("shard", d)) for d, n in enumerate(shape)]
    whole = {"compact": extents, "global": shape}.get(local)
    if whole is None:
        refuse("local memory is compact or keeps the global strides", "bad-operand", f"local={local!r}",
               '"compact" or "global"')  # fmt: skip
    iters = []
    for d in range(len(shape)):
        iters += _dim_iters(d, shape[d], atoms, prod(whole[d + 1 :]), local)
    copies = [Iter(a.extent, a.stride, "pid") for a in atoms if a.role[0] != "shard" and a.extent > 1]
    return TileLayout.from_iters(iters or [Iter(1, 1)], copies, {"pid": first} if first else {})


def _dim_iters(d, n, atoms, unit, local):
    """The iters of one dimension, outermost first: device digits at their weights, memory digits between."""
    if not compatible(
        [n], [(a.extent, ("shard", 0, a.role[2])) for a in atoms if a.role[:2] == ("shard", d)]
    ):
        refuse("the shards of a dimension are not equal", "uneven-shard", f"dimension {d} of extent {n}: {atoms}",
               "digits that divide the dimension")  # fmt: skip
    out, at, inside = [], 1, 1
    for a in sorted((a for a in atoms if a.role[:2] == ("shard", d)), key=lambda a: a.role[2]):
        gap = a.role[2] // at
        out += [Iter(gap, (at if local == "global" else inside) * unit)] if gap > 1 else []
        out += [Iter(a.extent, a.stride, "pid")] if a.extent > 1 else []
        inside, at = inside * gap, a.role[2] * a.extent
    if n > at or not out:
        out.append(Iter(n // at, (at if local == "global" else inside) * unit))
    return out[::-1]


# ---- reading a layout ----


def read(layout, shape, pending):
    """(first device, atoms) of a layout on pid and m."""
    if not isinstance(layout, TileLayout):
        refuse(
            "a placement is a TileLayout", "swizzled-placement", f"{type(layout).__name__}", "a TileLayout"
        )
    grouped, seps = layout.group(shape)
    atoms = []
    for d, (i, j) in enumerate(zip(seps, seps[1:])):
        weight = 1
        for it in reversed(list(grouped.shard)[i:j]):
            extent, stride = _number(it.extent), _number(it.stride)
            if _on_pid(it.axis, extent, stride):
                atoms.append(_checked(Atom(extent, stride, ("shard", d, weight))))
            weight *= extent
    waiting = list(pending)
    for it in layout.replica:
        atoms += _copies(_number(it.extent), _number(it.stride), it.axis, waiting)
    if waiting:
        refuse("a pending reduction runs over a replica of the layout", "no-such-replica", f"{waiting}",
               f"one of the replicas of {layout}")  # fmt: skip
    first = {str(a): _number(v) for a, v in layout.offset.items()}.get("pid", 0)
    return first, sorted(atoms, key=lambda a: a.stride)


def _copies(extent, stride, axis, waiting):
    if not _on_pid(axis, extent, stride):
        if extent > 1 and stride:
            refuse(
                "copies are on other devices",
                "replica-in-memory",
                f"{extent}:{stride}@{axis}",
                "replicas on pid",
            )
        return []
    found = next((p for p in waiting if p[:2] == (extent, stride)), None)
    if found:
        waiting.remove(found)
    return [_checked(Atom(extent, stride, ("pending", found[2]) if found else ("copy",)))]


def _number(e) -> int:
    value = _int(e)
    if not isinstance(value, int):
        refuse("a placement has constant extents and strides", "symbolic", f"{e}", "integers")
    return value


def _on_pid(axis, extent, stride) -> bool:
    if axis == "pid":
        return extent > 1 and stride != 0
    if axis != "m" and extent > 1 and stride:
        refuse("a placement is on devices and their memory", "bad-axis", f"axis {axis}", "pid and m")
    return False


def _checked(atom):
    if atom.stride < 0:
        refuse(
            "devices are counted upwards",
            "negative-stride",
            f"{atom.extent}:{atom.stride}@pid",
            "strides above 0",
        )
    return atom


def check_reductions(pending):
    for _, _, op in pending:
        if op not in REDUCTIONS:
            refuse("there is no such reduction", "bad-reduction", f"{op!r}", ", ".join(REDUCTIONS))
    ops = {op for _, _, op in pending}
    if len(ops) > 1 and ops != {"sum", "avg"}:
        refuse("pending reductions of different kinds do not commute", "mixed-reductions", f"{sorted(ops)}",
               "one kind, or sum and avg")  # fmt: skip


def check_memory(layout):
    """Two elements of one device are not in one place."""
    at = 1
    steps = [(abs(_number(it.stride)), _number(it.extent)) for it in layout.shard if it.axis == "m"]
    for stride, extent in sorted(s for s in steps if s[1] > 1):
        if stride < at:
            refuse("elements of one device may share a place in its memory", "aliased-memory", f"{layout}",
                   "memory strides that nest: each at least the span of the smaller ones")  # fmt: skip
        at += stride * (extent - 1)
