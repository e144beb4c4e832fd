"""Proofs that an iteration visits every element exactly once.

An iteration is a set of independent digits, each with an extent and the weight by which it moves the
row-major element number. The digits visit 0 .. total-1 exactly once if, sorted by weight, every weight is
the product of the extents before it (a mixed radix). Other maps can be checked by enumeration.
"""

from __future__ import annotations

from .registry import fail

BUDGET = 1 << 20  # points that the exhaustive check may visit


def prove_digits(digits, total: int) -> None:
    """Decline unless the digits [(extent, weight), ...] enumerate 0 .. total - 1 exactly once."""
    size = 1
    ordered = sorted(((e, w) for e, w in digits if e != 1), key=lambda d: d[1])
    for extent, weight in ordered:
        if weight != size:
            fail(f"cannot prove that each element is written once: (extent, weight) digits {ordered}")
        size *= extent
    if size != total:
        fail(f"the iteration covers {size} of {total} elements")


def prove_threads(digits, threads: int) -> None:
    """Decline unless the digits [(divisor, extent), ...] of the thread number are independent and exist."""
    position = 1
    for divisor, extent in sorted(digits):
        if divisor % position:
            fail(f"thread digits overlap at thread {divisor}")
        position = divisor * extent
    if position > threads:
        fail(f"the operand is owned by {position} threads and the team has {threads}")


def prove_by_enumeration(points, total: int, budget: int = BUDGET) -> None:
    """Decline unless the element numbers in `points` are 0 .. total - 1, each exactly once."""
    if total > budget:
        fail(f"{total} elements exceed the budget of {budget} for the exhaustive coverage check")
    seen = bytearray(total)
    for p in points:
        if not 0 <= p < total:
            fail(f"the iteration writes element {p}, outside 0..{total - 1}")
        if seen[p]:
            fail(f"the iteration writes element {p} twice")
        seen[p] = 1
    missing = seen.find(0)
    if missing >= 0:
        fail(f"the iteration never writes element {missing}")


def proof_text(total, threads, steps, lanes, guard="") -> str:
    """`1024 elements once: 32 threads x 4 steps x 8 lanes`"""
    parts = [f"{threads} thread{'s' * (threads != 1)}", f"{steps} step{'s' * (steps != 1)}"]
    if lanes != 1:
        parts.append(f"{lanes} lanes")
    return f"{total} elements once: {' x '.join(parts)}{guard}"
