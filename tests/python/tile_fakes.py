"""Stand-ins for the dispatch context, so that rules can be tested one call at a time."""

from types import SimpleNamespace

from tirx import ir
from tirx.tile import TileCall, TileContext

SPAN = ir.Span("kernel.py", 7, 4, 7, 20)


def region(buffer, *dims):
    """buffer[...]: each dim an int (squeezed), or (start, extent)."""
    ranges, squeezed = [], []
    for i, d in enumerate(dims):
        if isinstance(d, tuple):
            ranges.append(ir.Range(d[0], d[1]))
        else:
            ranges.append(ir.Range(d, 1))
            squeezed.append(i)
    return ir.BufferRegion(buffer, ranges, squeezed)


def whole(buffer):
    """buffer[:, ...]"""
    return ir.BufferRegion(buffer, [ir.Range(0, n) for n in buffer.shape])


def tile_call(op, *args, scope="", dispatch="", config=None):
    """A TileCall at kernel.py:7."""
    return TileCall(ir.TilePrimitiveCall(op, list(args), scope, dispatch, {}, config or {}, span=SPAN))


def plain_context(kind="fake", arch="x1", scope="cta", features=(), **fields):
    """A context of a target without hardware."""
    target = SimpleNamespace(kind=kind, arch=arch, features=list(features))
    return TileContext(SimpleNamespace(target=target, scope=scope, **fields))
