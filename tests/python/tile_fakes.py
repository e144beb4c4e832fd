"""Stand-ins for the dispatch context, so that rules can be tested one call at a time."""

from types import SimpleNamespace

from tirx import ir
from tirx.arith import Analyzer
from tirx.tile import TileCall, TileContext
from tirx.tile.operand import facts_of

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


def facts(bounds=None, divisors=None):
    """An analyzer that knows ranges {variable: (min, extent)} and divisors {variable: factor}."""
    analyzer = Analyzer()
    for var, (low, extent) in (bounds or {}).items():
        analyzer.bind(var, low, extent)
    for var, factor in (divisors or {}).items():
        analyzer.bind_modular(var, factor)
    return analyzer


T = ir.Var("t")
TEAMS = {"thread": 1, "warp": 32, "warpgroup": 128, "cta": 256}


def cuda_context(scope="cta", threads=None, features=("cp.async", "ldmatrix", "stmatrix"), analyzer=None):
    """A full team of `threads` (default: 1, 32, 128, 256 by scope) on a CUDA target; thread number T."""
    n = threads or TEAMS[scope]

    def local_view(buffer):
        facts = facts_of(buffer)
        return ir.Buffer(str(buffer.name), buffer.data, [facts.owned()], buffer.dtype, None, "local")

    return plain_context(
        "cuda", "sm_90a", scope, features, analyzer=analyzer or facts({T: (0, n)}), team_size=n, active=n,
        full=True, thread_in_team=T, thread_index=T, lane=T % 32, warp=T // 32, num_threads=n,
        local_view=local_view,
    )  # fmt: skip
