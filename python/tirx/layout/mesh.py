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
from dataclasses import dataclass
from math import prod

from .definition import equivalent
from .given import instance, integer, integers, refuse, sequence
from .sharding import Atom, Cutter, check_memory, check_reductions, layout_of, merged, read, refined

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
        self.shape = integers(shape, "the shape of a mesh")
        if min(self.shape, default=1) < 1:
            refuse("a mesh has devices in every dimension", "bad-shape", f"{self.shape}", "positive extents")
        self.names = None if names is None else tuple(map(str, sequence(names, "the names of a mesh")))
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
        strides = _row_major(self.shape) if strides is None else integers(strides, "the strides of a mesh")
        if len(strides) != len(self.shape):
            refuse(
                "a mesh has a stride per dimension", "bad-mesh", f"{strides}", f"{len(self.shape)} strides"
            )
        self.first, self.dims = (
            integer(first, "a device"),
            tuple(((n, s),) for n, s in zip(self.shape, strides)),
        )

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
        return [integer(listed, "a device")]
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


# ---- placements ----


class Placement:
    """A tensor of `shape` on the devices of a mesh.

    layout: TileLayout on pid (devices) and m (element in the device's local tensor); pending: ((extent, stride, op),
    ...), replicas on pid that hold summands; atoms: the digits of the device number; first: the device with all
    digits 0; mesh: a Mesh for names, or None. Equal placements have equal `owners_key()`.
    """

    __slots__ = ("layout", "shape", "pending", "atoms", "first", "mesh")

    def __init__(self, layout, shape, pending=(), mesh=None):
        self.layout, self.shape = layout, integers(shape, "the shape of a tensor")
        self.pending, self.mesh = tuple(map(_pending, sequence(pending, "the pending reductions"))), mesh
        self.first, self.atoms = read(layout, self.shape, self.pending)
        check_reductions(self.pending)
        if len(set(self.devices())) != prod(a.extent for a in self.atoms):
            refuse("two digits of the device number meet on one device", "aliased-devices", str(layout),
                   "pid iters whose sums are all different")  # fmt: skip
        check_memory(layout)

    @staticmethod
    def of(shape, atoms, first=0, mesh=None, local="compact") -> Placement:
        """From atoms. local: "compact", each device's part is row-major; or "global", it keeps the strides of the
        whole tensor, as in the paper's Figure 3."""
        shape = integers(shape, "the shape of a tensor")
        layout = layout_of(shape, atoms, first, local)
        pending = [(a.extent, a.stride, a.role[1]) for a in atoms if a.role[0] == "pending" and a.extent > 1]
        return Placement(layout, shape, pending, mesh)

    @staticmethod
    def from_dtensor(shape, mesh, placements, local="compact") -> Placement:
        """From one of Shard, StridedShard, Replicate, Partial per mesh dimension, applied in order: each cuts what
        the earlier ones left (the meaning of torch.distributed.tensor). Refuses uneven shards."""
        placements = sequence(placements, "the list of placements")
        if len(placements) != len(instance(mesh, Mesh, "the mesh").shape):
            refuse("there is one placement per mesh dimension", "rank-mismatch", f"{len(placements)} placements",
                   f"{len(mesh.shape)}")  # fmt: skip
        cutter, atoms = Cutter(shape), []
        for iters, p in zip(mesh.dims, placements):
            if isinstance(p, (Shard, StridedShard)):
                atoms += cutter.cut(p.dim, iters, getattr(p, "split_factor", 1))
            else:
                role = ("pending", p.op) if isinstance(p, Partial) else ("copy",)
                instance(p, (Partial, Replicate), "a placement on a mesh dimension")
                atoms += [Atom(n, s, role) for n, s in iters]
        return Placement.of(shape, atoms, mesh.first, mesh, local)

    @staticmethod
    def from_assignment(shape, mesh, dims, pending=None, local="compact") -> Placement:
        """From the mesh dimensions (numbers or names) that cut each tensor dimension, outermost first, and
        {mesh dimension: reduction}; the other mesh dimensions hold copies."""
        instance(mesh, Mesh, "the mesh")
        cutter, atoms, used = Cutter(shape), [], []
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
        parts = re.findall(r"R|S\d+", instance(spec, str, "Alpa's spec"))
        if "".join(parts) != spec or len(parts) != len(shape):
            refuse("this is no sharding spec", "bad-notation", f"{spec!r} for {tuple(shape)}",
                   "R or S with mesh dimensions for each tensor dimension, as in S0R or S01R")  # fmt: skip
        dims = [[int(c) for c in part[1:]] for part in parts]
        return Placement.from_assignment(shape, mesh, dims, local=local)

    def to_dtensor(self, mesh=None) -> list:
        """The DTensor placements on `mesh` (default: the mesh it was made on). Refuses when there are none."""
        mesh = self._mesh(mesh)
        atoms = self._atoms_by_dim(mesh)
        left, out = Cutter(self.shape), []
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


def _pending(entry):
    parts = sequence(entry, "a pending reduction")
    if len(parts) != 3:
        refuse("a pending reduction is a replica and an operation", "bad-reduction", f"{entry!r}",
               "(extent, stride, op)")  # fmt: skip
    return integer(parts[0], "an extent"), integer(parts[1], "a stride"), str(parts[2])


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
