"""torch.distributed.tensor placements against torch itself: its own chunks, on every rank of small meshes."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from mesh_model import held

from tirx.errors import LayoutError
from tirx.interop import torch as interop
from tirx.layout import Mesh, Placement, Replicate, Shard, StridedShard


class _Fake:
    """The methods of torch's placements that the import reads."""

    def __init__(self, kind, **fields):
        self.kind = kind
        self.__dict__.update(fields)

    def is_shard(self):
        return self.kind == "shard"

    def is_replicate(self):
        return self.kind == "replicate"


class Partial(_Fake):
    """Torch's class of this name."""


def test_words_are_read_without_torch():
    ranks = np.array([[0, 2], [1, 3]])
    mesh = SimpleNamespace(mesh=ranks, mesh_dim_names=("dp", "tp"))
    p = interop.from_placements((8, 8), mesh, [_Fake("shard", dim=0, split_factor=2), _Fake("shard", dim=0)])
    assert p.to_dtensor() == [StridedShard(0, 2), Shard(0)] and p.mesh.names == ("dp", "tp")
    assert {d: min(x) // 8 for d, x in held(p).items()} == {0: 0, 2: 4, 1: 2, 3: 6}
    waiting = interop.from_placements((8,), mesh, [Partial("partial", reduce_op="max"), _Fake("replicate")])
    assert waiting.pending == ((2, 1, "max"),)
    with pytest.raises(LayoutError) as e:
        interop.from_placements((8,), mesh, [_Fake("masked", reduce_op="sum"), _Fake("replicate")])
    assert e.value.code == "bad-placement"


try:
    import torch
    from torch.distributed.tensor import placement_types as kinds
except ImportError:
    torch = None
needs_torch = pytest.mark.skipif(torch is None, reason="no torch with torch.distributed.tensor is installed")


def torch_held(shape, mesh_shape, placements):
    """Each rank's elements, by torch's own splitting; None where shards are uneven."""
    out = {}
    for rank, at in enumerate(itertools.product(*[range(n) for n in mesh_shape])):
        part = torch.arange(int(np.prod(shape))).reshape(shape)
        for k, p in enumerate(placements):
            if p.is_shard():
                if part.shape[p.dim] % (getattr(p, "split_factor", 1) * mesh_shape[k]):
                    return None
                part = p._split_tensor(part, mesh_shape[k], with_padding=False)[0][at[k]]
        out[rank] = frozenset(part.flatten().tolist())
    return out


WORDS = [lambda: kinds.Shard(0), lambda: kinds.Shard(1), lambda: kinds._StridedShard(0, split_factor=2),
         lambda: kinds._StridedShard(1, split_factor=3), lambda: kinds.Replicate(), lambda: kinds.Partial()]  # fmt: skip


@needs_torch
@pytest.mark.parametrize("shape", [(8, 12), (12, 6), (4, 4)])
@pytest.mark.parametrize("mesh_shape", [(2,), (4,), (2, 2), (2, 3), (2, 2, 2)])
def test_placements_hold_what_torch_splits(mesh_shape, shape):
    tried = 0
    for chosen in itertools.product(WORDS, repeat=len(mesh_shape)):
        words = [make() for make in chosen]
        want = torch_held(shape, mesh_shape, words)
        try:
            p = interop.from_placements(shape, Mesh(mesh_shape), words)
        except LayoutError as e:
            assert e.code == "uneven-shard" and want is None or e.code == "not-a-layout"
            continue
        assert want is not None and held(p) == want, words
        assert torch_held(shape, mesh_shape, interop.to_placements(p)) == want
        tried += 1
    assert tried


@pytest.fixture(scope="module")
def eight_ranks():
    from torch.testing._internal.distributed.fake_pg import FakeStore

    torch.distributed.init_process_group("fake", rank=5, world_size=8, store=FakeStore())
    yield
    torch.distributed.destroy_process_group()


@needs_torch
def test_a_real_dtensor(eight_ranks):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor

    mesh = init_device_mesh("cpu", (2, 4), mesh_dim_names=("x", "y"))
    words = [kinds.Shard(1), kinds.Replicate()]
    tensor = DTensor.from_local(torch.zeros(4, 8), mesh, words, run_check=False)
    p = interop.from_dtensor(tensor)
    assert p == Placement.from_dtensor((4, 16), Mesh((2, 4)), [Shard(1), Replicate()])
    assert interop.to_placements(p, mesh) == words and p.local_shape == tuple(tensor.to_local().shape)
