"""Linear algebra over GF(2) on matrices stored as a list of columns, each an int whose bit i is row i.

Sums are XOR. Of several answers the one in which later columns are used least is taken, so that every function
is deterministic: a column is a pivot exactly when it is independent of the columns before it.
"""

from __future__ import annotations


class Echelon:
    """A growing span. `add(v)` says whether v was new; `solve(v)` names the added columns that XOR to v."""

    __slots__ = ("_rows", "count")

    def __init__(self, columns=()):
        self._rows = {}  # highest bit -> (reduced vector, mask of the columns it is the XOR of)
        self.count = 0
        for c in columns:
            self.add(c)

    def add(self, v) -> bool:
        """Append a column; False when it depends on the columns before it."""
        v, mask = self._reduce(v)
        if v:
            self._rows[v.bit_length()] = v, mask ^ (1 << self.count)
        self.count += 1
        return v != 0

    def _reduce(self, v):
        mask = 0
        for top in range(v.bit_length(), 0, -1):
            if v >> (top - 1) & 1 and top in self._rows:
                row, used = self._rows[top]
                v, mask = v ^ row, mask ^ used
        return v, mask

    def solve(self, v):
        """Mask of pivot columns whose XOR is v, or None when v is not in the span."""
        rest, mask = self._reduce(v)
        return None if rest else mask

    @property
    def rank(self) -> int:
        return len(self._rows)


def rank(columns) -> int:
    """Dimension of the span."""
    return Echelon(columns).rank


def apply(columns, x) -> int:
    """XOR of the columns at the set bits of x."""
    out = 0
    for c in columns:
        if x & 1:
            out ^= c
        x >>= 1
    return out


def free_mask(columns) -> int:
    """Bit i: column i depends on the columns before it."""
    span, mask = Echelon(), 0
    for i, c in enumerate(columns):
        mask |= (not span.add(c)) << i
    return mask


def kernel(columns) -> list:
    """A basis of {x : apply(columns, x) = 0}, one vector per free column, in reduced form: each vector has one
    free bit that no other vector has."""
    span, basis = Echelon(), []
    for i, c in enumerate(columns):
        mask = span.solve(c)
        span.add(c)
        if mask is not None:
            basis.append(mask | 1 << i)
    return basis


def reduced(vectors) -> list:
    """The reduced row echelon form of a span, leading bits descending: equal spans, equal lists."""
    basis = []
    for v in vectors:
        for b in basis:
            v = min(v, v ^ b)
        if v:
            basis = [min(b, b ^ v) if b >> (v.bit_length() - 1) & 1 else b for b in basis] + [v]
    return sorted(basis, reverse=True)
