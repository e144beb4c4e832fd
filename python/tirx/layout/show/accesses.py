"""The accesses of a warp that the bank view offers, and their counts (tirx.layout.banks).

`row`: lane i touches element i of the first row. `row16`: lane i touches 16 bytes, lane after lane along the rows.
`column`: lane i touches element 0 of row i. `rows8`: lane i of eight touches the first 16 bytes of row i, as one matrix
of ldmatrix does. Any other text is a layout that says which lane (and, on m, which register) every element of the tile
goes to, or the name of one (`mma.m16n8k16.A`): one access per 32-bit register where its elements are neighbours in
memory, else one per element.
"""

from __future__ import annotations

import difflib
import math
import re

from ...errors import LayoutError
from .reading import read_layout

NAMES = {
    "row": "a row, one element per lane",
    "row16": "rows, 16 bytes per lane",
    "column": "a column, one element per lane",
    "rows8": "16 bytes of each of 8 rows (ldmatrix)",
}
_WARP, _SHOWN = 32, 8


def offered(shape, bits) -> list:
    """Names of the accesses that a tile of this shape has."""
    rows, cols = math.prod(shape[:-1]), shape[-1]
    out = ["row"]
    if 128 % bits == 0 and (rows * cols) % (128 // bits) == 0:
        out.append("row16")
    if rows > 1:
        out.append("column")
    if rows >= 8 and 128 % bits == 0 and cols * bits >= 128:
        out.append("rows8")
    return out


def accesses(name, shape, dtype, bits) -> list:
    """The Access objects of a name in NAMES or of a layout's notation, for a tile of `shape`."""
    from ..banks import Access

    if name not in NAMES:
        return _fragment(name, shape, dtype, bits)
    if name not in offered(shape, bits):
        raise LayoutError("this tile has no such access", code="bad-access", found=f"{name} of {tuple(shape)}",
                          required=f"one of {', '.join(offered(shape, bits))}, or a layout of lanes")  # fmt: skip
    cols, size = shape[-1], math.prod(shape)
    chunk, single = max(1, 128 // bits), max(1, bits // 8)
    per_lane = max(1, 8 // bits)
    starts = {
        "row": range(0, cols // per_lane * per_lane, per_lane),
        "row16": range(0, size, chunk),
        "column": range(0, size, cols),
        "rows8": range(0, 8 * cols, cols),
    }[name]
    width = 16 if name in ("row16", "rows8") else single
    return [Access(list(starts)[:_WARP], dtype, width, name=NAMES[name])]


def _fragment(text, shape, dtype, bits):
    from ..banks import fragment_accesses
    from .hardware import find

    named = find(text)
    if named is None and re.fullmatch(r"\w*", text.strip()):
        near = difflib.get_close_matches(text.strip(), list(NAMES), 2, 0.5)
        raise LayoutError("no access of this name", code="unknown-access", found=repr(text),
                          required=f"one of {', '.join(NAMES)}, a name that `tirx layout --list` prints, or a layout "
                          "of lanes such as S[(8, 4) : (4@laneid, 1@laneid)]",
                          hint=f"did you mean {' or '.join(near)}?" if near else "")  # fmt: skip
    layout = named.build(dtype)[0] if named else read_layout(text)
    layout.apply(*[0] * len(shape), shape=list(shape))  # raises when the sizes differ
    return fragment_accesses(layout, dtype, 4 if bits < 32 else None, name="register")


def _singly(name, tables):
    """The same fragment element by element, for elements that are no neighbours in memory."""
    from ..banks import Access

    out = []
    for a in accesses(name, tables.shape, tables.dtype, tables.bits):
        lanes = [[row[j] if row else None for row in a.lanes] for j in range(a.per_lane)]
        out += [Access(row, tables.dtype, name=f"{a.name}, element {j}") for j, row in enumerate(lanes)]
    return out


class Banks:
    """Counts of one access by name: `rows` has (access, report) pairs, or `refusal` the reason why there are none."""

    def __init__(self, name, tables):
        self.name, self.rows, self.refusal = name, [], None
        try:
            self.rows = self._rows(tables)
        except LayoutError as e:
            if e.code in (
                "bad-notation",
                "unknown-axis",
                "unknown-layout",
                "unknown-access",
                "size-mismatch",
                "stride-count",
            ):
                raise
            self.refusal = e

    def _rows(self, tables):
        found = accesses(self.name, tables.shape, tables.dtype, tables.bits)
        try:
            return _counted(tables, found)
        except LayoutError as e:
            if self.name in NAMES or e.code not in ("not-contiguous", "misaligned"):
                raise
            return _counted(tables, _singly(self.name, tables))

    def text(self) -> str:
        """Totals, and the busiest bank of each access."""
        title = f"access: {NAMES.get(self.name, self.name)}"
        if self.refusal is not None:
            return f"{title}\n  {self.refusal.message}: {self.refusal.found}"
        if len(self.rows) == 1:
            return f"{title}\n  {self.rows[0][1]}{_busiest(self.rows[0][1])}"
        total, ideal = (sum(getattr(r, k) for _, r in self.rows) for k in ("wavefronts", "ideal"))
        lines = [f"  {len(self.rows)} accesses: {total} wavefronts, {ideal} without conflicts"]
        lines += [f"  {a.name}: {r}{_busiest(r)}" for a, r in self.rows[:_SHOWN]]
        more = len(self.rows) - _SHOWN
        return "\n".join([title, *lines, *([f"  ... {more} more accesses"] if more > 0 else [])])


def _counted(tables, found):
    from ..banks import bank_conflicts

    return [(a, bank_conflicts(tables.layout, a)) for a in found]


def _busiest(report):
    if not report.conflicts:
        return ""
    bank = max(range(len(report.banks)), key=lambda b: len(report.banks[b]))
    words = [f"word {w.word} lanes {','.join(map(str, w.lanes))}" for w in report.banks[bank][:4]]
    more = len(report.banks[bank]) - len(words)
    return f"\n    bank {bank}: " + "; ".join(words) + (f"; {more} more" if more > 0 else "")
