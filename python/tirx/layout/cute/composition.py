"""Composition A o B, exact or refused.

A is coalesced; its last mode is unbounded. One leaf n:r of B visits A at 0, r, 2r, ... The walk carries the step
through the modes of A, c being the step in the current mode of extent M:

* c >= M: the step must be whole modes, M | c; go on with c / M.
* c < M and n <= ceil(M / c): the leaf stays inside the mode and is n:(c * stride).
* c < M otherwise: it leaves the mode, exactly when c | M and (M / c) | n; emit (M / c):(c * stride) and go on
  with n / (M / c) steps of 1.

Several leaves add up in B, but A is not additive where a digit carries. Each emitted piece moves the digit of
its mode by at most c * (extent - 1); where these sum to less than M in every mode nothing carries and the
results of the leaves add up. This is proved for every size in time linear in the number of modes.

What the walk or the carry test cannot settle is settled by values, up to `budget` of them.
"""

from __future__ import annotations

from . import tuples
from .layout import (
    CuteLayout,
    as_layout,
    flat_from_values,
    make_layout,
    merged_open,
    need_nonnegative,
    nest,
    value_at,
)  # fmt: skip
from .tuples import check_tiler, refuse

BUDGET = 4096


def composition(a, b, *, opaque=False, budget=BUDGET, analyzer=None, guards=None):
    """R with R(x) = A(B(x)) for every x of B, in the nesting of B (a leaf of B may become several modes).

    `a` is a CuteLayout, a Swizzle or a ComposedLayout. `b` is a CuteLayout, an integer n (meaning n:1), or a
    tuple of these: then mode i of A is composed with b[i], a None or a missing entry leaving the mode as it is.

    Refuses (LayoutError) when no layout of B's nesting is this map, or when that is not decided within `budget`
    values; with `opaque=True` gives a ComposedLayout then. With symbolic extents or strides, conditions are proved
    with `analyzer`'s facts; those that stay open are refused, or appended to the list `guards`: where all
    of them hold the result is exact.
    """
    if isinstance(b, (tuple, list)):
        return _by_mode(a, b, opaque=opaque, budget=budget, analyzer=analyzer, guards=guards)
    if not isinstance(a, CuteLayout) or not (isinstance(b, CuteLayout) or tuples.is_scalar(b)):
        from .composed import compose_composed

        return compose_composed(a, b, opaque=opaque, budget=budget, analyzer=analyzer, guards=guards)
    b = as_layout(b)
    need_nonnegative(b, "the right side of a composition")
    if a.is_static() and b.is_static():
        return _static(a, b, opaque, budget)
    return _symbolic(a, b, analyzer, guards)


def _by_mode(a, tiler, **options):
    check_tiler(tiler, a)
    parts = [m if t is None else composition(m, t, **options) for m, t in zip(a.modes(), tiler)]
    parts += a.modes()[len(tiler) :]
    if all(isinstance(p, CuteLayout) for p in parts):
        return make_layout(*parts)
    from .composed import ByMode

    return ByMode(parts)


# --- constants ----------------------------------------------------------------------------------------------


def _static(a, b, opaque, budget):
    modes, leaves = merged_open(a.leaves()), b.leaves()
    parts, sure, stuck = _from_leaves(modes, leaves, budget)
    result, wrong = (None, None) if stuck else (nest(parts, b.shape), None)
    if result is not None and not sure:
        wrong = first_difference(modes, b, result) if b.size() <= budget else "undecided"
    if result is not None and wrong is None:
        return result
    if opaque:
        from .composed import ComposedLayout

        return ComposedLayout(a, 0, b)
    if stuck:
        _explain_leaf(a, b, budget, *stuck)
    _explain_carry(modes, a, b, budget, result, wrong)


def _from_leaves(modes, leaves, budget):
    """(pieces of every leaf, whether their sum is known to be A o B, None), or (None, False, the leaf that has no
    layout with its values, None past the budget)."""
    digits, sure, parts = [0] * len(modes), True, []
    for n, r in leaves:
        pieces = _walk(modes, n, r)
        if pieces is None:
            values = [value_at(modes, r * i) for i in range(n)] if n <= budget else None
            found = values and flat_from_values(values)
            if found is None:
                return None, False, (n, r, values)
            parts.append(found)
            sure = len(leaves) == 1
            continue
        for i, c, extent, _ in pieces:
            digits[i] += c * (extent - 1)
        parts.append([(extent, stride) for _, _, extent, stride in pieces])
    carries = any(total >= mode[0] for total, mode in zip(digits, modes[:-1]))
    return parts, sure and not carries, None


def _walk(modes, n, r):
    """[(mode of A, step in it, extent, stride)] of the leaf n:r; None where the walk cannot go on."""
    if n == 1 or r == 0:
        return [(len(modes) - 1, 0, n, 0)]
    pieces, c = [], r
    for i, (extent, stride) in enumerate(modes[:-1]):
        if c >= extent:
            if c % extent:
                return None
            c //= extent
        elif (n - 1) * c < extent:
            return [*pieces, (i, c, n, c * stride)]
        else:
            part = extent // c
            if extent % c or n % part:
                return None
            pieces.append((i, c, part, c * stride))
            n, c = n // part, 1
    return [*pieces, (len(modes) - 1, c, n, c * modes[-1][1])]


def first_difference(modes, b, result):
    """The first index where `result` is not A o B, or None."""
    for x, (at, value) in enumerate(zip(b.values(), result.values())):
        if value_at(modes, at) != value:
            return x
    return None


def _explain_leaf(a, b, budget, n, r, values):
    """Raises: the leaf n:r is no layout, or has too many values to tell."""
    if values is None:
        _undecided(a, b, f"the values of {n}:{r} are past the budget of {budget}")
    shown = ", ".join(map(str, values[:8])) + (", ..." if n > 8 else "")
    where = "" if b.shape == n else f" of {b}"
    refuse(f"no layout is {a} o {n}:{r}{where}", "not-composable", f"values {shown}",
           "a step that stays in a mode or leaves it on whole digits: c | M and (M/c) | n",
           "opaque=True gives the composed map")  # fmt: skip


def _explain_carry(modes, a, b, budget, result, wrong):
    """Raises: modes of B carry into each other at index `wrong`, or may do so."""
    if wrong == "undecided":
        _undecided(
            a,
            b,
            f"{b.size()} values, past the budget of {budget}, where modes of B may carry into each other",
        )
    refuse(f"modes of {b} carry into each other in {a}", "not-composable",
           f"index {wrong}: {value_at(modes, b.at(wrong))}, the modes alone give {result.at(wrong)}",
           "modes of B whose digits in A add up without carry", "opaque=True gives the composed map")  # fmt: skip


def _undecided(a, b, why):
    refuse(f"{a} o {b} is not shown to be a layout", "undecided", why, "a proof within the budget",
           "raise budget=, or opaque=True gives the composed map")  # fmt: skip


# --- symbols ------------------------------------------------------------------------------------------------


def _symbolic(a, b, analyzer, guards):
    from .symbolic import compose_leaves, settle

    shown = f"{a} o {b}"
    parts, open_conditions = compose_leaves(merged_open(a.leaves()), b.leaves(), analyzer, shown)
    settle(open_conditions, guards, shown)
    return nest(parts, b.shape)
