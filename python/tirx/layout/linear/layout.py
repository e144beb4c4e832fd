"""LinearLayout: maps between named power-of-two coordinates that are linear over GF(2).

    LinearLayout({"register": [1, 2], "lane": [4, 8, 16]}, {"dim0": 32})

A layout is fixed by its bases, the images of single input bits; the image of a sum of bits is the XOR of their
images. The first input and the first output dimension are the most minor: flattening puts their bits lowest.
Triton calls this LinearLayout (Linear Layouts, arXiv 2505.23819); distributed tensors map hardware (register,
lane, warp, block) to tensor coordinates. Bases are packed: a basis is one int with the bits of all output
dimensions, so that composition and elimination work on machine words.

The mathematics of solving is in solve.py; this file builds, evaluates, reshapes and prints.
"""

from __future__ import annotations

import ast

from ...errors import LayoutError
from . import gf2


def refuse(message, code, found="", required="", hint=""):
    raise LayoutError(message, code=code, found=str(found), required=required, hint=hint)


def whole(x):
    """x as an int when it is a whole number (NumPy's too), else None."""
    if isinstance(x, bool) or not hasattr(x, "__index__") or getattr(x, "ndim", 0):
        return None
    return int(x)


def log2(size, what="a size") -> int:
    """Exponent of a power of two."""
    found, size = size, whole(size)
    if size is None or size < 1 or size & (size - 1):
        refuse(f"{what} of a linear layout is a power of two", "not-power-of-two", found,
               "1, 2, 4, ...", "sizes that are no powers of two: tirx.layout.linear.ModularLayout")  # fmt: skip
    return size.bit_length() - 1


def linear_of(x) -> LinearLayout:
    """A LinearLayout as it is; what can say that it is linear (padded and modular layouts) is asked and refuses
    with its reason otherwise."""
    if isinstance(x, LinearLayout):
        return x
    if not hasattr(x, "linear_layout"):
        refuse("this is no linear layout", "not-linear", type(x).__name__, "a LinearLayout")
    return x.linear_layout()


def _pairs(x):
    """The items of a dict, or the entries of a list."""
    return list(x.items()) if isinstance(x, dict) else _sequence(x, "dimensions")


def _sequence(x, what):
    if isinstance(x, str) or not hasattr(x, "__iter__"):
        refuse(f"{what} are listed", "bad-names", repr(x), "a list, a tuple or a dict")
    return list(x)


def _named(bases):
    """[(name, list of bases)]."""
    pairs = _pairs(bases)
    if not all(isinstance(p, (tuple, list)) and len(p) == 2 for p in pairs):
        refuse("bases are listed by input dimension", "bad-names", pairs, "{in_dim: [image of bit 0, ...]}")
    return [(name, _sequence(bs, f"the bases of {name}")) for name, bs in pairs]


def _basis_tuple(b, rank):
    values = [whole(v) for v in ((b,) if whole(b) is not None else _sequence(b, "the parts of a basis"))]
    if len(values) != rank or any(v is None or v < 0 for v in values):
        refuse("a basis has one non-negative int per output dimension", "bad-basis", b, f"{rank} ints")
    return tuple(values)


def _distinct(names, what):
    if not all(isinstance(n, str) for n in names) or len(set(names)) != len(names):
        refuse(f"{what} dimensions have distinct names", "bad-names", names, "different strings")


def _out_dims(out_dims, bases):
    """[(name, bits)], and whether the sizes were given."""
    dims = _pairs(out_dims)
    if all(isinstance(d, str) for d in dims):
        tops = [max((b[i] for _, bs in bases for b in bs), default=0) for i in range(len(dims))]
        return [(d, t.bit_length()) for d, t in zip(dims, tops)], False
    if not all(isinstance(d, (tuple, list)) and len(d) == 2 for d in dims):
        refuse("output dimensions are names, or names with sizes", "bad-names", out_dims,
               "['dim0', ...] or {'dim0': 32, ...}")  # fmt: skip
    return [(d, log2(size, f"the size of {d}")) for d, size in dims], True


def supremum(a, b):
    """The shortest order that has both lists in order, the first one's names first; refused when none has."""
    out, rest = [], list(b)
    for name in a:
        if name in rest:
            at = rest.index(name)
            out += [n for n in rest[:at] if n not in a]
            if any(n in a for n in rest[:at]):
                refuse("the two layouts order their dimensions differently", "dim-order",
                       f"{list(a)} and {list(b)}", "the same order of common dimensions",
                       "transpose_ins or transpose_outs")  # fmt: skip
            rest = rest[at + 1 :]
        out.append(name)
    return out + rest


class LinearLayout:
    """bases: {in_dim: [image of bit 0, image of bit 1, ...]}, an image one int per output dimension (a plain int
    when there is one). out_dims: names, with sizes inferred (then the layout must be surjective), or
    {name: size}. `require_surjective` overrides that rule. Immutable, hashable; `==` compares output sizes too.
    """

    __slots__ = ("_ins", "_outs", "_cols", "_span")

    def __init__(self, bases=(), out_dims=(), require_surjective=None):
        rank = len(_pairs(out_dims))
        bases = [(name, [_basis_tuple(b, rank) for b in bs]) for name, bs in _named(bases)]
        outs, sized = _out_dims(out_dims, bases)
        cols = [_pack(b, outs) for _, bs in bases for b in bs]
        self._set([(n, len(bs)) for n, bs in bases], outs, cols)
        if require_surjective or (require_surjective is None and not sized):
            self._check_surjective()

    def _set(self, ins, outs, cols):
        _distinct([n for n, _ in ins], "input")
        _distinct([n for n, _ in outs], "output")
        self._ins, self._outs, self._cols, self._span = tuple(ins), tuple(outs), tuple(cols), None

    @classmethod
    def _make(cls, ins, outs, cols):
        """From packed columns: ins and outs are [(name, bits)]."""
        out = cls.__new__(cls)
        out._set(ins, outs, cols)
        return out

    def _check_surjective(self):
        if not self.is_surjective():
            refuse("the bases do not reach every output", "not-surjective",
                   f"rank {self.rank} of {self.total_out_bits} output bits in {self}",
                   "a surjective layout, or out_dims with sizes and require_surjective=False")  # fmt: skip

    # Constructors -----------------------------------------------------------------------------------------

    @classmethod
    def empty(cls) -> LinearLayout:
        """No dimensions: the unit of the product."""
        return cls._make((), (), ())

    @classmethod
    def identity_1d(cls, size, in_dim, out_dim) -> LinearLayout:
        """L(x) = x for x in [0, size). Size 0 is the empty layout."""
        return cls.strided_1d(size, 1, in_dim, out_dim)

    @classmethod
    def strided_1d(cls, size, stride, in_dim, out_dim) -> LinearLayout:
        """L(x) = stride * x, both powers of two; the output has size * stride places."""
        if whole(size) == 0:
            return cls.empty()
        bits, shift = log2(size), log2(stride, "the stride")
        out_bits = bits + shift if bits else 0
        return cls._make([(in_dim, bits)], [(out_dim, out_bits)], [1 << (shift + i) for i in range(bits)])

    @classmethod
    def zeros_1d(cls, size, in_dim, out_dim, out_size=1) -> LinearLayout:
        """L(x) = 0: a broadcast."""
        if whole(size) == 0:
            return cls.empty()
        return cls._make([(in_dim, log2(size))], [(out_dim, log2(out_size))], [0] * log2(size))

    # Facts ------------------------------------------------------------------------------------------------

    @property
    def in_dims(self) -> dict:
        """{name: size} of the inputs, most minor first."""
        return {n: 1 << b for n, b in self._ins}

    @property
    def out_dims(self) -> dict:
        """{name: size} of the outputs, most minor first."""
        return {n: 1 << b for n, b in self._outs}

    @property
    def bases(self) -> dict:
        """{in_dim: [one tuple per input bit]}."""
        cols = iter(self._cols)
        return {n: [self._unpack(next(cols)) for _ in range(b)] for n, b in self._ins}

    @property
    def total_in_bits(self) -> int:
        return len(self._cols)

    @property
    def total_out_bits(self) -> int:
        return sum(b for _, b in self._outs)

    def in_size(self, dim) -> int:
        return 1 << self._in_bits(dim)

    def out_size(self, dim) -> int:
        return 1 << self._field(dim)[1]

    def _in_bits(self, dim):
        found = [b for n, b in self._ins if n == dim]
        return found[0] if found else self._unknown(dim, "input", self._ins)

    def _field(self, dim):
        """(shift, bits) of an output dimension in a packed column."""
        shift = 0
        for n, b in self._outs:
            if n == dim:
                return shift, b
            shift += b
        return self._unknown(dim, "output", self._outs)

    def _unknown(self, dim, kind, dims):
        refuse(f"the layout has no {kind} dimension {dim!r}", "no-dim", dim, f"one of {[n for n, _ in dims]}")

    def _columns(self, dim):
        at = 0
        for n, b in self._ins:
            if n == dim:
                return list(self._cols[at : at + b])
            at += b
        return self._unknown(dim, "input", self._ins)

    def _unpack(self, packed):
        out = []
        for _, b in self._outs:
            out.append(packed & ((1 << b) - 1))
            packed >>= b
        return tuple(out)

    @property
    def span(self) -> gf2.Echelon:
        """The image as a span of packed columns, in input order."""
        if self._span is None:
            self._span = gf2.Echelon(self._cols)
        return self._span

    @property
    def rank(self) -> int:
        """log2 of the number of different images."""
        return self.span.rank

    def is_surjective(self) -> bool:
        return self.rank == self.total_out_bits

    def is_injective(self) -> bool:
        return self.rank == self.total_in_bits

    def is_invertible(self) -> bool:
        return self.is_surjective() and self.is_injective()

    # Evaluation -------------------------------------------------------------------------------------------

    def apply(self, ins=None, **named) -> dict:
        """{out_dim: coordinate} of {in_dim: coordinate}; every input dimension is given, within its size."""
        if not isinstance(ins, (dict, type(None))):
            refuse("apply takes coordinates by name", "bad-coordinates", repr(ins), "{in_dim: coordinate}")
        image = gf2.apply(self._cols, self._flat({**(ins or {}), **named}))
        return dict(zip(self.out_dims, self._unpack(image)))

    __call__ = apply

    def _flat(self, ins):
        flat = shift = 0
        if set(ins) != {n for n, _ in self._ins}:
            refuse("apply takes one coordinate per input dimension", "bad-coordinates", list(ins),
                   f"{[n for n, _ in self._ins]}")  # fmt: skip
        for n, b in self._ins:
            x = whole(ins[n])
            if x is None or not 0 <= x < 1 << b:
                refuse(
                    f"the coordinate of {n} is outside", "out-of-range", ins[n], f"an int in [0, {1 << b})"
                )
            flat |= x << shift
            shift += b
        return flat

    # Algebra ----------------------------------------------------------------------------------------------

    def __mul__(self, outer) -> LinearLayout:
        """The direct sum: of common dimensions this layout has the low bits, `outer` the high ones."""
        outer = linear_of(outer)
        ins = supremum([n for n, _ in self._ins], [n for n, _ in outer._ins])
        outs = supremum([n for n, _ in self._outs], [n for n, _ in outer._outs])
        low, high = dict(self._outs), dict(outer._outs)
        out_dims = [(n, low.get(n, 0) + high.get(n, 0)) for n in outs]
        cols = []
        in_dims = []
        for n in ins:
            mine = self._columns(n) if n in dict(self._ins) else []
            theirs = outer._columns(n) if n in dict(outer._ins) else []
            cols += [_move(c, self._outs, out_dims, {}) for c in mine]
            cols += [_move(c, outer._outs, out_dims, low) for c in theirs]
            in_dims.append((n, len(mine) + len(theirs)))
        return LinearLayout._make(in_dims, out_dims, cols)

    def compose(self, outer) -> LinearLayout:
        """`outer` after this layout. `outer` takes this layout's output dimensions, in any order, of at least
        their sizes."""
        outer = linear_of(outer)
        if {n for n, _ in self._outs} != {n for n, _ in outer._ins}:
            refuse("the outer layout takes other dimensions", "dims-differ", list(outer.in_dims),
                   f"{list(self.out_dims)}")  # fmt: skip
        for n, b in self._outs:
            if b > outer._in_bits(n):
                refuse(f"the outer layout is smaller along {n}", "too-small", outer.in_size(n),
                       f"at least {1 << b}")  # fmt: skip
        images = [c for n, b in self._outs for c in outer._columns(n)[:b]]
        return LinearLayout._make(self._ins, outer._outs, [gf2.apply(images, c) for c in self._cols])

    def sublayout(self, in_dims, out_dims) -> LinearLayout:
        """The other inputs at 0, the other outputs dropped; orders and sizes stay."""
        for n in in_dims:
            self._in_bits(n)
        for n in out_dims:
            self._field(n)
        outs = [(n, b) for n, b in self._outs if n in out_dims]
        cols = [
            _move(c, self._outs, outs, {}) for n, _ in self._ins if n in in_dims for c in self._columns(n)
        ]
        return LinearLayout._make([(n, b) for n, b in self._ins if n in in_dims], outs, cols)

    def sublayout_is_zero(self, in_dims, out_dims) -> bool:
        """Whether `out_dims` do not depend on `in_dims`; true when either is empty."""
        return not any(self.sublayout(in_dims, out_dims)._cols)

    # Dimensions -------------------------------------------------------------------------------------------

    def transpose_ins(self, order) -> LinearLayout:
        """Input dimensions in another order (which matters for flattening)."""
        self._check_order(order, self._ins)
        return LinearLayout._make([(n, self._in_bits(n)) for n in order], self._outs,
                                  [c for n in order for c in self._columns(n)])  # fmt: skip

    def transpose_outs(self, order) -> LinearLayout:
        """Output dimensions in another order."""
        self._check_order(order, self._outs)
        outs = [(n, self._field(n)[1]) for n in order]
        return LinearLayout._make(self._ins, outs, [_move(c, self._outs, outs, {}) for c in self._cols])

    @staticmethod
    def _check_order(order, dims):
        if sorted(order) != sorted(n for n, _ in dims):
            refuse(
                "a new order names every dimension once", "bad-names", list(order), f"{[n for n, _ in dims]}"
            )

    def reshape_ins(self, dims) -> LinearLayout:
        """The same flat inputs over other dimensions [(name, size)], most minor first."""
        return LinearLayout._make(_reshaped(dims, self.total_in_bits), self._outs, self._cols)

    def reshape_outs(self, dims) -> LinearLayout:
        """The same flat outputs over other dimensions [(name, size)], most minor first."""
        return LinearLayout._make(self._ins, _reshaped(dims, self.total_out_bits), self._cols)

    def flatten_ins(self) -> LinearLayout:
        """One input dimension, named as the first."""
        return self.reshape_ins([(n, 1 << self.total_in_bits) for n, _ in self._ins[:1]])

    def flatten_outs(self) -> LinearLayout:
        """One output dimension, named as the first."""
        return self.reshape_outs([(n, 1 << self.total_out_bits) for n, _ in self._outs[:1]])

    def rename_ins(self, names) -> LinearLayout:
        """Input dimensions renamed by {old: new}."""
        return LinearLayout._make([(names.get(n, n), b) for n, b in self._ins], self._outs, self._cols)

    def rename_outs(self, names) -> LinearLayout:
        """Output dimensions renamed by {old: new}."""
        return LinearLayout._make(self._ins, [(names.get(n, n), b) for n, b in self._outs], self._cols)

    def concat_ins(self, other) -> LinearLayout:
        """Inputs of both over the same outputs: L(x, y) = self(x) ^ other(y)."""
        if self._outs != other._outs:
            refuse("the two layouts have other outputs", "dims-differ", other.out_dims, str(self.out_dims))
        return LinearLayout._make(self._ins + other._ins, self._outs, self._cols + other._cols)

    def resize_outs(self, sizes) -> LinearLayout:
        """Larger output dimensions {name: size} around the same image."""
        for n in sizes:
            self._field(n)
        outs = [(n, log2(sizes.get(n, 1 << b))) for n, b in self._outs]
        for (n, old), (_, new) in zip(self._outs, outs):
            if new < old:
                refuse(f"the output {n} would shrink", "too-small", 1 << new, f"at least {1 << old}")
        return LinearLayout._make(self._ins, outs, [_move(c, self._outs, outs, {}) for c in self._cols])

    # Equality and text ------------------------------------------------------------------------------------

    def __eq__(self, other):
        if not isinstance(other, LinearLayout):
            return NotImplemented
        return (self._ins, self._outs, self._cols) == (other._ins, other._outs, other._cols)

    def __hash__(self):
        return hash((self._ins, self._outs, self._cols))

    def equal_ignoring_out_sizes(self, other) -> bool:
        """Same dimensions and bases, whatever the output sizes."""
        return list(self.out_dims) == list(other.out_dims) and _items(self) == _items(other)

    def __repr__(self):
        """Reads back with `LinearLayout.parse` (and in Python): dimensions, bases and sizes are explicit."""
        return f"LinearLayout({self.bases}, {self.out_dims})"

    @classmethod
    def parse(cls, text) -> LinearLayout:
        """The layout that `str(layout)` wrote."""
        try:
            call = ast.parse(str(text).strip(), mode="eval").body
            if not (
                isinstance(call, ast.Call) and ast.unparse(call.func) == "LinearLayout" and not call.keywords
            ):
                raise SyntaxError("not LinearLayout(...)")
            bases, outs = (ast.literal_eval(a) for a in call.args)
            return cls(bases, outs, require_surjective=False)
        except (SyntaxError, ValueError, TypeError) as e:
            if isinstance(e, LayoutError):
                raise
            raise LayoutError("this is no linear layout", code="bad-notation", found=f"{text!r}: {e}",
                              required="LinearLayout({in_dim: [bases]}, {out_dim: size})") from None  # fmt: skip

    # Solving: see solve.py --------------------------------------------------------------------------------

    def invert_and_compose(self, outer) -> LinearLayout:
        """C with outer(C(x)) = self(x). See solve.invert_and_compose."""
        from . import solve

        return solve.invert_and_compose(self, outer)

    def pseudoinvert(self) -> LinearLayout:
        """P with self(P(y)) = y for every output y; the inverse when there is one. Needs surjectivity."""
        from . import solve

        return solve.pseudoinvert(self)

    def inverse(self) -> LinearLayout:
        """The inverse; refused when the layout is not invertible."""
        if not self.is_invertible():
            refuse("the layout has no inverse", "not-invertible",
                   f"rank {self.rank}, {self.total_in_bits} input and {self.total_out_bits} output bits",
                   "equal numbers, all", "pseudoinvert() inverts a surjective layout on one side")  # fmt: skip
        return self.pseudoinvert()

    def __matmul__(self, inner):
        """`self @ inner`: self after inner, as for LayoutMap."""
        return linear_of(inner).compose(self)


def _items(layout):
    return list(layout.bases.items())


def _reshaped(dims, total):
    dims = _pairs(dims)
    if not all(isinstance(d, (tuple, list)) and len(d) == 2 for d in dims):
        refuse("a reshape takes names with sizes", "bad-names", dims, "[(name, size), ...]")
    dims = [(n, log2(size)) for n, size in dims]
    if sum(b for _, b in dims) != total:
        refuse(
            "a reshape keeps the size", "bad-shape", dict((n, 1 << b) for n, b in dims), f"size {1 << total}"
        )
    return dims


def _pack(basis, outs):
    packed = shift = 0
    for v, (n, bits) in zip(basis, outs):
        if v >> bits:
            refuse(f"a basis is outside the output {n}", "out-of-range", basis, f"below {1 << bits}")
        packed |= v << shift
        shift += bits
    return packed


def _move(col, outs, new_outs, low):
    """A column repacked: its fields placed in the fields of `new_outs`, `low[n]` bits up; others dropped."""
    fields, shift = {}, 0
    for n, b in outs:
        fields[n] = col >> shift & ((1 << b) - 1)
        shift += b
    packed = shift = 0
    for n, b in new_outs:
        packed |= fields.get(n, 0) << (shift + low.get(n, 0))
        shift += b
    return packed
