"""Everything that a drawing of a layout says, computed once by the algebra (`AllPlaces` in C++).

A drawing is two grids: the logical tile, whose cells say where an element is, and the hardware's places, whose
cells say what is stored there. `Tables` has both directions and knows no text, colour or markup.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

from ... import _ffi_api as _api
from ...errors import LayoutError
from ..given import bits_of
from ..notation import Axis, check_number
from ..tile import ComposeLayout, _int
from . import proofs

# How an axis is abbreviated in a cell; others use their name.
SHORT = {
    "laneid": "T", "tid_in_wg": "T", "tx": "T", "warpid": "W", "wid_in_wg": "W", "wgid": "G", "cta_id": "C", "pid": "D",
    "TLane": "L", "TCol": "C", "P": "P", "F": "F", "Bank": "B", "m": "",
}  # fmt: skip
_INNERMOST = ("laneid", "tid_in_wg", "tx", "wid_in_wg", "warpid", "wgid")
_LINE_BITS = 128 * 8  # one word of each of the 32 banks of shared memory
COLOURS = 8
_PAGE, _BLOCK = 32768, 128  # a page of more cells is cut into blocks of columns (of lines in a linear memory)


@dataclass(frozen=True)
class AxisUse:
    """One axis of a layout and the coordinates in use on it."""

    name: str
    short: str
    thread: bool
    low: int
    high: int

    def text(self, value) -> str:
        return f"{self.short}{value}"


@dataclass(frozen=True)
class Page:
    """A rectangle of places. `cells` has one place number per cell, row by row, -1 where nothing is."""

    label: str
    rows: list
    cols: list
    cells: list


def dtype_bits(dtype) -> int:
    """Width of a dtype's elements in bits; LayoutError for what is no dtype."""
    return bits_of(dtype)


def shard_extents(layout) -> list:
    tile = layout.tile_layout if isinstance(layout, ComposeLayout) else layout
    return [_int(it.extent) for it in tile.shard]


def splits(layout) -> list:
    """The two-dimensional shapes between shard iters, the squarest first (the wider of two alike)."""
    extents = [e for e in shard_extents(layout) if e != 1] or [1]
    n = math.prod(extents)
    rows = [math.prod(extents[:i]) for i in range(1, len(extents))]
    pairs = sorted(((r, n // r) for r in rows), key=lambda p: (abs(math.log(p[0] / p[1])), p[0]))
    return pairs or [(n,)]


class Tables:
    """Places of the elements of `layout` seen as a tile of `shape`, and elements of the places.

    `shape`: extents whose product is the layout's size (default: the squarest split between its iters).
    `dtype` decides how many elements one memory line holds. Raises LayoutError for symbolic layouts, for layouts of more
    than 2^22 coordinates and for shapes that do not admit the layout. Places are numbered when first asked for: what is
    said of single elements, and how many places there are, needs no numbers.
    """

    def __init__(self, layout, shape=None, dtype="float16"):
        self.layout, self.dtype, self.bits = layout, str(dtype), dtype_bits(dtype)
        names, self.per_element, raw = _api.layout_all_places(layout)
        self.shape = admitted(layout, shape)
        flat = memoryview(bytes(raw)).cast("q")
        self.axes = _uses([str(n) for n in names], flat)
        self._columns = [flat[a :: len(self.axes)] for a in range(len(self.axes))]
        self._arrange()

    @functools.cached_property
    def size(self) -> int:
        return _size(self.layout)

    @property
    def places(self) -> list:
        """Coordinates of every place, in reading order of the grid."""
        return self._numbered[0]

    @property
    def of_element(self) -> list:
        """Place numbers of every element, one per replica."""
        return self._numbered[1]

    @property
    def elements(self) -> list:
        """Elements of every place."""
        return self._numbered[2]

    @property
    def pages(self) -> list:
        return self._numbered[3]

    @functools.cached_property
    def counts(self) -> tuple:
        """(places, places that hold more than one element)."""
        if self.box >= 1 << 62:
            return len(self.places), sum(len(e) > 1 for e in self.elements)
        import numpy as np

        key = np.zeros(self.size * self.per_element, np.int64)
        for use, column in zip(self.axes, self._columns):
            key = key * (use.high - use.low + 1) + (np.asarray(column) - use.low)
        held = np.unique(key, return_counts=True)[1]
        return len(held), int((held > 1).sum())

    @property
    def is_memory(self) -> bool:
        """Whether elements are only addresses of one linear memory."""
        return [a.name for a in self.axes] == ["m"]

    @property
    def has_addresses(self) -> bool:
        return any(a.name == "m" for a in self.axes)

    def axis(self, name) -> AxisUse:
        return next(a for a in self.axes if a.name == name)

    def coordinates(self, place) -> dict:
        """{axis: coordinate} of a place number."""
        return {a.name: v for a, v in zip(self.axes, self.places[place])}

    def _arrange(self):
        """Which axes are pages, rows and columns of the place grid."""
        names = [a.name for a in self.axes]
        threads = [a.name for a in self.axes if a.thread]
        memory = [n for n in names if n not in threads]
        inner = next((n for n in _INNERMOST if n in threads), None)
        self.line = None
        if {"TLane", "TCol"} <= set(names):
            self.row_axis, self.col_axis = "TLane", "TCol"
        elif {"P", "F"} <= set(names):
            self.row_axis, self.col_axis = "P", "F"
        elif inner and memory:
            self.row_axis, self.col_axis = inner, memory[-1]
        elif "m" in memory:
            self.row_axis = self.col_axis = "m"
            self.line = _line(self.axis("m"), self.bits)
        else:
            ordered = sorted(names, key=lambda n: n != inner)
            self.col_axis = ordered[0] if ordered else None
            self.row_axis = ordered[1] if len(ordered) > 1 else self.col_axis
        self.page_axes = [n for n in names if n not in (self.row_axis, self.col_axis)]

    def _cells(self, columns) -> list:
        """(page coordinates, row, column) of places given as one list of coordinates per axis."""
        n = len(columns[0]) if columns else 1
        at = {a.name: c for a, c in zip(self.axes, columns)}
        pages = list(zip(*[at[name] for name in self.page_axes])) or [()] * n
        zeros = [0] * n
        if self.line:
            line = self.line
            return list(zip(pages, [v // line * line for v in at["m"]], [v % line for v in at["m"]]))
        rows = zeros if self.row_axis == self.col_axis else at[self.row_axis]
        return list(zip(pages, rows, at.get(self.col_axis, zeros)))

    @functools.cached_property
    def _numbered(self):
        """Places in reading order of the grid, both directions of the map in these numbers, and the pages."""
        points = list(zip(*(c.tolist() for c in self._columns))) or [()] * self.size
        distinct = list(dict.fromkeys(points))
        cells = self._cut(self._cells([list(c) for c in zip(*distinct)]))
        order = sorted(range(len(distinct)), key=cells.__getitem__)
        places = [distinct[i] for i in order]
        number = {p: i for i, p in enumerate(places)}
        ids, per = [number[p] for p in points], self.per_element
        of_element = list(zip(*[ids[r::per] for r in range(per)]))
        elements = [[] for _ in places]
        for x, held in enumerate(of_element):
            for i in held:
                elements[i].append(x)
        return places, of_element, elements, self._paged([cells[i] for i in order])

    def _cut(self, cells):
        """Cells with the block of columns, or of lines, as a further page coordinate when one page is too large."""
        rows, cols = {r for _, r, _ in cells}, {c for _, _, c in cells}
        self.block = None
        if len(rows) * len(cols) <= _PAGE:
            return cells
        self.block = _BLOCK * (self.line or 1)
        return [(p + ((r if self.line else c) // self.block,), r, c) for p, r, c in cells]

    def _paged(self, cells):
        by_page: dict = {}
        for i, (page, r, c) in enumerate(cells):
            by_page.setdefault(page, []).append((i, r, c))
        rows, cols = _ticks({c[1] for c in cells}, self.line or 1), _ticks({c[2] for c in cells}, 1)
        pages = []
        for page, inside in by_page.items():
            mine = [[v for v in ticks if not self.block or v // self.block == page[-1]] if cut else ticks
                    for ticks, cut in ((rows, self.line), (cols, not self.line))]  # fmt: skip
            pages.append(Page(self._page_label(page, mine), *mine, _filled(inside, *mine)))
        return pages

    def _page_label(self, page, ticks):
        names = [f"{n} {v}" for n, v in zip(self.page_axes, page)]
        if self.block:
            axis, mine = (self.row_axis, ticks[0]) if self.line else (self.col_axis, ticks[1])
            names.append(f"{axis} {mine[0]} to {mine[-1] + (self.line or 1) - 1}")
        return ", ".join(names)

    # ---- what the tables say about the layout ----

    @property
    def injective(self) -> bool:
        """No place holds two elements."""
        return self.counts[1] == 0

    @property
    def box(self) -> int:
        """Number of coordinates in the smallest box around the places."""
        return math.prod(a.high - a.low + 1 for a in self.axes)

    def facts(self) -> list:
        """(what, value) pairs in words."""
        width, (places, shared) = f" of {self.bits} bits" if self.has_addresses else "", self.counts
        out = [("elements", f"{self.size}{width}"),
               ("places", f"{places}, {self.per_element} per element")]  # fmt: skip
        out += [(a.name, f"{a.low} to {a.high}" if a.high > a.low else f"{a.low}") for a in self.axes]
        out.append(("two elements in one place", f"yes, {shared} places" if shared else "never"))
        empty = self.box - places
        out.append(("empty places in the box", str(empty) if empty else "none"))
        return out + proofs.facts(self)

    def colour_axis(self) -> str:
        """The axis whose coordinate colours a cell unless another is asked for."""
        names = [a.name for a in self.axes]
        wanted = (*_INNERMOST, "pid", "cta_id", "Bank", "TLane", "P", "m")
        return next((n for n in wanted if n in names), names[0] if names else "")

    def classes(self, axis) -> list:
        """Colour class, 0 to 7, of every place by its coordinate on `axis`."""
        if not self.axes:
            return [0] * len(self.places)
        at = [a.name for a in self.axes].index(axis)
        band = self._band(self.axes[at])
        return [band(p[at]) for p in self.places]

    def element_classes(self, axis, count) -> list:
        """Colour classes of the first places of the first `count` elements."""
        if not self.axes:
            return [0] * count
        at = [a.name for a in self.axes].index(axis)
        column = self._columns[at][: count * self.per_element]
        return list(map(self._band(self.axes[at]), column[:: self.per_element]))

    def _band(self, use):
        """Registers and chunks of 16 bytes repeat after eight; other axes are cut into eight bands."""
        if use.name == "m":
            unit = 128 if not any(a.thread for a in self.axes) or self.line else 32
            return lambda v: v * self.bits // unit % COLOURS
        low, extent = (0, Axis.get(use.name).extent) if use.low >= 0 else (use.low, 0)
        extent = extent if extent > use.high else 0
        if not extent:
            low, extent = use.low, use.high - use.low + 1
        return lambda v: (v - low) * COLOURS // extent if extent > COLOURS else v - low

    def labels(self, count=None) -> list:
        """Text of the places of every element (of the first `count`): "W5,9 T3 r1" (replicas listed per axis), or place
        after place."""
        count = self.size if count is None else count
        if self.per_element > 1 or not self.axes:
            return [self._label(x) for x in range(count)]
        spoken = self._spoken(c[:count].tolist() for c in self._columns)
        named = [(self._short(a), column) for a, column in spoken]
        words = [[f"{short}{v}" for v in column] for short, column in named]
        return words[0] if len(words) == 1 else list(map(" ".join, zip(*words)))

    def _label(self, x) -> str:
        first = x * self.per_element
        points = list(zip(*(c[first : first + self.per_element] for c in self._columns))) or [()]
        columns = [sorted(set(c)) for c in zip(*points)]
        if math.prod(len(c) for c in columns) == len(points):
            return " ".join(self._short(a) + listed(c) for a, c in self._spoken(columns)) or "0"
        return "|".join(" ".join(self._short(a) + str(v) for a, v in self._spoken(p)) for p in points)

    def _spoken(self, columns):
        """Axes in cell order: owners from the outside in, then memory."""
        pairs = list(zip(self.axes, columns))
        rank = {n: i for i, n in enumerate([*self.page_axes, self.row_axis, self.col_axis])}
        return sorted(pairs, key=lambda p: (not p[0].thread, rank.get(p[0].name, 0)))

    def _short(self, use) -> str:
        if use.name == "m":
            return "r" if any(a.thread for a in self.axes) and not self.line else ""
        return use.short


def listed(values) -> str:
    """Increasing ints as text: "5,9", and "0,4..28" when there are more than four."""
    if len(values) <= 4:
        return ",".join(map(str, values))
    step = values[1] - values[0]
    even = values == list(range(values[0], values[-1] + 1, step))
    return f"{values[0]},{values[1]}..{values[-1]}" if even else ",".join(map(str, values))


def admitted(layout, shape) -> tuple:
    """`shape` as a tuple of ints, checked by the algebra; the default shape for None."""
    if shape is None:
        return splits(layout)[0]
    shape = tuple(_int(check_number(s)) for s in (shape if isinstance(shape, (list, tuple)) else [shape]))
    if not shape or not all(type(s) is int and s > 0 for s in shape):
        raise LayoutError("a shape to draw has constant, positive extents", code="bad-shape", found=f"{shape}",
                          required=f"positive ints with product {_size(layout)}")  # fmt: skip
    layout.apply(*[0] * len(shape), shape=shape)  # raises when the shape does not admit the layout
    return shape


def _size(layout) -> int:
    return math.prod(shard_extents(layout))


def _uses(names, flat):
    width = len(names)
    columns = [flat[a::width].tolist() for a in range(width)]
    return [
        AxisUse(n, SHORT.get(n, n), Axis.get(n).is_thread(), min(c), max(c)) for n, c in zip(names, columns)
    ]


def _line(use, bits):
    """Elements per row of a drawn memory: 128 bytes, or all when there are fewer."""
    whole = max(1, _LINE_BITS // bits)
    return whole if use.low < 0 or use.high >= whole else use.high + 1


def _filled(inside, rows, cols):
    """Place numbers by position, -1 where nothing is."""
    row_of, col_of = ({v: i for i, v in enumerate(t)} for t in (rows, cols))
    grid = [-1] * (len(rows) * len(cols))
    for i, r, c in inside:
        grid[row_of[r] * len(cols) + col_of[c]] = i
    return grid


def _ticks(values, step):
    """Row or column numbers: without gaps, unless these would be most of them."""
    dense = range(min(values), max(values) + 1, step)
    return list(dense) if len(dense) <= 4 * len(values) else sorted(values)
