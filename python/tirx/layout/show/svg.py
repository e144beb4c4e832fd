"""Layouts as SVG: the tile, the places page by page, and what the colours and patterns mean."""

from __future__ import annotations

from html import escape

from .colors import INK, svg_patterns
from .text import grid_of, stored

MOST = 64  # rows and columns drawn of one grid
_CHAR, _HIGH, _PAD = 6.2, 20, 16


def render(view, places=True) -> str:
    """A self-contained SVG document."""
    tables = view.tables
    classes = tables.classes(tables.colour_axis())
    grids = [_tile(tables, classes)]
    if places:
        grids += [_page(tables, page, classes) for page in tables.pages]
    body, width, y = [], 0, _PAD
    for line in _head(view):
        body.append(_text(_PAD, y + 12, line, 12))
        width, y = max(width, len(line) * 7.3 + 2 * _PAD), y + 18
    y += 8
    for grid in grids:
        piece, w, h = grid.draw(_PAD, y)
        body.append(piece)
        width, y = max(width, w + 2 * _PAD), y + h + _PAD
    size = f'width="{width:.0f}" height="{y:.0f}" viewBox="0 0 {width:.0f} {y:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
        f'font-family="ui-monospace, Menlo, Consolas, monospace" role="img" aria-label="{escape(str(tables.layout))}">'
        f"<defs>{svg_patterns()}</defs>"
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(body)}</svg>\n'
    )


def _head(view):
    tables = view.tables
    about = [view.about] if view.about else []
    return [
        str(tables.layout),
        *about,
        f"shape {tables.shape}, {tables.dtype}, coloured by {tables.colour_axis()}",
    ]


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
        self.title, self.down, self.across, self.cells = title, down, across, cells
        self.rows, self.cols = min(len(down), MOST), min(len(across), MOST)

    def draw(self, x, y):
        """(markup, width, height) with the top left corner at (x, y)."""
        shown = [self.cells[r * len(self.across) + c] for r in range(self.rows) for c in range(self.cols)]
        wide = 8 + _CHAR * max([len(t) for t, _ in shown] + [len(a) for a in self.across])
        left = x + 8 + _CHAR * max(len(d) for d in self.down)
        top = y + 38
        out = [_text(x, y + 12, self.title, 11, "bold")]
        for c in range(self.cols):
            out.append(_text(left + (c + 0.5) * wide, y + 32, self.across[c], 10, anchor="middle"))
        for r in range(self.rows):
            out.append(_text(left - 4, top + r * _HIGH + 14, self.down[r], 10, anchor="end"))
        for i, (text, k) in enumerate(shown):
            out.append(_cell(left + i % self.cols * wide, top + i // self.cols * _HIGH, wide, text, k))
        notes = self._left_out()
        low = top + self.rows * _HIGH
        out += [_text(x, low + 16 + 14 * i, n, 10) for i, n in enumerate(notes)]
        return "".join(out), left - x + self.cols * wide, low - y + 14 * len(notes)

    def _left_out(self):
        pairs = (("rows", self.rows, self.down), ("columns", self.cols, self.across))
        return [
            f"... {what} {labels[n]} to {labels[-1]} are not drawn"
            for what, n, labels in pairs
            if n < len(labels)
        ]


def _cell(x, y, wide, text, index):
    fill = "none" if index is None else f"url(#p{index})"
    box = f'x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{_HIGH}" fill="{fill}"'
    box = f'<rect {box} stroke="{INK}" stroke-width=".6"/>'
    return box + (_text(x + wide / 2, y + 14, text, 10, anchor="middle") if text else "")


def _text(x, y, text, size, weight="normal", anchor="start"):
    style = f'{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{INK}"'
    extra = (f' font-weight="{weight}"' if weight != "normal" else "") + (
        f' text-anchor="{anchor}"' if anchor != "start" else ""
    )
    return f'<text x="{style}{extra}>{escape(text)}</text>'
