"""torch.distributed.tensor placements, to and from tirx.layout placements. torch is imported when first used.

A DTensor's meaning is its `placements` on its `device_mesh` (left to right, each cutting what the earlier ones left);
tirx.layout.mesh has the mathematics. Uneven shards are refused.
"""

from __future__ import annotations

from ..errors import LayoutError, absent
from ..layout.mesh import Mesh, Partial, Placement, Replicate, Shard, StridedShard


def mesh_of(device_mesh) -> Mesh:
    """The Mesh of a torch DeviceMesh: its ranks (`mesh`) and `mesh_dim_names`."""
    ranks = device_mesh.mesh
    return Mesh(tuple(ranks.shape), device_mesh.mesh_dim_names, devices=ranks)


def from_placements(shape, device_mesh, placements, local="compact") -> Placement:
    """The placement of a tensor of global `shape` under torch `placements` on a DeviceMesh or a Mesh."""
    mesh = device_mesh if isinstance(device_mesh, Mesh) else mesh_of(device_mesh)
    return Placement.from_dtensor(tuple(shape), mesh, [_word(p) for p in placements], local)


def from_dtensor(tensor) -> Placement:
    """The placement of a DTensor."""
    return from_placements(tensor.shape, tensor.device_mesh, tensor.placements)


def _word(p):
    if hasattr(p, "split_factor"):
        return StridedShard(p.dim, p.split_factor)
    if p.is_shard():
        return Shard(p.dim)
    if p.is_replicate():
        return Replicate()
    op = getattr(p, "reduce_op", None)
    if type(p).__name__ != "Partial" or not isinstance(op, str):  # masked and user-made kinds
        raise LayoutError("this placement has no meaning as a layout", code="bad-placement", found=repr(p),
                          required="Shard, _StridedShard, Replicate or Partial of a named reduction")  # fmt: skip
    return Partial(op)


def to_placements(placement, device_mesh=None) -> list:
    """torch placements of a Placement on a DeviceMesh, a Mesh, or the mesh that it was made on."""
    known = device_mesh is None or isinstance(device_mesh, Mesh)
    return [_torch_word(w) for w in placement.to_dtensor(device_mesh if known else mesh_of(device_mesh))]


def _kinds():
    try:
        from torch.distributed.tensor import placement_types
    except ImportError:
        raise absent("torch", "torch.distributed.tensor", "pip install tirx[torch]") from None
    return placement_types


def _torch_word(word):
    kinds = _kinds()
    if isinstance(word, Shard):
        return kinds.Shard(word.dim)
    if isinstance(word, Replicate):
        return kinds.Replicate()
    if isinstance(word, Partial):
        return kinds.Partial(word.op)
    return kinds._StridedShard(word.dim, split_factor=word.split_factor)
