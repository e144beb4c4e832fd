"""The tables of one layout and of the choices around it, as JSON: all that a page knows.

A page draws these tables and computes nothing: what a choice of dtype, swizzle, shape or access changes is
in here, for as many choices as fit `budget`; the rest are listed as left out.
"""

from __future__ import annotations

import math

from ...errors import LayoutError
from . import accesses as acc
from .swizzles import GIVEN, HARDWARE, swizzled
from .tables import COLOURS, Tables, dtype_bits, listed, shard_extents, splits
from .text import grid_of

BUDGET = 100_000  # places of elements in all variants together: some three megabytes
DTYPES = ("int8", "float16", "float32")
SWIZZLES = (GIVEN, "none", *HARDWARE)


def document(view, budget=BUDGET, dtypes=DTYPES) -> dict:
    """Everything about a View: its notation, the shapes, dtypes, swizzles and accesses offered, one table per
    distinct layout and line width, and the bank counts of every combination."""
    shapes = _shapes(view)
    out = {
        "name": view.name, "about": view.about, "notation": str(view.given), "dtype": view.dtype,
        "swizzle": view.swizzle, "access": view.access or "", "size": view.tables.size,
        "shapes": [_shape(s) for s in shapes], "accesses": _access_names(view),
        "tables": [], "variants": {}, "left_out": [],
    }  # fmt: skip
    kept: dict = {}
    cost = view.tables.size * view.tables.per_element
    for dtype, swizzle in _choices(view, dtypes):
        layout = _layout(view, dtype, swizzle)
        key = (str(layout), dtype_bits(dtype) if view.tables.has_addresses else 0)
        if layout is None or (key not in kept and (len(kept) + 1) * cost > budget and kept):
            out["left_out"] += [[dtype, swizzle]] if layout is not None else []
            continue
        if key not in kept:
            kept[key] = len(kept), Tables(layout, view.tables.shape, dtype)
            out["tables"].append(table(kept[key][1]))
        number, tables = kept[key]
        banks = [_banks(view, tables, s) for s in shapes] if tables.is_memory else []
        out["variants"][f"{dtype}|{swizzle}"] = {"table": number, "banks": banks}
    return out


def _choices(view, dtypes):
    """(dtype, swizzle) pairs, the view's own first, then its dtype's, then the others."""
    dtypes = list(dict.fromkeys([view.dtype, *dtypes]))
    swizzles = list(dict.fromkeys([view.swizzle, *(SWIZZLES if view.tables.is_memory else ())]))
    return [(d, s) for d in dtypes for s in swizzles]


def _layout(view, dtype, swizzle):
    """The layout of a choice, or None where it does not exist (no 16-byte chunk of whole elements)."""
    try:
        return swizzled(view.given, swizzle, dtype_bits(dtype))
    except LayoutError:
        return None


def _shapes(view):
    """Admitted shapes of the menu: the view's, the splits between iters, the iters, the line."""
    extents = [e for e in shard_extents(view.given) if e != 1]
    other = [*splits(view.given), tuple(extents), (math.prod(extents),)]
    return [s for s in dict.fromkeys([view.tables.shape, *other]) if s][:6]


def _shape(shape):
    down, across = grid_of(shape)
    return {"name": " x ".join(map(str, shape)), "rows": down, "cols": across}


def _access_names(view):
    if not view.tables.is_memory:
        return []
    names = [[key, label] for key, label in acc.NAMES.items()]
    if view.access and view.access not in acc.NAMES:
        names.insert(0, [view.access, f"lanes: {view.access}"])
    return names


def _banks(view, tables, shape):
    """{access: counts} of one shape."""
    seen = Tables.__new__(Tables)
    seen.__dict__.update(tables.__dict__, shape=shape)
    names = acc.offered(shape, tables.bits)
    if view.access and view.access not in names:
        names.append(view.access)
    return {
        name: _counts(acc.Banks(name, seen)) for name in names if name in acc.NAMES or name == view.access
    }


def _counts(banks):
    if banks.refusal is not None:
        return {"refused": f"{banks.refusal.message}: {banks.refusal.found}"}
    return {
        "requests": [
            {"name": a.name, "lanes": [list(x) for x in a.lanes], **r.to_dict()} for a, r in banks.rows
        ]
    }


def table(tables) -> dict:
    """Both directions of the map, the place grid, colour classes and facts."""
    per = tables.per_element
    return {
        "text": str(tables.layout),
        "axes": [{"name": a.name, "thread": a.thread, "low": a.low, "high": a.high} for a in tables.axes],
        "per": per,
        "held": [i for held in tables.of_element for i in held],
        "stored": [e[0] if len(e) == 1 else e for e in tables.elements],
        "at": [list(c) for c in zip(*tables.places)],
        "labels": tables.labels(),
        "pages": [_page(p) for p in tables.pages],
        "rowAxis": tables.row_axis, "colAxis": tables.col_axis,
        "colour": tables.colour_axis(),
        "classes": {a.name: "".join(map(str, tables.classes(a.name))) for a in tables.axes},
        "legend": {a.name: legend(tables, a.name) for a in tables.axes},
        "facts": [list(f) for f in tables.facts()],
    }  # fmt: skip


def _page(page):
    """Cells are left out where place numbers are the positions."""
    first = page.cells[0] if page.cells else 0
    plain = page.cells == list(range(first, first + len(page.cells)))
    return {"label": page.label, "rows": page.rows, "cols": page.cols, "first": first,
            "cells": None if plain else page.cells}  # fmt: skip


def legend(tables, axis) -> list:
    """[class, what it means] for the classes in use."""
    at = [a.name for a in tables.axes].index(axis)
    values = {}
    for place, k in zip(tables.places, tables.classes(axis)):
        values.setdefault(k, set()).add(place[at])
    return [[k, _meaning(tables, axis, k, sorted(values[k]))] for k in range(COLOURS) if k in values]


def _meaning(tables, axis, k, values):
    if axis == "m":
        chunks = tables.line or not any(a.thread for a in tables.axes)
        return f"bytes {16 * k} to {16 * k + 15} of a line" if chunks else f"register {k}{_more(tables, k)}"
    if values == list(range(values[0], values[-1] + 1)):
        return f"{axis} {values[0]}" + (f" to {values[-1]}" if len(values) > 1 else "")
    return f"{axis} {listed(values)}"


def _more(tables, k):
    """ ", k + 8, ..": registers repeat their colours after eight."""
    last = tables.axis("m").high * tables.bits // 32
    return f", {k + COLOURS}, .." if last >= k + COLOURS else ""
