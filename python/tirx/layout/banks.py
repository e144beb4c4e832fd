"""Shared-memory banks and access widths as questions about layouts (include/tirx/layout/banks.h).

Shared memory has 32 banks of 4 bytes. One access of a warp is served in phases of 32 lanes (up to 4 bytes
per lane), 16 lanes (8 bytes) or 8 lanes (16 bytes); a phase takes as many wavefronts as the busiest bank has
distinct words, because lanes that touch one word are served together. (CUDA C++ Best Practices Guide, 9.2.3)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from .. import _ffi_api as _api
from ..errors import LayoutError
from .definition import placements
from .given import bits_of, integer, integers, refuse, sequence
from .tile import ComposeLayout, Layout, TileLayout, call

WARP, BANKS, BANK_BYTES = 32, 32, 4


# ---- accesses ----


class Access:
    """One access of a warp: which elements of a tile each lane touches.

    lanes: a tuple per lane of linear element indices (empty: the lane takes no part), all of one length;
    width: bytes per lane, 1, 2, 4, 8 or 16; bits: of an element; name: for reports.
    """

    __slots__ = ("lanes", "bits", "width", "name")

    def __init__(self, lanes, dtype, width=None, shape=None, name=""):
        """lanes: per lane an element, a list of elements or None; or a TileLayout on m that maps (lane,
        position) to a linear element index. An element is a linear index or, with `shape`, a coordinate. One
        element with a larger `width` means the row-major run that starts there."""
        if isinstance(lanes, Layout):
            lanes = _lanes_of(lanes, dtype, width)
        self.bits, self.name = bits_of(dtype), str(name)
        if width is not None:
            width = integer(width, "the width of an access")
        shape = None if shape is None else integers(shape, "the shape")
        lanes = sequence(lanes, "what the lanes touch")
        rows = [[] if e is None else [_index(x, shape) for x in _listed(e, shape)] for e in lanes]
        counts = {len(r) for r in rows if r}
        if len(counts) != 1 or len(rows) > WARP:
            refuse("every lane of a warp touches the same number of elements", "bad-access",
                    f"{len(rows)} lanes with {sorted(counts)} elements", "at most 32 lanes and one count")  # fmt: skip
        count = counts.pop()
        self.width = _whole_bytes(count * self.bits) if width is None else width
        per_lane, rest = divmod(self.width * 8, self.bits)
        if count == 1 and per_lane > 1:
            rows = [[r[0] + j for j in range(per_lane)] if r else [] for r in rows]
        elif rest or count != per_lane:
            refuse("the width is not that of the lane's elements", "bad-access",
                    f"{count} elements of {self.bits} bits", f"{self.width} bytes")  # fmt: skip
        self.lanes = tuple(map(tuple, rows))

    @property
    def per_lane(self) -> int:
        """Elements per lane."""
        return self.width * 8 // self.bits

    def flat(self) -> list:
        """The elements of lane 0, lane 1, ...; -1 for lanes that take no part."""
        idle = (-1,) * self.per_lane
        return [x for row in self.lanes for x in (row or idle)]

    def __repr__(self):
        active = sum(1 for row in self.lanes if row)
        return f"Access({self.name + ': ' if self.name else ''}{active} lanes of {self.width} bytes)"


def _listed(entry, shape):
    single = isinstance(entry, tuple) if shape is not None else not isinstance(entry, (list, tuple))
    return [entry] if single else sequence(entry, "what a lane touches")


def _index(element, shape) -> int:
    if shape is None:
        if integer(element, "an element without a shape") < 0:
            refuse("an element has a linear index", "out-of-range", f"{element}", "0 or more")
        return integer(element, "an element")
    element = integers(element, "an element's coordinate")
    if len(element) != len(shape) or any(not 0 <= c < n for c, n in zip(element, shape)):
        refuse("the access names an element outside the shape", "out-of-range", f"{tuple(element)}",
                f"a coordinate in {tuple(shape)}")  # fmt: skip
    x = 0
    for c, n in zip(element, shape):
        x = x * n + c
    return x


def _whole_bytes(bits) -> int:
    if bits % 8:
        refuse("a lane accesses whole bytes", "bad-access", f"{bits} bits", "a multiple of 8 bits")
    return bits // 8


def _lanes_of(layout, dtype, width):
    """Per lane the element indices that a (lane, position) -> m layout names."""
    (size, places) = layout.size(), placements(layout)
    lanes = min(WARP, size) if width is None else size * bits_of(dtype) // (8 * width)
    if any(len(p) != 1 or any(axis != "m" for place in p for axis, _ in place) for p in places):
        refuse("a map of lanes to elements names one element index on m", "bad-access", f"{layout}",
                "one place on m per (lane, position)")  # fmt: skip
    found = [dict(next(iter(p))).get("m", 0) for p in places]
    if not lanes or size % lanes:
        refuse("a map of lanes to elements covers whole lanes", "bad-access", f"{size} positions",
                f"a multiple of {lanes or 1} lanes")  # fmt: skip
    return [found[k : k + size // lanes] for k in range(0, size, size // lanes)]


_OWNER_AXES = ("warpid", "laneid")


def fragment_accesses(fragment, dtype, width=None, name="") -> list:
    """The accesses that move a register fragment: one per warp and group of registers.

    `fragment` maps elements to threads (laneid with warpid or wid_in_wg, or tid_in_wg) and registers (m, in
    elements); each access moves the elements in `width` bytes of consecutive registers of every lane (default:
    one element). Registers that a lane does not hold make the lane idle.
    """
    width = bits_of(dtype) // 8 if width is None else integer(width, "the width of an access")
    per, rest = divmod(width * 8, bits_of(dtype))
    if rest or per < 1:
        refuse("a width is that of whole elements", "bad-access", f"{width} bytes of {dtype}", "a multiple")
    held: dict = {}
    for x, places in enumerate(placements(fragment)):
        for place in places:
            warp, lane, register = _owner(dict(place))
            held.setdefault((warp, register // per), {}).setdefault(lane, {})[register % per] = x
    out = []
    for (warp, number), lanes in sorted(held.items()):
        rows = [[lanes[k][j] for j in sorted(lanes[k])] if k in lanes else None for k in range(WARP)]
        out.append(Access(rows, dtype, name=f"{name or 'access'} {number} of warp {warp}"))
    return out


def _owner(place):
    """(warp, lane, register) of one place."""
    thread = place.pop("laneid", 0) + place.pop("tid_in_wg", 0) + place.pop("tx", 0)
    thread += WARP * (place.pop("warpid", 0) + place.pop("wid_in_wg", 0)) + 128 * place.pop("wgid", 0)
    register = place.pop("m", 0)
    if place:
        refuse("a fragment is distributed over the threads of a CTA", "bad-access", f"axis {next(iter(place))}",
                "laneid, warpid, wid_in_wg, tid_in_wg, wgid, tx and m")  # fmt: skip
    return thread // WARP, thread % WARP, register


# ---- conflicts ----


@dataclass(frozen=True)
class BankWord:
    """A 4-byte word that lanes of one phase touch."""

    phase: int
    bank: int
    word: int
    lanes: tuple


@dataclass(frozen=True)
class BankReport:
    """What one access of a warp costs in shared memory.

    wavefronts: cycles; ideal: one per phase; conflicts: their difference (what the simulator counts as
    bank_conflicts); width: bytes per lane; phases: wavefronts of each; words: every BankWord.
    """

    width: int
    phases: tuple
    words: tuple

    @property
    def wavefronts(self) -> int:
        """Cycles that the access takes."""
        return sum(self.phases)

    @property
    def ideal(self) -> int:
        """Cycles without conflicts: one per phase with an active lane."""
        return len(self.phases)

    @property
    def conflicts(self) -> int:
        """Extra cycles."""
        return self.wavefronts - self.ideal

    @property
    def banks(self) -> list:
        """For each of the 32 banks its BankWords, by phase and address: what a drawing needs."""
        out = [[] for _ in range(BANKS)]
        for w in self.words:
            out[w.bank].append(w)
        return out

    def to_dict(self) -> dict:
        """JSON-able: {"width", "wavefronts", "ideal", "conflicts", "phases", "banks": [{"bank", "phase",
        "word", "lanes"}]}."""
        words = [
            {"bank": w.bank, "phase": w.phase, "word": w.word, "lanes": list(w.lanes)} for w in self.words
        ]
        return {"width": self.width, "wavefronts": self.wavefronts, "ideal": self.ideal,
                "conflicts": self.conflicts, "phases": list(self.phases), "banks": words}  # fmt: skip

    def __str__(self):
        return (f"{self.width} bytes per lane: {self.wavefronts} wavefronts, {self.ideal} without conflicts, "
                f"{self.conflicts} conflicts")  # fmt: skip


def bank_conflicts(layout, access, dtype=None, width=None, base=0) -> BankReport:
    """What one access of a warp to a tile in shared memory costs.

    access: an Access, or what Access takes (then with dtype and, if wanted, width in bytes); base: byte address
    of the layout's memory coordinate 0. The layout is static, on m, with one place per element. LayoutError
    when the elements of a lane are not neighbours in memory or do not start at a multiple of the width.
    """
    if not isinstance(access, Access):
        if dtype is None:
            refuse("the element type of the access is not given", "bad-access", "dtype=None", "dtype=")
        access = Access(access, dtype, width)
    addresses = call(_api.layout_lane_addresses, layout, access.flat(), access.per_lane, access.bits, base)
    return bank_phases(addresses, access.width)


def bank_phases(addresses, width) -> BankReport:
    """The same for byte addresses, one per lane (None: the lane takes no part)."""
    return _report(width, iter(list(call(_api.bank_phases, addresses, width))))


def wavefronts(addresses, width) -> tuple:
    """(wavefronts, ideal) of byte addresses, one per lane, without the banks."""
    return tuple(_api.bank_wavefronts(addresses, width))


def _report(width, numbers) -> BankReport:
    phases, words = [], []
    for _ in numbers:
        phases.append(next(numbers))
        for _ in range(next(numbers)):
            word, lanes = next(numbers), next(numbers)
            touching = tuple(k for k in range(WARP) if lanes >> k & 1)
            words.append(BankWord(len(phases) - 1, word % BANKS, word, touching))
    return BankReport(width, tuple(phases), tuple(words))


# ---- widths ----


class Width(int):
    """Bytes of an access; `elements`, and `limit`: what forbids twice the width."""

    def __new__(cls, nbytes, elements, limit):
        self = int.__new__(cls, nbytes)
        self.elements, self.limit = elements, limit
        return self


def vector_width(layout, dim=-1, alignment=16, *, dtype, shape=None, limit=16, analyzer=None) -> Width:
    """The widest access along dimension `dim`, in bytes: every aligned run of that many bytes is consecutive
    in the memory of one owner and starts at a multiple of its size.

    alignment: bytes that divide the address of memory coordinate 0; shape: the tile's (default: the shard
    extents); limit: widest access of the machine. Symbolic strides and offsets count with what `analyzer`
    proves. LayoutError "no-access" when not even one element can be accessed in whole bytes.
    """
    shape = [it.extent for it in _tile(layout).shard] if shape is None else sequence(shape, "the shape")
    found = call(_api.layout_widest_access, layout, shape, dim, bits_of(dtype), alignment, limit, analyzer)
    return Width(found[0], found[1], str(found[2]))


def aligned_elements(bits, alignment, granule, divisors) -> int:
    """The largest power of two of elements, `granule` at most, that divides each of `divisors` (in elements; 0 is
    divided by all) and whose bits divide `alignment` bytes; 0 when one element is not aligned."""
    return _api.aligned_elements(bits, alignment, granule, divisors)


def _tile(layout):
    tile = layout.tile_layout if isinstance(layout, ComposeLayout) else layout
    if not isinstance(tile, TileLayout):
        refuse(
            "a width is that of a layout", "unknown-layout", f"{layout!r}", "a TileLayout or a ComposeLayout"
        )
    return tile


# ---- choosing a layout ----


@dataclass(frozen=True)
class Candidate:
    """A layout that choose_swizzle considered. padding: bytes beyond the elements; conflicts: per access, or
    None when it cannot be made; why: in words why it was chosen or lost."""

    name: str
    layout: object
    padding: int
    conflicts: tuple
    why: str

    @property
    def conflict_free(self) -> bool:
        """Whether every access was possible and took the ideal number of wavefronts."""
        return all(c == 0 for c in self.conflicts)


class SwizzleChoice:
    """Answer of choose_swizzle. layout: the chosen one, None when no candidate is conflict-free; best: the chosen
    candidate, or the one with the fewest conflicts; candidates: all of them, best first."""

    def __init__(self, candidates):
        self.candidates, self.best = candidates, candidates[0]
        self.layout = self.best.layout if self.best.conflict_free else None

    @property
    def conflict_free(self) -> bool:
        """Whether a layout without conflicts was found."""
        return self.layout is not None

    def __str__(self):
        head = f"{self.best.name}: {self.best.layout}"
        if not self.conflict_free:
            head = f"no candidate is conflict-free; the best is {head}"
        lost = [f"  {c.name}: {c.why}" for c in self.candidates[1:]]
        return "\n".join([head, f"  {self.best.why}", *lost])


def choose_swizzle(dtype, shape, accesses, *, padding=True, hardware=False) -> SwizzleChoice:
    """The layout of a shared tile under which no access has bank conflicts, with the least padding.

    shape: (..., rows, columns); accesses: Access objects (or what Access takes) on the row-major linear index of
    `shape`. Candidates in order of preference at equal padding: row-major, the layouts of the tensor cores and
    TMA (`mma_shared_layout`), xor swizzles of a row-major tile, and (with `padding`) padded rows. `hardware`
    keeps only those that TMA and the tensor cores read. Every candidate is reported with what it lost by.
    """
    shape, accesses = list(integers(shape, "the shape")), sequence(accesses, "the list of accesses")
    accesses = [a if isinstance(a, Access) else Access(a, dtype) for a in accesses]
    if not shape or min(shape) < 1 or not accesses:
        refuse("a layout is chosen for a tile and its accesses", "bad-shape",
                f"shape {tuple(shape)}, {len(accesses)} accesses", "positive extents, at least one access")  # fmt: skip
    for a in accesses:
        if a.bits != bits_of(dtype) or max(a.flat()) >= prod(shape):
            refuse("an access is not one of this tile", "bad-access", f"{a!r} of {a.bits}-bit elements",
                   f"elements of {dtype} below {prod(shape)}")  # fmt: skip
    from .candidates import proposals

    scored = []
    for rank, (name, layout) in enumerate(proposals(dtype, shape, accesses, padding, hardware)):
        scored.append((_score(name, layout, dtype, prod(shape), accesses), rank))
    scored.sort(key=lambda s: (*_cost(s[0]), s[1]))
    best = scored[0][0]
    return SwizzleChoice([_worded(c, best) for c, _ in scored])


def _score(name, layout, dtype, size, accesses) -> Candidate:
    if isinstance(layout, LayoutError):
        return Candidate(name, None, 0, (None,) * len(accesses), f"does not exist: {layout.message}")
    spare, conflicts, why = (layout.span() - size) * bits_of(dtype) // 8, [], ""
    for k, a in enumerate(accesses):
        try:
            taken, ideal = _api.layout_wavefronts(layout, a.flat(), a.per_lane, a.bits, 0, a.width)
            conflicts.append(taken - ideal)
        except LayoutError as e:
            conflicts.append(None)
            why = why or f"access {a.name or k} is impossible: {e.message}"
    return Candidate(name, layout, spare, tuple(conflicts), why)


def _cost(c):
    impossible = sum(x is None for x in c.conflicts)
    return impossible, sum(x or 0 for x in c.conflicts), c.padding


def _worded(c, best):
    if c.why:
        return c
    total = sum(c.conflicts)
    why = f"{total} conflicts in {len(c.conflicts)} accesses, {c.padding} bytes of padding"
    if c is not best:
        why += _lost_by(c, best, total)
    return Candidate(c.name, c.layout, c.padding, c.conflicts, why)


def _lost_by(c, best, total):
    if total > sum(x or 0 for x in best.conflicts):
        return ": more conflicts"
    return ": more padding" if c.padding > best.padding else ": later in the order of preference"
