"""buffer[...]: loads, regions and stores, with the checks that constants allow.

Shared by the parser (where a slice is an AST node and every index has its own span) and by helper code
that runs as ordinary Python (where a slice is a `slice` object).
"""

from __future__ import annotations

from .. import _ffi_api as _api
from ..errors import ScriptError, TypeMismatch
from ..ir import Binary, Buffer, IntImm, PrimExpr, structural_equal

_LOAD, _REGION, _RANGE = _api.BufferLoad, _api.BufferRegion, _api.Range


def const(value):
    """A Python int for a constant integer (Python or IR), else None."""
    if type(value) is int:
        return value
    if isinstance(value, IntImm) and not isinstance(value, bool):
        return value.value
    return None


def shape_of(buffer) -> tuple:
    """Extents as Python ints where constant, else expressions."""
    return tuple(plain_int(extent) for extent in buffer.shape)


def plain_int(value):
    """An int32 constant as a Python int (it converts back to the same node); anything else unchanged."""
    if isinstance(value, IntImm) and value.dtype == "int32":
        return value.value
    return value


def as_index(value, span, place="index a buffer"):
    """`value` as one index (or extent): a Python int or an integer expression."""
    if type(value) is int or isinstance(value, PrimExpr):
        return value
    if hasattr(value, "__index__") and not isinstance(value, bool):
        return value.__index__()
    raise TypeMismatch(
        f"this cannot {place}",
        code="not-an-index",
        span=span,
        found=describe(value),
        required="an integer or an integer expression",
        hint="read a one-element buffer as x[0]" if isinstance(value, Buffer) else "",
    )


def describe(value) -> str:
    """A short phrase for an evaluated value in an error."""
    if isinstance(value, Buffer):
        return f"the buffer {value.name}"
    if isinstance(value, PrimExpr):
        return f"an IR value of {value.dtype}"
    text = repr(value)
    return f"{text if len(text) < 60 else text[:57] + '...'} ({type(value).__name__})"


def is_namespace(value) -> bool:
    """T, Tx, Tx.warp, a module: named by their text in an error and not by their repr."""
    return type(value).__name__ in ("module", "ScopeNamespace")


def check_rank(buffer, count, rank, span):
    if count != rank:
        raise TypeMismatch(
            f"buffer {buffer.name} is indexed with the wrong rank",
            code="wrong-number-of-indices",
            span=span,
            found=f"{count} {'index' if count == 1 else 'indices'}",
            required=f"{rank}, one per dimension of {shape_text(buffer)}",
        )


def shape_text(buffer) -> str:
    inner = ", ".join(e.name if hasattr(e, "name") else str(e) for e in shape_of(buffer))
    return f"{buffer.name}[{inner}]"


def check_point(buffer, dim, value, extent, span):
    """A constant index lies in [0, extent)."""
    at, size = const(value), const(extent)
    if at is None or (at >= 0 and (size is None or at < size)):
        return
    raise _outside(buffer, dim, f"index {at}", size, span, negative=at < 0)


def check_slice(buffer, dim, lo, count, extent, span):
    """A constant slice lies in [0, extent] and is not empty."""
    start, n, size = const(lo), const(count), const(extent)
    if n is not None and n <= 0:
        raise TypeMismatch(
            f"an empty slice of dimension {dim} of {shape_text(buffer)}",
            code="empty-slice",
            span=span,
            found=f"{n} elements",
            required="start < stop",
        )
    if start is not None and start < 0:
        raise _outside(buffer, dim, f"a slice from {start}", size, span, negative=True)
    if n is not None and size is not None and (start or 0) + n > size:
        found = f"elements {start} to {start + n - 1}" if start is not None else f"{n} elements"
        raise _outside(buffer, dim, found, size, span, negative=False)


def _outside(buffer, dim, found, size, span, negative):
    return TypeMismatch(
        f"out of range in dimension {dim} of {shape_text(buffer)}",
        code="index-out-of-range",
        span=span,
        found=found,
        required="a non-negative index" if size is None else f"0 to {size - 1}",
        hint="indices do not count from the end: write the extent minus one" if negative else "",
    )


def extent_between(lo, hi, span):
    """hi - lo, constant when that can be seen."""
    a, b = const(lo), const(hi)
    if a is not None and b is not None and type(lo) is int and type(hi) is int:
        return b - a
    if a == 0:
        return hi
    known = linear_difference(hi, lo)
    return _api.sub(hi, lo, span) if known is None else known


def linear_difference(hi, lo):
    """hi - lo when it is a constant of linear algebra over the integers, else None.

    A legal program evaluates hi and lo without overflow, so cancelling over the integers is exact even where
    a rewritten hi could overflow ((n + 1) * 4 is not n * 4 + 4 in 32 bits, but it is n * 4 plus 4).
    """
    terms = []  # [atom, coefficient]
    base = _collect(hi, 1, terms) + _collect(lo, -1, terms)
    return base if all(coeff == 0 for _, coeff in terms) else None


def _collect(e, scale, terms) -> int:
    """Add scale * e to `terms` and return the constant part. A chain of sums is walked in a loop."""
    base = 0
    while True:
        value = const(e)
        if value is not None:
            return base + scale * value
        name = e.name if isinstance(e, Binary) and _is_signed(e.dtype) else ""
        if name in ("add", "sub"):
            base += _collect(e.b, scale if name == "add" else -scale, terms)
            e = e.a
        elif name == "mul" and const(e.b) is not None:
            e, scale = e.a, scale * const(e.b)
        elif name == "mul" and const(e.a) is not None:
            e, scale = e.b, scale * const(e.a)
        else:
            _add_term(terms, e, scale)
            return base


def _is_signed(dtype) -> bool:
    return dtype in ("int32", "int64")


def _add_term(terms, atom, scale):
    for term in terms:
        if term[0].same_as(atom) or structural_equal(term[0], atom):
            term[1] += scale
            return
    terms.append([atom, scale])


def build(buffer, items, span):
    """A load or a region. items: per dimension an index, or (lo, extent) for a slice."""
    if any(type(item) is tuple for item in items):
        ranges = [_RANGE(*i) if type(i) is tuple else _RANGE(i, 1) for i in items]
        squeezed = [d for d, i in enumerate(items) if type(i) is not tuple]
        return _REGION(buffer, ranges, squeezed, span)
    return _LOAD(buffer, items, span)


def index(buffer, keys, span):
    """`buffer[keys]` from ordinary Python: keys are indices and `slice` objects."""
    keys = keys if type(keys) is tuple else (keys,)
    shape = shape_of(buffer)
    check_rank(buffer, len(keys), len(shape), span)
    items = [_item(buffer, d, key, shape[d], span) for d, key in enumerate(keys)]
    return build(buffer, items, span)


def _item(buffer, dim, key, extent, span):
    if not isinstance(key, slice):
        value = as_index(key, span)
        check_point(buffer, dim, value, extent, span)
        return value
    if key.step not in (None, 1):
        raise strided(span)
    lo = 0 if key.start is None else as_index(key.start, span)
    count = extent_between(lo, extent if key.stop is None else as_index(key.stop, span), span)
    check_slice(buffer, dim, lo, count, extent, span)
    return (lo, count)


def strided(span):
    return ScriptError(
        "a strided slice is not a region",
        code="strided-slice",
        span=span,
        found="a slice with a step",
        required="start:stop",
        hint="buffer.sub[a::s] makes a strided view; a vector access is buffer[T.Ramp(base, stride, lanes)]",
    )


def whole(buffer, span):
    """The region that covers all of `buffer`."""
    shape = list(buffer.shape)
    return _REGION(buffer, [_RANGE(0, extent) for extent in shape], [], span)


def store(buffer, keys, value, span):
    """The statement buffer[keys] = value."""
    keys = list(keys) if isinstance(keys, (tuple, list)) else [keys]
    shape = shape_of(buffer)
    check_rank(buffer, len(keys), len(shape), span)
    if any(isinstance(k, slice) for k in keys):
        raise ScriptError(
            "a slice cannot be assigned",
            code="slice-store",
            span=span,
            found="a store to a region",
            required="one element per store",
            hint="use a tile call: Tx.fill(dst, value) or Tx.copy(dst, src)",
        )
    for dim, key in enumerate(keys):
        keys[dim] = as_index(key, span)
        check_point(buffer, dim, keys[dim], shape[dim], span)
    return _api.BufferStore(buffer, as_value(value, span), keys, span)


def as_value(value, span):
    """`value` as something an expression can be made of; an error that says what it is otherwise."""
    if isinstance(value, (PrimExpr, int, float, str)):
        return value
    if getattr(value, "shape", None) == () and hasattr(value, "item"):  # a NumPy scalar
        return value.item()
    raise not_a_value(value, span)


def not_a_value(value, span):
    hint = f"read an element: {value.name}[...]" if isinstance(value, Buffer) else ""
    return TypeMismatch(
        "this is not a value that can be computed with at run time",
        code="not-a-value",
        span=span,
        found=describe(value),
        required="a number or an IR value",
        hint=hint,
    )
