"""Layouts in a terminal: a table that fits its width and says what it leaves out."""

from __future__ import annotations

import textwrap

from ..given import integer, refuse
from .colors import ansi

ROWS = 64


def render(view, width=100, color=False, places=False, rows=ROWS) -> str:
    """Notation, the tile (each cell: where the element is), what the tables say; with `places` also the other
    direction; with an access its bank counts. `width` in characters, 0 for no limit; `rows` likewise. LayoutError
    "bad-size" for negative ones."""
    width, rows, tables = limit(width, "width"), limit(rows, "rows"), view.tables
    parts = [_head(view), elements(tables, width, color, rows)]
    if places:
        parts += [_page(tables, page, width, color, rows) for page in tables.pages]
    wrap = textwrap.TextWrapper(width or 1000, subsequent_indent="  ", break_long_words=False)
    parts.append("\n".join(wrap.fill(f"{k}: {v}") for k, v in tables.facts()))
    parts += [report.text() for report in view.reports()]
    return "\n\n".join(parts)


def limit(value, what) -> int:
    """A number of characters or rows, 0 for no limit."""
    if integer(value, what) < 0:
        refuse(f"{what} is a size", "bad-size", f"{value}", "0 for no limit, or a positive number")
    return integer(value, what)


def _head(view):
    tables = view.tables
    names = [f"{a.short} {a.name}" for a in tables.axes if a.name != "m" and a.short != a.name]
    if tables.has_addresses and not tables.is_memory and not tables.line:
        names.append("r m (element within the owner's registers)")
    elif tables.has_addresses:
        names.append("a number alone is m, the address in elements")
    about = [view.about] if view.about else []
    lines = [str(tables.layout), *about, f"shape {tables.shape}, {tables.dtype}"]
    return "\n".join(lines + ([f"in a cell: {', '.join(names)}"] if names else []))


def grid_of(shape):
    """(row labels, column labels) of a tile: the last dimension is across, the others are down."""
    if len(shape) == 1:
        return [""], [str(c) for c in range(shape[0])]
    labels = [""]
    for extent in shape[:-1]:
        labels = [f"{p}, {i}" if p else str(i) for p in labels for i in range(extent)]
    return labels, [str(c) for c in range(shape[-1])]


def elements(tables, width, color, rows):
    """The table of the tile."""
    down, across = grid_of(tables.shape)
    count = min(rows or len(down), len(down)) * len(across)  # nothing else is printed
    classes = tables.element_classes(tables.colour_axis(), count)
    cells = list(zip(tables.labels(count), classes))
    return _table(down, across, cells, width, color, rows)


def _page(tables, page, width, color, rows):
    classes = tables.classes(tables.colour_axis())
    cells = [(stored(tables, i), classes[i]) if i >= 0 else ("", None) for i in page.cells]
    title = f"{page.label + ': ' if page.label else ''}{tables.row_axis} down, {tables.col_axis} across"
    return (
        title
        + "\n"
        + _table([str(r) for r in page.rows], [str(c) for c in page.cols], cells, width, color, rows)
    )


def stored(tables, place) -> str:
    """The elements of a place, as coordinates of the shape."""
    return " ".join(coordinate(tables.shape, x) for x in tables.elements[place])


def coordinate(shape, x) -> str:
    """ "3,13" for a linear index."""
    out = []
    for extent in reversed(shape):
        out.append(str(x % extent))
        x //= extent
    return ",".join(reversed(out))


def _table(down, across, cells, width, color, rows):
    """Blocks of as many columns as fit the width; what is beyond `rows` lines in all is counted below."""
    wide = max([len(c) for c in across] + [len(t) for t, _ in cells])
    left = max(len(d) for d in down)
    fit = _even(len(across), max(1, (width - left - 1) // (wide + 1)) if width else len(across))
    high = min(rows or len(down), len(down))
    blocks = max(1, rows // (high + 2)) if rows else len(across)
    shown = min(len(across), fit * blocks)
    lines = []
    for first in range(0, shown, fit):
        these = range(first, min(first + fit, shown))
        lines += ["", " " * left + " " + " ".join(across[c].rjust(wide) for c in these)]
        for r in range(high):
            row = [cells[r * len(across) + c] for c in these]
            lines.append(down[r].rjust(left) + " " + " ".join(_cell(t, k, wide, color) for t, k in row))
    notes = _left_out("columns", across, shown, rows) + _left_out("rows", down, high, rows)
    return "\n".join(line.rstrip() for line in [*lines[1:], *notes])


def _even(count, fit):
    """Columns per block: a divisor of their number when one above half of what fits exists."""
    return next((f for f in range(min(fit, count), fit // 2, -1) if count % f == 0), fit)


def _cell(text, index, wide, color):
    text = text.rjust(wide)
    return ansi(text, index) if color and index is not None else text


def _left_out(what, labels, shown, limit):
    if shown >= len(labels):
        return []
    return [f"... {what} {labels[shown]} to {labels[-1]} left out (tables of {limit} rows)"]
