"""Layout operations: cases tried exhaustively, wrong answers by the definition, refusals, mean CPU time of a call.

The cases and the definitions are in layout_meaning (TileLayout), cute_meaning and map_operations (linear layouts, maps).
The same cases go to pycute (interpreter in TIRX_INTEROP_PYTHON) and apache-tvm (TIRX_PEER_PYTHON) in the same run,
for the operations that they have; what they raise counts as a refusal.
"""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import cute_meaning  # noqa: E402
import layout_meaning as meaning  # noqa: E402
import map_operations as maps  # noqa: E402

# --- TileLayout ---------------------------------------------------------------------------------------------


@functools.cache
def make(t):
    """The layout of a plain Tile."""
    from tirx.layout import ComposeLayout, Iter, TileLayout

    iters = [[Iter(e, s, a) for e, s, a in group] for group in (t.shard, t.replica)]
    tile = TileLayout.from_iters(*iters, dict(t.offset))
    return ComposeLayout(*t.swizzle, tile) if t.swizzle else tile


def read(layout):
    """The plain Tile of a layout."""
    if hasattr(layout, "tile_layout"):
        tile = read(layout.tile_layout)
        return tile._replace(swizzle=(layout.per_element, layout.swizzle_len, layout.atom_len))
    shard, replica = (tuple((int(i.extent), int(i.stride), str(i.axis)) for i in group)
                      for group in (layout.shard, layout.replica))  # fmt: skip
    return meaning.Tile(shard, replica, tuple((str(a), int(v)) for a, v in layout.offset.items()))


def method(name):
    """A method of the first layout; layouts among the arguments are built first."""

    def prepare(tile, *args):
        bound = getattr(make(tile), name)
        built = [make(a) if isinstance(a, meaning.Tile) else a for a in args]
        return (lambda: bound(*built)), read

    return prepare


def _apply(tile, x):
    layout = make(tile)
    return (lambda: layout.apply(x)), dict


def _group(tile, shape):
    layout = make(tile)
    return (lambda: layout.group(list(shape))), lambda out: (read(out[0]), list(out[1]))


def _equivalent(a, b):
    from tirx.layout import equivalent

    a, b = make(a), make(b)
    return (lambda: equivalent(a, b)), bool


TILE = {name: method(name) for name in (
    "canonicalize", "slice", "tile", "tile_to", "direct_sum", "is_tile_inner", "is_tile_outer", "is_direct_sum_right",
    "is_direct_sum_left", "unpack", "pack", "recast", "broadcast", "storage")}  # fmt: skip
TILE |= {"apply": _apply, "group": _group, "permute": method("permute_dims"), "slice, swizzled": method("slice"),
         "canonicalize, one form": method("canonicalize"),
         "equivalent": _equivalent}  # fmt: skip


# --- CuTe ---------------------------------------------------------------------------------------------------


@functools.cache
def cute(pair):
    """The CuteLayout of a plain pair."""
    from tirx.layout.cute import CuteLayout

    return CuteLayout(*pair)


def cute_operation(name):
    """An operation of tirx.layout.cute; pairs among the arguments are built first."""

    def prepare(a, *rest):
        from tirx.layout import cute as algebra

        fn, layout = getattr(algebra, name), cute(a)
        args = [cute(b) if isinstance(b, tuple) else b for b in rest]
        return (lambda: fn(layout, *args)), lambda out: out.values()

    return prepare


def _call(a):
    layout = cute(a)
    return (lambda: [layout(x) for x in range(layout.size())]), list


def _zipped(a, tiler):
    from tirx.layout.cute import zipped_divide

    layout = cute(a)
    return (lambda: zipped_divide(layout, tiler)), lambda out: out.values()


def _swizzled_slice(a, swizzle, j):
    from tirx.layout.cute import ComposedLayout, Swizzle

    both = ComposedLayout(Swizzle(*swizzle), 0, cute(a))
    return (lambda: both.slice(None, j)), lambda out: [out[1] + v for v in out[0].values()]


CUTE = {f"cute {name}": cute_operation(name) for name in (
    "coalesce", "composition", "complement", "logical_divide", "logical_product", "right_inverse", "left_inverse",
    "nullspace", "recast")}  # fmt: skip
CUTE |= {"cute call": _call, "cute composition, n:r": cute_operation("composition"), "cute zipped_divide": _zipped,
         "cute swizzled slice": _swizzled_slice}  # fmt: skip


# --- the table ----------------------------------------------------------------------------------------------


def _peer(variable, script):
    """What another interpreter measured, or nothing."""
    python = os.environ.get(variable)
    if not python:
        return {}
    out = subprocess.run([python, str(HERE / script)], capture_output=True, text=True, check=True)
    return json.loads(out.stdout)


def operations():
    """Rows: op, cases, wrong, refused ("there is none" counts here), CPU us; with the columns of each named peer."""
    from tirx.errors import LayoutError

    ours = meaning.run(meaning.TILE_OPS, TILE, LayoutError)
    ours |= meaning.run(cute_meaning.CUTE_OPS, CUTE, LayoutError)
    ours |= meaning.run(maps.LINEAR_OPS, maps.LINEAR, LayoutError) | meaning.run(
        maps.MAP_OPS, maps.MAP, LayoutError
    )
    peers = {
        "pycute": _peer("TIRX_INTEROP_PYTHON", "layout_pycute.py"),
        "tvm": _peer("TIRX_PEER_PYTHON", "layout_tvm.py"),
    }
    return [_row(name, result, peers) for name, result in ours.items()]


def _row(name, result, peers):
    row = {"op": name, **result}
    for peer, results in peers.items():
        if not results:
            continue
        got = results.get(name)
        assert got is None or got["cases"] == result["cases"], f"{peer} was given other cases of {name}"
        row |= {f"{peer} {k}": got[k] if got else "" for k in ("wrong", "refused", "us")}
    return row
