"""Fragments as TileLang writes them: which thread holds an element, and where among its registers.

    Fragment((16, 16), forward_thread=lambda i, j: i % 8 * 4 + j % 8 // 2,
                       forward_index=lambda i, j: j % 2 + 2 * (i // 8) + 4 * (j // 8))

The functions are called once with symbolic coordinates (the operators of tirx.layout.maps.index_map). With
`replicate` > 1 the thread function takes one more argument, the number of the copy: copy r of an element is in
thread forward_thread(*x, r), at the same index. A fragment is a correspondence between logical elements and
(thread, index) places; it exports to a TileLayout when its maps are strides, and refuses otherwise.
"""

from __future__ import annotations

from math import prod

from ..errors import LayoutError
from .notation import Axis
from .tile import Iter, TileLayout, _int


def _refuse(message, code, found, required):
    raise LayoutError(message, code=code, found=str(found), required=required)


def _tuple(x):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _functions(forward, forward_thread, forward_index, copies):
    """(thread(x, copy), index(x))."""
    if forward is not None:
        return (lambda x, r: forward(*copies(x, r))[0]), (lambda x: forward(*copies(x, 0))[1])
    index = (lambda x: forward_index(*x)) if forward_index else (lambda x: 0)
    return (lambda x, r: forward_thread(*copies(x, r))), index


def _row_major(point, shape):
    index = 0
    for x, n in zip(point, shape):
        index = index * n + x
    return index


class Fragment:
    """shape: logical extents; thread_map: LayoutMap (*shape, replicate) -> thread; index_map: LayoutMap
    shape -> index (one or more axes). Static; at most 2**20 places.
    `forward` gives both at once, (thread, index), as TileLang's forward_fn.
    """

    def __init__(self, shape, forward_index=None, forward_thread=None, replicate=1, forward=None):
        self.shape, self.replicate = tuple(shape), replicate
        if forward is None and forward_thread is None:
            _refuse("a fragment says which thread holds an element", "no-thread", "neither forward nor forward_thread",
                    "forward_thread=")  # fmt: skip
        if type(replicate) is not int or replicate < 1:
            _refuse("replicate is a number of copies", "bad-replicate", replicate, "an int >= 1")
        copies = (lambda x, r: (*x, r)) if replicate > 1 else (lambda x, r: x)
        self._functions = thread, index = _functions(forward, forward_thread, forward_index, copies)
        self.thread_map = _map((*self.shape, replicate), lambda *x: (thread(x[:-1], x[-1]),))
        self.index_map = _map(self.shape, lambda *x: _tuple(index(x)))
        if any(v < 0 for f in (self.thread_map, self.index_map) for row in f.table() for v in row):
            _refuse("threads and indices are counted from 0", "out-of-range", self, "no negative value")
        if forward is not None and replicate > 1:
            self._check_index(forward)

    def _check_index(self, forward):
        """A copy has the index of its element."""
        every = _map((*self.shape, self.replicate), lambda *x: _tuple(forward(*x)[1])).table()
        if every != [i for i in self.index_map.table() for _ in range(self.replicate)]:
            _refuse(
                "the index depends on the number of the copy",
                "bad-index",
                self,
                "the same index in all copies",
            )

    @property
    def threads(self) -> int:
        """Threads that take part: one more than the largest."""
        return self.thread_map.codomain[0]

    @property
    def index_shape(self) -> tuple:
        """Extents of the index axes."""
        return self.index_map.codomain

    def places(self, *point) -> list:
        """[(thread, index), ...] of one element, one per copy."""
        index = self.index_map(*point)
        return [(self.thread_map(*point, r)[0], index) for r in range(self.replicate)]

    def corr(self):
        """The LayoutCorr logical <- (element, copy) -> (thread, *index)."""
        from .maps import LayoutCorr, Project

        box = (*self.shape, self.replicate)
        return LayoutCorr(Project(box, tuple(range(len(self.shape)))), self.place_map)

    @property
    def place_map(self):
        """(element, copy) -> (thread, *index)."""
        thread, index = self._functions
        return _map((*self.shape, self.replicate), lambda *x: (thread(x[:-1], x[-1]), *_tuple(index(x[:-1]))))

    def tables(self):
        """([[thread of copy 0, copy 1, ...] per element], [index per element]), elements row-major."""
        threads = [t for (t,) in self.thread_map.table()]
        n = self.replicate
        return [threads[i : i + n] for i in range(0, len(threads), n)], self.index_map.table()

    def is_exclusive(self) -> bool:
        """Whether no place holds two elements."""
        owner = {}
        for element, (threads, index) in enumerate(zip(*self.tables())):
            for t in threads:
                if owner.setdefault((t, index), element) != element:
                    return False
        return True

    def to_tile(self, axis="tx") -> TileLayout:
        """The TileLayout with the same places: threads on `axis`, the row-major index on m. LayoutError
        "no-tile-layout" when threads or indices are not strides of the coordinates."""
        threads, indices = self.tables()
        index = [_row_major(i, self.index_shape) for i in indices]
        first, lowest = [row[0] for row in threads], [min(row) for row in threads]
        for base, copies in ((first, threads[0]), (lowest, sorted(set(threads[0])))):
            found = _fit(base, copies, threads, index)
            if found is not None:
                return _tile(*found, Axis.get(axis))
        return _refuse("the places of the fragment are not strides of the coordinates", "no-tile-layout", self,
                       "extents that split into digits, each stepping threads or indices")  # fmt: skip

    @staticmethod
    def from_tile(layout, shape, thread="tx") -> Fragment:
        """The fragment of a TileLayout whose thread axes convert to `thread` and whose memory axis is m."""
        axes = {str(i.axis) for i in _iters(layout)} | {str(a) for a in layout.offset}
        if axes - {thread, "m"}:
            layout = layout.convert_axes(thread)
        digits, copies = (_plain(iters) for iters in (layout.shard, layout.replica))
        offset = {str(a): _int(v) for a, v in layout.offset.items() if _int(v) != 0}
        if ({axis for _, _, axis in digits} | set(offset)) - {thread, "m"}:
            _refuse("a fragment has threads and registers", "bad-axis", layout, f"axes {thread} and m")
        if {axis for _, _, axis in copies} - {thread}:
            _refuse("a copy elsewhere than in another thread is none of a fragment", "bad-axis", layout,
                    f"replicas on {thread}")  # fmt: skip
        if prod(shape) != _int(layout.size()):
            _refuse(
                "the shape has another size than the layout", "bad-shape", tuple(shape), f"{layout.size()}"
            )
        offset = {str(a): _int(v) for a, v in layout.offset.items()}

        def index(*x):
            return _moved(_row_major(x, shape), digits, "m") + offset.get("m", 0)

        def owner(*x):
            at = _moved(_row_major(x[: len(shape)], shape), digits, thread) + offset.get(thread, 0)
            return at + _moved(x[-1], copies, thread) if copies else at

        return Fragment(shape, index, owner, prod(e for e, _, _ in copies))

    def repeat(self, repeats, on_thread=False, last_first=True) -> Fragment:
        """The fragment of repeats[d] times the shape in each dimension, laid out one after another: repetition
        number k uses the registers (the threads with `on_thread`) after those of the ones before it, counted
        with the last dimension fastest (the first one when `last_first` is false)."""
        if len(repeats) != len(self.shape) or len(self.index_shape) != 1:
            _refuse("repeat takes one number per dimension and a linear index", "bad-shape", repeats,
                    f"{len(self.shape)} numbers")  # fmt: skip
        (thread, index), inner = self._functions, self.shape
        step_thread, step_index = (self.threads, 0) if on_thread else (0, self.index_shape[0])

        def number(x):
            outer = [c // n for c, n in zip(x, inner)]
            return _row_major(*((outer, repeats) if last_first else (outer[::-1], repeats[::-1])))

        def local(x):
            return tuple(c % n for c, n in zip(x, inner))

        def owner(*x):
            x, r = (x[:-1], x[-1]) if self.replicate > 1 else (x, 0)
            return thread(local(x), r) + number(x) * step_thread

        def register(*x):
            return _tuple(index(local(x)))[0] + number(x) * step_index

        return Fragment([n * r for n, r in zip(inner, repeats)], register, owner, self.replicate)

    def replicated(self, copies) -> Fragment:
        """`copies` times the threads, each group with a copy of everything."""
        (thread, index), own, step = self._functions, self.replicate, self.threads
        if copies == 1:
            return self
        return Fragment(self.shape, lambda *x: index(x), lambda *x: thread(x[:-1], x[-1] % own) + x[-1] // own * step,
                        copies * own)  # fmt: skip

    def __repr__(self):
        index = ", ".join(self.index_map.text(k) for k in range(len(self.index_shape)))
        return (f"Fragment({self.shape} -> {self.index_shape}, replicate: {self.replicate}, threads: {self.threads}, "
                f"thread: {self.thread_map.text()}, index: ({index}))")  # fmt: skip


def _iters(layout):
    return [*layout.shard, *layout.replica]


def _plain(iters):
    return [(_int(i.extent), _int(i.stride), str(i.axis)) for i in iters]


def _moved(x, iters, axis):
    """The sum of digit * stride on one axis, for the row-major digits of x."""
    digits = _split(x, [e for e, _, _ in iters])
    return sum(d * s for d, (_, s, a) in zip(digits, iters) if a == axis)


def _map(box, fn):
    from .maps import index_map

    return index_map(box, fn)


def _split(x, extents):
    """Digits of a row-major index, symbolic or not."""
    digits = []
    for e in reversed(extents):
        digits.append(x % e)
        x = x // e
    return digits[::-1]


def _strides(rows):
    """[(extent, k, stride)], slowest first, with rows[x] = the sum of digit * stride in component k for the
    row-major digits of x; None when there are none. rows[0] is 0."""
    if len(rows) == 1:
        return []
    step = rows[1]
    moving = [k for k, v in enumerate(step) if v]
    if len(moving) > 1:
        return None
    for run in range(len(rows), 1, -1):
        if len(rows) % run or not _steps(rows, run, step):
            continue
        rest = _strides(rows[::run])
        if rest is not None:
            k = moving[0] if moving else 1
            return [*rest, (run, k, step[k])]
    return None


def _steps(rows, run, step):
    """Whether every aligned run of rows goes up by `step`."""
    return all(
        row == tuple(b + x % run * s for b, s in zip(rows[x - x % run], step)) for x, row in enumerate(rows)
    )


def _fit(base, copies, threads, index):
    """(start, shard, replica) with `base` the thread of copy 0 and `copies` the first element's threads in the
    order of the replica's digits; None when they are no strides."""
    start = base[0], index[0]
    shard = _strides([(t - start[0], i - start[1]) for t, i in zip(base, index)])
    replica = _strides([(t - start[0], 0) for t in copies]) if copies[0] == start[0] else None
    around = {t - start[0] for t in copies}
    if (
        shard is None
        or replica is None
        or any({t - b for t in row} != around for row, b in zip(threads, base))
    ):
        return None
    return start, shard, replica


def _tile(start, shard, replica, axis):
    axes = axis, Axis.get("m")
    spec = [[Iter(n, s, axes[k]) for n, k, s in iters] for iters in (shard, replica)]
    return TileLayout.from_iters(*spec, {a: v for a, v in zip(axes, start) if v}).canonicalize()
