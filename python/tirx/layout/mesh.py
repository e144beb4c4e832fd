"""Distributed placements: which device of a mesh holds which elements (paper, section 3.2).

A `Placement` is a layout whose owner axis is `pid`, the device number, and whose memory axis is the place in that
device's local tensor, together with the pending reductions: replicas on pid that hold summands instead of copies.
The paper's 64 x 128 tensor on a 2 x 2 mesh, devices [[0, 2], [1, 3]]:

    S0S1:  S[(2, 32, 2, 64) : (1@pid, 128, 2@pid, 1)]
    S0R:   S[(2, 32, 128) : (1@pid, 128, 1)] + R[2 : 2@pid]

Shardings are even: a dimension is a whole number of shards, or the placement is refused. DTensor placements and Alpa
specs convert here, GSPMD and JAX notation in gspmd.py, communication between placements in communicate.py.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from math import gcd, prod

from ..errors import LayoutError
from .definition import equivalent
from .tile import Iter, TileLayout, _int

REDUCTIONS = ("sum", "avg", "product", "max", "min")


def refuse(message, code, found, required, hint=""):
    """Raise a LayoutError."""
    raise LayoutError(message, code=code, found=found, required=required, hint=hint)


# ---- meshes ----


class Mesh:
    """Devices in a grid.

    shape; names: of the dimensions, or None; dims: per dimension its pid iters (extent, stride), outermost first;
    first: the device at the origin. Device numbers are first + the digits of the coordinates times the strides.
    """

    __slots__ = ("shape", "names", "dims", "first")

    def __init__(self, shape, names=None, *, strides=None, devices=None, first=0):
        """Row-major devices 0, 1, ..., or `strides` per dimension, or `devices`: the numbers in row-major order
        (nested lists are flattened), which must be such digits."""
        self.shape = tuple(int(n) for n in shape)
        if min(self.shape, default=1) < 1:
            refuse("a mesh has devices in every dimension", "bad-shape", f"{self.shape}", "positive extents")
        self.names = None if names is None else tuple(str(n) for n in names)
        if self.names is not None and len(set(self.names)) != len(self.shape):
            refuse(
                "mesh dimensions have different names",
                "bad-mesh",
                f"{self.names}",
                f"{len(self.shape)} names",
            )
        if devices is not None:
            self.first, self.dims = _factor(self.shape, _flat(devices))
            return
        strides = _row_major(self.shape) if strides is None else tuple(strides)
        if len(strides) != len(self.shape):
            refuse(
                "a mesh has a stride per dimension", "bad-mesh", f"{strides}", f"{len(self.shape)} strides"
            )
        self.first, self.dims = first, tuple(((n, s),) for n, s in zip(self.shape, strides))

    @property
    def size(self) -> int:
        """Devices."""
        return prod(self.shape)

    def devices(self) -> list:
        """The device numbers in row-major order of the coordinates."""
        return _numbers(self.first, [it for dim in self.dims for it in dim])

    def dim(self, name) -> int:
        """The number of a dimension given by number or name."""
        if self.names and name in self.names:
            return self.names.index(name)
        if type(name) is int and -len(self.shape) <= name < len(self.shape):
            return name % len(self.shape)
        return refuse(
            "the mesh has no such dimension", "bad-mesh", f"{name!r}", f"{self.names or self.shape}"
        )

    def label(self, dim) -> str:
        """The dimension's name, or its number."""
        return self.names[dim] if self.names else str(dim)

    def __repr__(self):
        return f"Mesh({'x'.join(map(str, self.shape))}{', ' + ', '.join(self.names) if self.names else ''})"


def _row_major(shape):
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))


def _flat(devices):
    listed = devices.tolist() if hasattr(devices, "tolist") else devices
    if not isinstance(listed, (list, tuple)):
        return [int(listed)]
    return [n for row in listed for n in _flat(row)]


def _numbers(first, iters):
    steps = [[x * s for x in range(n)] for n, s in iters]
    return [first + sum(at) for at in itertools.product(*steps)]


def _factor(shape, devices):
    """(first device, iters per dimension) of a row-major list of device numbers."""
    if len(devices) != prod(shape) or len(set(devices)) != len(devices):
        refuse(
            "a mesh names every one of its devices once", "bad-mesh", f"{devices}", f"{prod(shape)} numbers"
        )
    first, dims = devices[0], []
    for d, n in enumerate(shape):
        step = prod(shape[d + 1 :])
        dims.append(_digits([devices[x * step] - first for x in range(n)]))
    if _numbers(first, [it for dim in dims for it in dim]) != devices:
        refuse("the device numbers are no layout of the mesh", "not-a-layout", f"{devices} as {shape}",
               "numbers that are sums of digits times strides along each dimension")  # fmt: skip
    return first, tuple(dims)


def _digits(values):
    """Iters (extent, stride), outermost first, that count like `values` (from 0) if any do."""
    iters, block = [], 1
    while block < len(values):
        stride, n = values[block], 1
        while n * block < len(values) and values[n * block] == n * stride:
            n += 1
        while len(values) % (n * block):
            n -= 1
        if n == 1:  # no digit of this size: the caller's check fails
            n = len(values) // block
        iters.append((n, stride))
        block *= n
    return tuple(reversed(iters)) or ((1, 0),)


# ---- what one mesh dimension does (the words of DTensor) ----


@dataclass(frozen=True)
class Shard:
    """Tensor dimension `dim` is cut into equal consecutive blocks along the mesh dimension."""

    dim: int


@dataclass(frozen=True)
class StridedShard:
    """As Shard, inside each of `split_factor` blocks of what is left of the dimension: the sharding that comes
    out when a later mesh dimension cuts first (DTensor's _StridedShard)."""

    dim: int
    split_factor: int


@dataclass(frozen=True)
class Replicate:
    """Every device along the mesh dimension has a copy."""


@dataclass(frozen=True)
class Partial:
    """Every device along the mesh dimension has a summand; the value is their reduction by `op`."""

    op: str = "sum"


# ---- atoms: one digit of the device number and what it selects ----


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


# ---- placements ----


class Placement:
    """A tensor of `shape` on the devices of a mesh.

    layout: TileLayout on pid (devices) and m (element in the device's local tensor); pending: ((extent, stride, op),
    ...), replicas on pid that hold summands; atoms: the digits of the device number; first: the device with all
    digits 0; mesh: a Mesh for names, or None. Equal placements have equal `owners_key()`.
    """

    __slots__ = ("layout", "shape", "pending", "atoms", "first", "mesh")

    def __init__(self, layout, shape, pending=(), mesh=None):
        self.layout, self.shape = layout, tuple(int(n) for n in shape)
        self.pending, self.mesh = tuple((int(e), int(s), str(op)) for e, s, op in pending), mesh
        self.first, self.atoms = _read(layout, self.shape, self.pending)
        _check_reductions(self.pending)
        if len(set(self.devices())) != prod(a.extent for a in self.atoms):
            refuse("two digits of the device number meet on one device", "aliased-devices", str(layout),
                   "pid iters whose sums are all different")  # fmt: skip
        _check_memory(layout)

    @staticmethod
    def of(shape, atoms, first=0, mesh=None, local="compact") -> Placement:
        """From atoms. local: "compact", each device's part is row-major; or "global", it keeps the strides of the
        whole tensor, as in the paper's Figure 3."""
        shape = tuple(int(n) for n in shape)
        layout = _layout_of(shape, atoms, first, local)
        pending = [(a.extent, a.stride, a.role[1]) for a in atoms if a.role[0] == "pending" and a.extent > 1]
        return Placement(layout, shape, pending, mesh)

    @staticmethod
    def from_dtensor(shape, mesh, placements, local="compact") -> Placement:
        """From one of Shard, StridedShard, Replicate, Partial per mesh dimension, applied in order: each cuts what
        the earlier ones left (the meaning of torch.distributed.tensor). Refuses uneven shards."""
        if len(placements) != len(mesh.shape):
            refuse("there is one placement per mesh dimension", "rank-mismatch", f"{len(placements)} placements",
                   f"{len(mesh.shape)}")  # fmt: skip
        cutter, atoms = _Cutter(shape), []
        for iters, p in zip(mesh.dims, placements):
            if isinstance(p, (Shard, StridedShard)):
                atoms += cutter.cut(p.dim, iters, getattr(p, "split_factor", 1))
            else:
                role = ("pending", p.op) if isinstance(p, Partial) else ("copy",)
                atoms += [Atom(n, s, role) for n, s in iters]
        return Placement.of(shape, atoms, mesh.first, mesh, local)

    @staticmethod
    def from_assignment(shape, mesh, dims, pending=None, local="compact") -> Placement:
        """From the mesh dimensions (numbers or names) that cut each tensor dimension, outermost first, and
        {mesh dimension: reduction}; the other mesh dimensions hold copies."""
        cutter, atoms, used = _Cutter(shape), [], []
        pending = {mesh.dim(k): op for k, op in (pending or {}).items()}
        if len(dims) > len(shape):
            refuse("there are more specs than dimensions", "rank-mismatch", f"{len(dims)}", f"{len(shape)}")
        for d, names in enumerate(dims):
            for k in [mesh.dim(n) for n in names]:
                atoms += cutter.cut(d, mesh.dims[k])
                used.append(k)
        if len(set([*used, *pending])) != len(used) + len(pending):
            refuse(
                "a mesh dimension is used twice", "bad-mesh", f"{dims}", "each mesh dimension at most once"
            )
        for k, iters in enumerate(mesh.dims):
            if k not in used:
                role = ("pending", pending[k]) if k in pending else ("copy",)
                atoms += [Atom(n, s, role) for n, s in iters]
        return Placement.of(shape, atoms, mesh.first, mesh, local)

    @staticmethod
    def from_alpa(shape, mesh, spec, local="compact") -> Placement:
        """From Alpa's notation (paper, section 3.2): per tensor dimension R or S with mesh dimensions, `S0R`, `S01`."""
        parts = re.findall(r"R|S\d+", spec)
        if "".join(parts) != spec or len(parts) != len(shape):
            refuse("this is no sharding spec", "bad-notation", f"{spec!r} for {tuple(shape)}",
                   "R or S with mesh dimensions for each tensor dimension, as in S0R or S01R")  # fmt: skip
        dims = [[int(c) for c in part[1:]] for part in parts]
        return Placement.from_assignment(shape, mesh, dims, local=local)

    def to_dtensor(self, mesh=None) -> list:
        """The DTensor placements on `mesh` (default: the mesh it was made on). Refuses when there are none."""
        mesh = self._mesh(mesh)
        atoms = self._atoms_by_dim(mesh)
        left, out = _Cutter(self.shape), []
        for iters, mine in zip(mesh.dims, atoms):
            p = _word(mine, left)
            if isinstance(p, (Shard, StridedShard)):
                left.cut(p.dim, iters, getattr(p, "split_factor", 1))
            out.append(p)
        if Placement.from_dtensor(self.shape, mesh, out).owners_key() != self.owners_key():
            refuse("the placement has no DTensor form on this mesh", "no-dtensor-form", f"{self} on {mesh}",
                   "whole mesh dimensions that each cut one tensor dimension")  # fmt: skip
        return out

    def _mesh(self, mesh):
        mesh = mesh or self.mesh
        if mesh is None:
            refuse("the placement was not made on a mesh", "no-mesh", repr(self), "mesh=")
        if sorted(mesh.devices()) != sorted(self.devices()):
            refuse("the mesh has other devices", "different-devices", f"{mesh}", f"devices {self.devices()}")
        return mesh

    def _atoms_by_dim(self, mesh):
        """Per mesh dimension its atoms, outermost first."""
        iters = [[(n, s) for n, s in dim if n > 1] for dim in mesh.dims]
        strides = [s for dim in iters for _, s in dim] + [n * s for dim in iters for n, s in dim]
        atoms = refined(self.atoms, strides)
        out = [[a for a in atoms or () for n, s in dim if s <= a.stride < s * n] for dim in iters]
        if atoms is None or sum(len(mine) for mine in out) != len(atoms):
            refuse(
                "the placement is not made of this mesh's dimensions", "no-dtensor-form", f"{self}", f"{mesh}"
            )
        return [sorted(mine, key=lambda a: -a.stride) for mine in out]

    def devices(self) -> list:
        """The devices that hold any part, ascending."""
        return sorted(_numbers(self.first, [(a.extent, a.stride) for a in self.atoms]))

    @property
    def local_shape(self) -> tuple:
        """Shape of the part on each device."""
        cut = lambda d: prod(a.extent for a in self.atoms if a.role[:2] == ("shard", d))  # noqa: E731
        return tuple(n // cut(d) for d, n in enumerate(self.shape))

    def owners_key(self):
        """Equal for placements that put the same elements (and summands) on the same devices."""
        return self.shape, self.first, tuple(merged(self.atoms))

    def __eq__(self, other):
        if not isinstance(other, Placement):
            return NotImplemented
        same = self.owners_key() == other.owners_key()
        return same and bool(equivalent(self.layout, other.layout))

    def __hash__(self):
        return hash(self.owners_key())

    def __repr__(self):
        waiting = "".join(f", {op} pending over {e}:{s}@pid" for e, s, op in self.pending)
        return f"Placement({self.layout}{waiting})"


def _word(atoms, left):
    """The DTensor word for one mesh dimension whose digits are `atoms`; `left`: what earlier ones left."""
    kinds = {a.role[:2] for a in atoms}
    if not atoms or kinds == {("copy",)}:
        return Replicate()
    if len(kinds) != 1:
        refuse(
            "a mesh dimension does more than one thing",
            "no-dtensor-form",
            f"{atoms}",
            "one role per dimension",
        )
    (kind,) = kinds
    if kind[0] == "pending":
        return Partial(kind[1])
    above = left.outside(kind[1], atoms[0].role[2] * atoms[0].extent)
    return Shard(kind[1]) if above == 1 else StridedShard(kind[1], above)


class _Cutter:
    """The memory digits (weight, extent) that are left of each tensor dimension, outermost first."""

    def __init__(self, shape):
        self.shape = tuple(int(n) for n in shape)
        self.digits = [[(1, n)] for n in self.shape]

    def cut(self, dim, iters, split_factor=1) -> list:
        """Give the digits `iters` of the device number to `dim`, outermost first, after the outer `split_factor`
        positions; the shard atoms."""
        rank = len(self.shape)
        if not -rank <= dim < rank or split_factor < 1:
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


def _layout_of(shape, atoms, first, local):
    extents = [n // prod(a.extent for a in atoms if a.role[:2] == ("shard", d)) for d, n in enumerate(shape)]
    whole = {"compact": extents, "global": shape}[local]
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


def _read(layout, shape, pending):
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


def _check_reductions(pending):
    for _, _, op in pending:
        if op not in REDUCTIONS:
            refuse("there is no such reduction", "bad-reduction", f"{op!r}", ", ".join(REDUCTIONS))
    ops = {op for _, _, op in pending}
    if len(ops) > 1 and ops != {"sum", "avg"}:
        refuse("pending reductions of different kinds do not commute", "mixed-reductions", f"{sorted(ops)}",
               "one kind, or sum and avg")  # fmt: skip


def _check_memory(layout):
    """Two elements of one device are not in one place."""
    at = 1
    steps = [(abs(_number(it.stride)), _number(it.extent)) for it in layout.shard if it.axis == "m"]
    for stride, extent in sorted(s for s in steps if s[1] > 1):
        if stride < at:
            refuse("elements of one device may share a place in its memory", "aliased-memory", f"{layout}",
                   "memory strides that nest: each at least the span of the smaller ones")  # fmt: skip
        at += stride * (extent - 1)
