"""The TileLayout operations of apache-tvm on the cases of layout_meaning, as JSON. Runs under an interpreter that has
apache-tvm 0.27 (TIRX_PEER_PYTHON); this package is not imported."""

import functools
import json
import sys
from pathlib import Path

from tvm.tirx.layout import Axis, ComposeLayout, Iter, TileLayout

sys.path.insert(0, str(Path(__file__).parent))
import layout_meaning as meaning  # noqa: E402


@functools.cache
def make(t):
    iters = [[Iter(e, s, a) for e, s, a in group] for group in (t.shard, t.replica)]
    tile = TileLayout.from_iters(*iters, {Axis.get(a): v for a, v in t.offset})
    return ComposeLayout(*t.swizzle, tile) if t.swizzle else tile


def read(layout):
    if isinstance(layout, ComposeLayout):
        tile = read(layout.tile_layout)
        return tile._replace(swizzle=(layout.per_element, layout.swizzle_len, layout.atom_len))
    shard, replica = (tuple((int(i.extent), int(i.stride), i.axis.name) for i in group)
                      for group in (layout.shard, layout.replica))  # fmt: skip
    return meaning.Tile(shard, replica, tuple((a.name, int(v)) for a, v in layout.offset.items()))


def method(name):
    """A method of the first layout; layouts among the arguments are built first."""

    def prepare(tile, *args):
        bound = getattr(make(tile), name)
        built = [make(a) if isinstance(a, meaning.Tile) else a for a in args]
        return (lambda: bound(*built)), read

    return prepare


def apply(tile, x):
    layout = make(tile)
    return (lambda: layout.apply(x)), lambda out: {str(a): int(v) for a, v in out.items()}


def group(tile, shape):
    layout = make(tile)
    return (lambda: layout.group(list(shape))), lambda out: (read(out[0]), [int(s) for s in out[1]])


ADAPTER = {name: method(name) for name in (
    "canonicalize", "slice", "tile", "tile_to", "direct_sum", "is_tile_inner", "is_tile_outer",
    "is_direct_sum_right", "is_direct_sum_left", "unpack", "pack", "broadcast", "storage")}  # fmt: skip
ADAPTER |= {
    "apply": apply,
    "group": group,
    "permute": method("permute_dims"),
    "slice, swizzled": method("slice"),
    "canonicalize, one form": method("canonicalize"),
}


if __name__ == "__main__":
    print(json.dumps(meaning.run(meaning.TILE_OPS, ADAPTER, Exception)))
