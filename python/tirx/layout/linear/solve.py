"""Questions about linear layouts that need elimination or factoring.

Every function is exact; where there is no answer it returns None (a division that may fail is a question) or
raises LayoutError (the caller asked for something that does not exist).
"""

from __future__ import annotations

from . import gf2
from .layout import LinearLayout, _move, linear_of, log2, refuse, whole


def invert_and_compose(inner, outer) -> LinearLayout:
    """C with outer(C(x)) = inner(x) for all x.

    Both have the same output dimensions (in any order). Refused when some image of `inner` is not an image of
    `outer`. When `outer` is not injective, the input bits of `outer` that depend on lower ones are 0 in every
    C(x), which makes C(x) the smallest solution in flattened input order.
    """
    inner, outer = linear_of(inner), linear_of(outer)
    if set(inner.out_dims) != set(outer.out_dims):
        refuse(
            "the two layouts have other outputs",
            "dims-differ",
            list(outer.out_dims),
            f"{list(inner.out_dims)}",
        )
    order = list(outer.out_dims)
    sizes = {n: max(inner.out_size(n), outer.out_size(n)) for n in order}
    left, right = inner.transpose_outs(order).resize_outs(sizes), outer.resize_outs(sizes)
    cols = []
    for c in left._cols:
        mask = right.span.solve(c)
        if mask is None:
            refuse("the outer layout does not reach every image of the inner one", "no-preimage",
                   f"{dict(zip(sizes, left._unpack(c)))} has no preimage in {outer}",
                   "image(inner) inside image(outer)")  # fmt: skip
        cols.append(mask)
    return LinearLayout._make(left._ins, outer._ins, cols)


def conversion(dst, src) -> LinearLayout:
    """Where each place of `dst` reads from: src(conversion(dst, src)(k)) = dst(k).

    Like dst.invert_and_compose(src), except that an input dimension with the same bases in both maps to
    itself: broadcast lanes and warps then keep their own copy and nothing moves across them.
    """
    dst, src = linear_of(dst), linear_of(src)
    same = [n for n in src.in_dims if n in dst.in_dims and _named_bases(src, n) == _named_bases(dst, n)]
    rest_dst, rest_src = ([n for n in x.in_dims if n not in same] for x in (dst, src))
    every = list(dst.out_dims)
    small_src = src.sublayout(rest_src, every)
    small_dst = dst.sublayout(rest_dst, every)
    if not all(
        small_src.transpose_outs(every).span.solve(c) is not None for c in _sized(small_dst, src)._cols
    ):
        return invert_and_compose(dst, src)
    moved = invert_and_compose(small_dst, small_src)
    cols = {n: _image(moved, n, src._ins) for n in rest_dst}
    cols |= {n: _own_bits(n, src._ins) for n in same}
    return LinearLayout._make(dst._ins, src._ins, [c for n in dst.in_dims for c in cols[n]])


def _sized(layout, other):
    return layout.resize_outs({n: max(layout.out_size(n), other.out_size(n)) for n in layout.out_dims})


def _named_bases(layout, dim):
    return [dict(zip(layout.out_dims, b)) for b in layout.bases[dim]]


def _identity(dims):
    return LinearLayout._make(dims, dims, [1 << i for i in range(sum(b for _, b in dims))])


def _image(layout, dim, outs):
    return [_move(c, layout._outs, outs, {}) for c in layout._columns(dim)]


def _own_bits(dim, dims):
    at = 0
    for n, b in dims:
        if n == dim:
            return [1 << (at + i) for i in range(b)]
        at += b


def pseudoinvert(layout) -> LinearLayout:
    """P with layout(P(y)) = y."""
    return invert_and_compose(_identity(layout._outs), layout)


def free_variable_masks(layout) -> dict:
    """{in_dim: mask} of the input bits whose basis depends on the bases before it: with these at 0 the layout
    is injective and has the same image."""
    layout = linear_of(layout)
    mask, out = gf2.free_mask(layout._cols), {}
    for n, b in layout._ins:
        out[n] = mask & ((1 << b) - 1)
        mask >>= b
    return out


def image_contains(layout, point) -> bool:
    """Whether some input maps to the point {out_dim: coordinate}, for instance {"row": 3, "col": 1}."""
    layout = linear_of(layout)
    if (
        not isinstance(point, dict)
        or set(point) != set(layout.out_dims)
        or None in map(whole, point.values())
    ):
        example = ", ".join(f"{n!r}: value" for n in layout.out_dims)
        refuse("a point is a dict with one coordinate per output dimension", "bad-coordinates", repr(point),
               f"{{{example}}}, the values ints")  # fmt: skip
    packed = shift = 0
    for n, b in layout._outs:
        if not 0 <= point[n] < 1 << b:
            return False
        packed |= int(point[n]) << shift
        shift += b
    return layout.span.solve(packed) is not None


def image_is_subset(a, b) -> bool:
    """Whether every image of `a` is one of `b` (same output dimensions)."""
    a = linear_of(a)
    return all(image_contains(b, dict(zip(a.out_dims, t))) for bs in a.bases.values() for t in bs)


def num_consecutive(layout) -> int:
    """The largest power of two V such that for the first input x and the first output,
    L(a*V + v, ...) = L(a*V, ...) + (v, 0, ...) for v < V: the vector width of an access."""
    layout = linear_of(layout)
    if not layout._ins or not layout._outs:
        return 1
    width = min(layout._ins[0][1], layout._outs[0][1])
    run = 0
    while run < width and layout._cols[run] == 1 << run:
        run += 1
    while run and any(c & ((1 << run) - 1) for c in layout._cols[run:]):
        run -= 1
    return 1 << run


def integer_strides(layout, out_dim=None) -> dict:
    """{in_dim: stride} with output = sum of stride * coordinate, in integers, for one output dimension.

    XOR is addition exactly when no two bases share a bit; refused otherwise, and when the bases of a
    dimension are not stride, 2*stride, 4*stride, ... Dimensions of size 1 have stride 0.
    """
    layout = linear_of(layout)
    names = list(layout.out_dims)
    if out_dim is None and len(names) != 1:
        refuse("several outputs: name one", "no-dim", names, "out_dim=")
    one = layout.sublayout(list(layout.in_dims), [out_dim or names[0]])
    seen, strides = 0, {}
    for n, b in one._ins:
        cols = one._columns(n)
        strides[n] = cols[0] if cols else 0
        if cols != [strides[n] << i for i in range(b)]:
            refuse(f"the bases of {n} are not multiples of one stride", "not-affine", cols, "s, 2s, 4s, ...")
        for c in cols:
            if seen & c:
                refuse(f"a basis of {n} shares a bit with another: XOR is not addition there", "not-affine",
                       c, "bases without common bits")  # fmt: skip
            seen |= c
    return strides


def divide_left(layout, left):
    """C with left * C == layout and the dimensions of `layout`, or None."""
    layout, left = linear_of(layout), linear_of(left)
    sizes = _fits(layout, left)
    if sizes is None:
        return None
    in_bits, out_bits, outs = sizes
    low = _field_mask(layout._outs, dict(left._outs))
    cols = []
    for n, _ in layout._ins:
        mine, theirs = layout._columns(n), left._columns(n) if n in in_bits else []
        if mine[: len(theirs)] != [_move(c, left._outs, layout._outs, {}) for c in theirs]:
            return None
        if any(c & low for c in mine[len(theirs) :]):
            return None
        cols += [_narrow(c, layout._outs, outs, out_bits) for c in mine[len(theirs) :]]
    return LinearLayout._make([(n, b - in_bits.get(n, 0)) for n, b in layout._ins], outs, cols)


def divide_right(layout, right):
    """C with C * right == layout and the dimensions of `layout`, or None."""
    layout, right = linear_of(layout), linear_of(right)
    sizes = _fits(layout, right)
    if sizes is None:
        return None
    in_bits, out_bits, outs = sizes
    low = _field_mask(layout._outs, dict(outs))
    cols = []
    for n, b in layout._ins:
        mine, theirs = layout._columns(n), right._columns(n) if n in in_bits else []
        keep = b - len(theirs)
        if any(c & ~low for c in mine[:keep]):
            return None
        if mine[keep:] != [_move(c, right._outs, layout._outs, dict(outs)) for c in theirs]:
            return None
        cols += [_move(c, layout._outs, outs, {}) for c in mine[:keep]]
    return LinearLayout._make([(n, b - in_bits.get(n, 0)) for n, b in layout._ins], outs, cols)


def _fits(layout, part):
    """(part's input bits, part's output bits, remaining outputs), or None when part is no part of layout."""
    ins, outs = dict(part._ins), dict(part._outs)
    for mine, theirs in ((layout._ins, ins), (layout._outs, outs)):
        common = [n for n, _ in mine if n in theirs]
        if common != list(theirs) or any(theirs[n] > b for n, b in mine if n in theirs):
            return None
    return ins, outs, [(n, b - outs.get(n, 0)) for n, b in layout._outs]


def _field_mask(outs, bits):
    """The low `bits[n]` bits of every output field."""
    mask = shift = 0
    for n, b in outs:
        mask |= ((1 << bits.get(n, 0)) - 1) << shift
        shift += b
    return mask


def _narrow(col, outs, new_outs, drop):
    """The fields of a column without their low `drop[n]` bits."""
    packed = shift = at = 0
    for (n, b), (_, new) in zip(outs, new_outs):
        packed |= (col >> (shift + drop.get(n, 0)) & ((1 << new) - 1)) << at
        shift, at = shift + b, at + new
    return packed


def is_trivial_over(layout, dims) -> bool:
    """Whether the layout is the identity on `dims` and mixes them with no other dimension."""
    layout = linear_of(layout)
    ins, outs = layout.in_dims, layout.out_dims
    if any(n not in ins or ins[n] != outs.get(n) for n in dims):
        return False
    rest_in, rest_out = ([n for n in x if n not in dims] for x in (ins, outs))
    diagonal = all(layout.sublayout([n], [n])._cols == tuple(_own_bits(n, [(n, log2(ins[n]))])) for n in dims)
    crossed = all(layout.sublayout_is_zero([n], [o for o in outs if o != n]) for n in dims)
    return diagonal and crossed and layout.sublayout_is_zero(rest_in, [n for n in outs if n not in rest_out])


def quotient(layout, dims):
    """The layout without `dims` when it is trivial over them, else None."""
    layout = linear_of(layout)
    if not is_trivial_over(layout, dims):
        return None
    return layout.sublayout([n for n in layout.in_dims if n not in dims],
                            [n for n in layout.out_dims if n not in dims])  # fmt: skip


def identity_prefix(layout, in_dim, out_dim):
    """(P, Q) with P the largest identity_1d(n, in_dim, out_dim) and P * Q == layout."""
    layout = linear_of(layout)
    for bits in range(min(layout._in_bits(in_dim), layout._field(out_dim)[1]), -1, -1):
        prefix = LinearLayout.identity_1d(1 << bits, in_dim, out_dim)
        rest = divide_left(layout, prefix)
        if rest is not None:
            return prefix, rest
