"""Partition specs and GSPMD texts against JAX and XLA: the same text, the same elements on every device."""

import itertools
import os

import numpy as np
import pytest
from mesh_model import held

from tirx.layout import Mesh, from_gspmd, from_partition_spec, to_gspmd, to_partition_spec

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
jax = pytest.importorskip("jax", reason="jax is not installed")
if len(jax.devices()) < 8:
    pytest.skip("jax was started with fewer than 8 devices", allow_module_level=True)

SHAPE = (16, 8)
MESHES = [((8,), "x"), ((2, 4), "xy"), ((4, 2), "xy"), ((2, 2, 2), "xyz")]


def specs(names):
    """Every way to cut two dimensions by different axes, in every order."""
    for k in range(len(names) + 1):
        for used in itertools.permutations(names, k):
            for cut in range(k + 1):
                yield used[:cut], used[cut:]


def xla_held(sharding):
    table = np.arange(np.prod(SHAPE)).reshape(SHAPE)
    places = sharding.devices_indices_map(SHAPE)
    return {d.id: frozenset(table[box].ravel().tolist()) for d, box in places.items()}


@pytest.mark.parametrize("mesh_shape, names", MESHES)
def test_specs_and_texts(mesh_shape, names):
    from jax.sharding import NamedSharding, PartitionSpec

    devices = np.array(jax.devices()[:8]).reshape(mesh_shape)
    mesh, theirs = Mesh(mesh_shape, list(names)), jax.sharding.Mesh(devices, tuple(names))
    for spec in specs(names):
        sharding = NamedSharding(theirs, PartitionSpec(*[s or None for s in spec]))
        p = from_partition_spec(spec, SHAPE, mesh)
        assert held(p) == xla_held(sharding), spec
        text = str(sharding._to_xla_hlo_sharding(len(SHAPE)))
        assert to_gspmd(p) == text
        assert held(from_gspmd(text, SHAPE, 8)) == held(p)
        again = from_partition_spec(to_partition_spec(p), SHAPE, mesh)
        assert again.owners_key() == p.owners_key()


def test_summands():
    """Unreduced axes exist for explicit meshes; XLA writes them as a subgroup."""
    sharding = jax.sharding
    devices = np.array(jax.devices()[:8]).reshape(2, 4)
    explicit = sharding.Mesh(devices, ("x", "y"), axis_types=(sharding.AxisType.Explicit,) * 2)
    made = sharding.NamedSharding(explicit, sharding.PartitionSpec("x", unreduced={"y"}))
    text = str(made._to_xla_hlo_sharding(2))
    p = from_partition_spec("P('x', unreduced={'y'})", SHAPE, Mesh((2, 4), ["x", "y"]))
    assert to_gspmd(p) == text and from_gspmd(text, SHAPE).pending == p.pending
