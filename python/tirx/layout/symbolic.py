"""Symbolic coordinates: what the function given to `index_map` computes with."""

from __future__ import annotations

from ..errors import LayoutError

_CONST, _COORD = 0, 1
_OPS = {"+": 2, "-": 3, "*": 4, "//": 5, "%": 6, "^": 7, "&": 8, "<<": 9, ">>": 10, "<": 11, "==": 12}


class _Code:
    """Hash-consed nodes (op, a, b, c), operands first; what IndexExpr stores."""

    def __init__(self):
        self.nodes, self.known = [], {}

    def node(self, op, a=-1, b=-1, c=0) -> Index:
        key = (op, a, b, c)
        if key not in self.known:
            self.known[key] = len(self.nodes)
            self.nodes.append(key)
        return Index(self, self.known[key])

    def index(self, value) -> Index:
        if isinstance(value, Index):
            if value.code is not self:
                raise LayoutError("a coordinate of one map is used in another", code="foreign-coordinate",
                                  required="only the coordinates that the function was given")  # fmt: skip
            return value
        if not hasattr(value, "__index__") or not -(1 << 63) <= value.__index__() < 1 << 63:
            raise LayoutError("an index expression is made of integers", code="not-an-integer",
                              found=repr(value), required="64-bit ints and coordinates")  # fmt: skip
        return self.node(_CONST, c=value.__index__())


def _operator(symbol, swapped=False, flip=False):
    def method(self, other):
        a, b = self.code.index(self), self.code.index(other)
        if swapped:
            a, b = b, a
        out = self.code.node(_OPS[symbol], a.id, b.id)
        return 1 - out if flip else out

    return method


class Index:
    """An integer expression over the coordinates of a box. 64-bit; see include/tirx/layout/index_dag.h."""

    __slots__ = ("code", "id")
    __hash__ = None

    def __init__(self, code, id):
        self.code, self.id = code, id

    __add__, __radd__ = _operator("+"), _operator("+", True)
    __sub__, __rsub__ = _operator("-"), _operator("-", True)
    __mul__, __rmul__ = _operator("*"), _operator("*", True)
    __floordiv__, __rfloordiv__ = _operator("//"), _operator("//", True)
    __mod__, __rmod__ = _operator("%"), _operator("%", True)
    __xor__, __rxor__ = _operator("^"), _operator("^", True)
    __and__, __rand__ = _operator("&"), _operator("&", True)
    __lshift__, __rlshift__ = _operator("<<"), _operator("<<", True)
    __rshift__, __rrshift__ = _operator(">>"), _operator(">>", True)
    __lt__, __ge__ = _operator("<"), _operator("<", False, True)
    __gt__, __le__ = _operator("<", True), _operator("<", True, True)
    __eq__, __ne__ = _operator("=="), _operator("==", False, True)

    def __or__(self, other):
        return (self ^ other) ^ (self & other)

    __ror__ = __or__

    def __neg__(self):
        return 0 - self

    def __invert__(self):
        return self ^ -1

    def __bool__(self):
        raise LayoutError("an index function cannot branch on a coordinate", code="coordinate-branch",
                          hint="multiply by comparisons, which are 1 or 0, or use Piecewise")  # fmt: skip


def trace(rank, fn):
    """(code, outputs) of fn over `rank` coordinates: four numbers per node, and output nodes."""
    code = _Code()
    coords = [code.node(_COORD, c=axis) for axis in range(rank)]
    values = fn(*coords)
    if not isinstance(values, (tuple, list)):
        values = (values,)
    outputs = [code.index(v).id for v in values]
    return [number for node in code.nodes for number in node], outputs
