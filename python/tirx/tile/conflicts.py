"""Predicting the shared-memory bank conflicts of a partitioned call, for explain().

A prediction is a dict: operand, width (bytes per lane), accesses (warp-wide ones of the whole team, in one
execution of the call), wavefronts, ideal, conflicts, why. It is exact for calls whose elements all lie
inside their tensors when `why` is empty; otherwise `why` says what is unknown: with conflicts None nothing is predicted,
else the numbers are those of the worst start address. Counting is tirx.layout.banks' (the rules of the hardware).

Moving all lanes by whole words turns the banks and changes no count; in a swizzled tile the same holds for moves by
whole swizzle periods. Digits that move so are multiplied, not enumerated.
"""

from __future__ import annotations

from itertools import product
from math import gcd, prod

from ..layout.banks import WARP, wavefronts
from .builder import digit, swizzled
from .operand import stride_divisor

LIMIT = 2048  # warp-wide accesses that are looked at


class _Unknown(Exception):
    """Why nothing is predicted."""


def record_conflicts(work, ctx):
    """Register the prediction of every operand of `work` in shared memory, once per partition."""
    for k, v in enumerate(work.views):
        if v.space == "shared":
            ctx.predicts(lambda k=k: [predict(work, ctx, k)])


def predict(work, ctx, k):
    """The prediction for operand k of a partition."""
    view, width = work.views[k], work.part.lanes * work.views[k].bits // 8
    try:
        _check(work, ctx, k)
        patterns = _patterns(work.part, k, _Mover(view))
        return _counted(view, patterns, width)
    except _Unknown as e:
        return _unknown(view.name, width, str(e))


def predict_rows(view, k, place, lanes, steps, width):
    """The prediction for one warp's accesses of `width` bytes: lane l (of `lanes`) accesses memory coordinate
    `place(l)` of operand k, relative to the region, repeated under `steps` (constant strides)."""
    try:
        kept, times = _Mover(view).split([(s.extent, s.strides[k]) for s in steps])
        rows = [place(lane) for lane in range(lanes)]
        return _counted(view, [([m + d for m in rows], times) for d in _sums(kept)], width)
    except _Unknown as e:
        return _unknown(view.name, width, str(e))


def unpredicted(operands, why):
    """Predictions that say why there is none, for the operands in shared memory."""
    return [_unknown(op.name, op.facts.bits // 8, why) for op in operands if op.space == "shared"]


def _unknown(name, width, why):
    return {"operand": name, "width": width, "accesses": None, "wavefronts": None, "ideal": None,
            "conflicts": None, "why": why}  # fmt: skip


def _check(work, ctx, k):
    part = work.part
    if part.team == 1:
        raise _Unknown("one thread's call does not say what the other lanes access")
    if ctx.active != ctx.team_size:
        raise _Unknown("the team has inactive threads")
    chunks = part.chunks[1] if part.chunks else []
    steps = [*part.loops, *(s for s, _, _ in [*part.threads, *chunks])]
    if any(type(s.strides[k]) is not int for s in steps):
        raise _Unknown("a stride is symbolic")


class _Mover:
    """Which moves of all lanes leave the counts as they are: multiples of `period` elements."""

    def __init__(self, view):
        word = 32 // gcd(32, view.bits)
        if view.swizzle is None:
            self.period = word
        else:
            self.period = max(word, 1 << sum(view.swizzle))

    def split(self, moves):
        """(moves to enumerate, product of the extents of the others)"""
        kept = [(e, s) for e, s in moves if s % self.period]
        return kept, prod(e for e, s in moves if s % self.period == 0)


def _sums(moves):
    """Every sum of one multiple of each (extent, stride)."""
    if prod(e for e, _ in moves) > LIMIT:
        raise _Unknown(f"more than {LIMIT} different accesses")
    return [sum(at) for at in product(*[[x * s for x in range(e)] for e, s in moves])]


def _patterns(part, k, mover):
    """[(memory coordinate per lane or None, how often)] over warps, turns and loops."""
    kept, times = mover.split([(s.extent, s.strides[k]) for s in part.loops])
    moves, out = _sums(kept), []
    turns = -(-part.chunks[0] // part.team) if part.chunks else 1
    if turns * -(-part.team // WARP) * len(moves) > LIMIT:
        raise _Unknown(f"more than {LIMIT} different accesses")
    for turn, first in product(range(turns), range(0, part.team, WARP)):
        lanes = [_coordinate(part, k, turn, t) for t in range(first, min(first + WARP, part.team))]
        if any(m is not None for m in lanes):
            out += [([None if m is None else m + d for m in lanes], times) for d in moves]
    return out


def _coordinate(part, k, turn, t):
    """Memory coordinate of thread t's access relative to the loops, or None when it takes no part."""
    if any(digit(t, d, e) != v for d, e, v in part.owners) or (part.first is not None and t >= part.first):
        return None
    m = sum(s.strides[k] * digit(t, d, e) for s, d, e in part.threads)
    if part.chunks is None:
        return m
    count, digits = part.chunks
    chunk = turn * part.team + t
    return m + sum(s.strides[k] * digit(chunk, d, e) for s, d, e in digits) if chunk < count else None


def _counted(view, patterns, width):
    if width not in (1, 2, 4, 8, 16):
        raise _Unknown(f"{width} bytes per lane are more than one access")
    found = [_total(view, patterns, base, width) for base in _starts(view)]
    taken, ideal = max(found)
    why = "" if len(set(found)) == 1 else f"{len(found)} possible starts differ"
    return {"operand": view.name, "width": width, "accesses": sum(n for _, n in patterns), "wavefronts": taken,
            "ideal": ideal, "conflicts": taken - ideal, "why": why}  # fmt: skip


def _starts(view):
    """The starts of the region that may count differently."""
    period = _Mover(view).period
    if type(view.base) is int:
        starts = [view.base]
    else:
        starts = range(0, period, min(period, gcd(period, stride_divisor(view.divisor)) or period))
    if view.align % 4 or len(starts) > 64:
        raise _Unknown("the start of the tile is not known well enough")
    return starts


def _total(view, patterns, base, width):
    taken = ideal = 0
    for lanes, times in patterns:
        at = [None if m is None else _byte(view, base + m) for m in lanes]
        w, i = wavefronts(at, width)
        taken, ideal = taken + w * times, ideal + i * times
    return taken, ideal


def _byte(view, m):
    return (swizzled(m, view.swizzle) if view.swizzle else m) * view.bits // 8
