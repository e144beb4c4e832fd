"""Layouts as SVG: the tile, the places page by page, and the bank counts of an access."""

from __future__ import annotations

from html import escape

from .colors import INK, svg_patterns
from .text import grid_of, stored

MOST = 64  # rows and columns drawn of one grid
_CHAR, _HIGH, _PAD, _GAP, _WIDE = 6.2, 20, 16, 28, 1500
_FONT = 'font-family="ui-monospace, Menlo, Consolas, monospace"'


def render(view, places=True) -> str:
    """A self-contained SVG document: grids left to right, as many in a line as fit 1500 pixels."""
    tables = view.tables
    classes = tables.classes(tables.colour_axis())
    grids = [_tile(tables, classes)] + ([_page(tables, p, classes) for p in tables.pages] if places else [])
    head = _head(view)
    body = [_text(_PAD, _PAD + 12 + 18 * i, line, 12) for i, line in enumerate(head)]
    spots, width, height = _flow(grids, 18 * len(head) + _PAD + 8)
    body += [g.draw(x, y) for g, (x, y) in zip(grids, spots)]
    width = max([width, *(len(line) * 7.3 + 2 * _PAD for line in head)])
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {_FONT} role="img" aria-label="{escape(str(tables.layout))}">'
        f"<defs>{svg_patterns()}</defs>"
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(body)}</svg>\n'
    )


def _head(view):
    tables = view.tables
    about = [view.about] if view.about else []
    last = f"shape {tables.shape}, {tables.dtype}, coloured by {tables.colour_axis()}"
    banks = [line.strip() for report in view.reports() for line in report.text().splitlines()[1:]]
    return [str(tables.layout), *about, last, *banks]


def _flow(grids, y):
    """Top left corners in lines, and the size of the whole."""
    spots, x, low, right = [], _PAD, y, 0
    for grid in grids:
        wide, high = grid.size()
        if x > _PAD and x + wide > _WIDE:
            x, y = _PAD, low
        spots.append((x, y))
        x, low, right = x + wide + _GAP, max(low, y + high + _PAD), max(right, x + wide + _PAD)
    return spots, right, low


def _tile(tables, classes):
    down, across = grid_of(tables.shape)
    cells = [(label, classes[held[0]]) for label, held in zip(tables.labels(), tables.of_element)]
    return _Grid("the tile: where each element is", down, across, cells)


def _page(tables, page, classes):
    cells = [(stored(tables, i), classes[i]) if i >= 0 else ("", None) for i in page.cells]
    title = f"{page.label + ': ' if page.label else ''}{tables.row_axis} down, {tables.col_axis} across"
    return _Grid(title, [str(r) for r in page.rows], [str(c) for c in page.cols], cells)


class _Grid:
    """A titled grid of labelled cells; what does not fit is said below it."""

    def __init__(self, title, down, across, cells):
        self.title, self.down, self.across = title, down, across
        self.rows, self.cols = min(len(down), MOST), min(len(across), MOST)
        self.cells = [cells[r * len(across) + c] for r in range(self.rows) for c in range(self.cols)]
        self.wide = 8 + _CHAR * max([len(t) for t, _ in self.cells] + [len(a) for a in across])
        self.left = 8 + _CHAR * max(len(d) for d in down)
        pairs = (("rows", self.rows, down), ("columns", self.cols, across))
        self.notes = [f"... {what} {labels[n]} to {labels[-1]} are not drawn"
                      for what, n, labels in pairs if n < len(labels)]  # fmt: skip

    def size(self):
        """(width, height), the title and the notes included."""
        text = 6.8 * max(map(len, [self.title, *self.notes]))
        return max(self.left + self.cols * self.wide, text), 38 + self.rows * _HIGH + 14 * len(self.notes)

    def draw(self, x, y) -> str:
        """Markup with the top left corner at (x, y)."""
        left, top = x + self.left, y + 38
        out = [_text(x, y + 12, self.title, 11, "bold")]
        for c in range(self.cols):
            out.append(_text(left + (c + 0.5) * self.wide, y + 32, self.across[c], 10, anchor="middle"))
        for r in range(self.rows):
            out.append(_text(left - 4, top + r * _HIGH + 14, self.down[r], 10, anchor="end"))
        for i, (text, k) in enumerate(self.cells):
            row, col = divmod(i, self.cols)
            out.append(_cell(left + col * self.wide, top + row * _HIGH, self.wide, text, k))
        low = top + self.rows * _HIGH + 16
        return "".join(out + [_text(x, low + 14 * i, n, 10) for i, n in enumerate(self.notes)])


def _cell(x, y, wide, text, index):
    fill = "none" if index is None else f"url(#p{index})"
    box = f'x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{_HIGH}" fill="{fill}"'
    box = f'<rect {box} stroke="{INK}" stroke-width=".6"/>'
    return box + (_text(x + wide / 2, y + 14, text, 10, anchor="middle") if text else "")


def _text(x, y, text, size, weight="normal", anchor="start"):
    extra = (f' font-weight="{weight}"' if weight != "normal" else "") + (
        f' text-anchor="{anchor}"' if anchor != "start" else ""
    )
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{INK}"{extra}>{escape(text)}</text>'
