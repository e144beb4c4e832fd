"""Shared memory with padding: a linear layout and gaps, which together are not linear.

After every `interval` elements `padding` places are left free (several pairs add up), so the address of the
element at linear offset o is pad(o) = o + sum of (o // interval) * padding. Code for linear layouts must not
see such a map as one: `linear_layout()` refuses, and so does every function of this package that is handed it.
"""

from __future__ import annotations

from . import solve
from .layout import LinearLayout, linear_of, log2, refuse, whole


def _element(point, dims):
    if set(point) != set(dims):
        refuse("an element has one coordinate per dimension", "bad-coordinates", list(point), f"{list(dims)}")
    for n, x in point.items():
        if whole(x) is None or not 0 <= x < dims[n]:
            refuse(f"the coordinate of {n} is outside", "out-of-range", x, f"an int in [0, {dims[n]})")
    return point


class PaddedLayout:
    """`linear` maps "offset" (and partition, block, ...) to tensor dimensions; `pads` lists (interval, padding)
    in elements, powers of two with distinct intervals. The linear part is surjective."""

    def __init__(self, linear, pads=()):
        linear = linear_of(linear)
        if not all(isinstance(p, (tuple, list)) and len(p) == 2 for p in pads):
            refuse("a padding is an interval and a number of elements", "bad-padding", pads, "[(64, 8), ...]")
        if "offset" not in linear.in_dims:
            refuse("a shared layout has an input dimension offset", "no-dim", list(linear.in_dims), "offset")
        if not linear.is_surjective():
            refuse("some element has no place", "not-surjective", linear, "a surjective linear part")
        for interval, padding in pads:
            log2(interval, "an interval"), log2(padding, "a padding")
        if len({i for i, _ in pads}) != len(pads):
            refuse("two paddings have the same interval", "bad-padding", pads, "distinct intervals")
        self.linear, self.pads = linear, tuple(sorted(map(tuple, pads)))
        self._inverse = linear.pseudoinvert()

    def pad(self, offset) -> int:
        """Address of a linear offset."""
        return offset + sum(offset // i * p for i, p in self.pads)

    def unpad(self, address):
        """The linear offset at an address, or None when the address is padding."""
        if whole(address) is None:
            refuse("an address is a number of elements", "out-of-range", repr(address), "an int")
        low, high = 0, self.linear.in_size("offset")
        while high - low > 1:  # pad is increasing
            mid = (low + high) // 2
            low, high = (mid, high) if self.pad(mid) <= address else (low, mid)
        return low if self.pad(low) == address else None

    @property
    def size(self) -> int:
        """Elements of memory that one block and partition needs, gaps included."""
        return self.pad(self.linear.in_size("offset") - 1) + 1

    def place(self, **point) -> dict:
        """Where an element is: {"offset": padded address, ...}. Of several places the smallest."""
        at = self._inverse.apply(_element(point, self.linear.out_dims))
        return {**at, "offset": self.pad(at["offset"])}

    def element(self, offset, **others):
        """The element at a padded address, or None for padding."""
        linear = self.unpad(offset)
        return None if linear is None else self.linear.apply({"offset": linear, **others})

    def linear_layout(self) -> LinearLayout:
        """The layout when there is no padding; refused otherwise."""
        inside = [(i, p) for i, p in self.pads if i < self.linear.in_size("offset")]
        if inside:
            refuse("a padded layout is not linear", "not-linear",
                   f"padding {', '.join(f'{i}:{p}' for i, p in inside)} (interval:padding)",
                   "a layout without padding", "use .linear for offsets and .pad for addresses")  # fmt: skip
        return self.linear

    def num_consecutive(self) -> int:
        """Vector width in elements: consecutive addresses that hold consecutive elements of the first dimension."""
        return min([solve.num_consecutive(self.linear), *(i for i, _ in self.pads)])

    def slice(self, begin, shape) -> PaddedSlice:
        """The view of a box {dim: begin}, {dim: extent}; extents are powers of two that divide the begins."""
        return PaddedSlice(self, begin, shape)

    def __repr__(self):
        return f"PaddedLayout({self.linear}, {list(self.pads)})"


class PaddedSlice:
    """A box of a padded or partitioned layout. Its first element has the place `base`, padding included; the
    other input dimensions of an element are those of its place in the whole XOR those of the base: a slice that
    begins in partition 1 has the partitions rotated."""

    def __init__(self, layout, begin, shape):
        dims = layout.linear.out_dims
        if set(shape) != set(dims):
            refuse("a box has one extent per dimension", "bad-coordinates", list(shape), f"{list(dims)}")
        self.whole, self.shape = layout, {n: shape[n] for n in _element(begin, dims)}
        self.begin = {n: begin[n] for n in dims}
        for n, extent in self.shape.items():
            log2(extent, f"the extent of {n}")
            if begin[n] % extent or begin[n] + extent > dims[n]:
                refuse(f"the box is not aligned along {n}", "slice-not-a-layout",
                       f"[{begin[n]}, +{extent}) of {dims[n]}", "a multiple of the extent, inside")  # fmt: skip

    @property
    def base(self) -> dict:
        """Place of the first element."""
        return self.whole.place(**self.begin)

    def place(self, **point) -> dict:
        """Place of an element of the slice."""
        _element(point, self.shape)
        return self.whole.place(**{n: self.begin[n] + x for n, x in point.items()})

    def relative(self, **point) -> dict:
        """{dim: delta} with place = base + offset delta, base XOR the other deltas. Refused when the linear part
        mixes the bits of the base into the box (a swizzle), where no such form exists."""
        inverse = self.whole._inverse
        at_base = inverse.apply(self.begin)["offset"]
        moving = 0
        for n, bases in inverse.bases.items():
            for bit, b in enumerate(bases):
                moving |= b[list(inverse.out_dims).index("offset")] if 1 << bit < self.shape[n] else 0
        if moving & at_base:
            refuse("the slice begins inside a swizzle", "slice-not-a-layout",
                   f"offset bits {moving & at_base:#b} of the base change inside the box",
                   "a begin whose offset shares no bit with the box", "use place(), which is exact")  # fmt: skip
        return self.whole.place(**_element(point, self.shape))


def partitioned(shape, partitions, groups, dim=0, order=None, blocks=()) -> LinearLayout:
    """Shared memory in several partitions (independently addressed banks of memory): the tensor is cut along
    `dim` into partitions * groups pieces, and neighbouring pieces alternate between partitions.

    Maps (offset, partition, block) to dim0, dim1, ...; `order` lists dimensions from the most minor (row-major
    when None). `blocks` lists the bases of the block dimension, one coordinate per dimension: a CTA split, or
    zeros for a copy in several CTAs.
    """
    rank, order = len(shape), list(order or reversed(range(len(shape))))
    if whole(dim) is None or not 0 <= dim < rank or sorted(order) != list(range(rank)):
        refuse("the tensor has no such dimensions", "no-dim", f"dim={dim}, order={order}", f"among {rank}")
    if not all(isinstance(b, (tuple, list)) and len(b) == rank for b in blocks):
        refuse(
            "a basis of the blocks has one int per dimension", "bad-basis", list(blocks), f"{rank} ints each"
        )
    names = [f"dim{i}" for i in range(rank)]
    own = [s >> sum(b[i] != 0 for b in blocks) for i, s in enumerate(shape)]
    pieces = partitions * groups
    if own[dim] % pieces:
        refuse("the pieces do not divide the dimension", "bad-shape", own[dim], f"a multiple of {pieces}")
    own[dim] //= pieces
    out = LinearLayout.empty()
    for i in order:
        out = out * LinearLayout.identity_1d(own[i], "offset", names[i])
    out = out * LinearLayout.identity_1d(partitions, "partition", names[dim])
    out = out * LinearLayout.identity_1d(groups, "offset", names[dim])
    out = out.transpose_outs(names).resize_outs(dict(zip(names, shape)))
    block = LinearLayout({"block": [tuple(b) for b in blocks]}, out.out_dims)
    out = out.concat_ins(block)
    out._check_surjective()
    return out
