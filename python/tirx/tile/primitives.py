"""The catalogue of tile primitives: their names, operands and meaning.

A call's `args` follow the order given here. `out`: operands that are written; `regions`: operands that
must be buffer regions; the rest are expressions or flags.
"""

from __future__ import annotations


class Primitive:
    """One primitive: parameter names in order, default values of the trailing ones, written operands.
    in_place: written and read operands may overlap."""

    __slots__ = ("name", "params", "defaults", "out", "regions", "group", "doc", "in_place")

    def __init__(self, name, params, doc, group, out=None, regions=None, defaults=None, in_place=False):
        self.name, self.params, self.doc, self.group = name, tuple(params.split()), doc, group
        self.out = tuple((out or self.params[0]).split())
        self.regions = self.params if regions is None else tuple(regions.split())
        self.defaults, self.in_place = defaults or {}, in_place


CATALOGUE: dict[str, Primitive] = {}


def _add(group, name, params, doc, **kw):
    CATALOGUE[name] = Primitive(name, params, doc, group, **kw)


_add("move", "copy", "dst src", "dst = src, same shape and dtype")
_add("move", "copy_async", "dst src", "dst = src by an asynchronous engine; the kernel waits for it")
_add(
    "move",
    "permute_layout",
    "dst src",
    "dst = src where the two layouts differ; may be in place",
    in_place=True,
)
_add("matrix", "gemm", "D A B C transpose_A transpose_B alpha beta",
     "D = alpha * op(A) op(B) + beta * C", regions="D A B C",
     defaults={"transpose_A": False, "transpose_B": False, "alpha": 1.0, "beta": 0.0})  # fmt: skip
_add("matrix", "gemm_async", "C A B SFA SFB transA transB accum",
     "C (+)= A B on an asynchronous matrix engine", regions="C A B",
     defaults={"SFA": None, "SFB": None, "transA": False, "transB": False, "accum": False})  # fmt: skip
_add("fill", "fill", "dst value", "dst = value", regions="dst")
_add("fill", "memset", "dst value", "dst = value", regions="dst")
_add("fill", "zero", "dst src", "dst = 0", regions="dst", defaults={"src": None})
_add("pointwise", "cast", "dst src", "dst = src converted to dst's dtype")
for _name in ("sqrt", "exp", "exp2", "log2", "reciprocal", "silu"):
    _add("pointwise", _name, "dst src bias scale", f"dst = {_name}(src * scale + bias); src defaults to dst",
         regions="dst", defaults={"src": None, "bias": None, "scale": None})  # fmt: skip
for _name in ("add", "sub", "mul", "fdiv", "maximum", "minimum"):
    _add("pointwise", _name, "dst src1 src2", f"dst = {_name}(src1, src2); one source may be a scalar",
         regions="dst")  # fmt: skip
_add("pointwise", "fma", "dst a b c", "dst = a * b + c; factors may be scalars", regions="dst")
_add("pointwise", "select", "dst true_value false_value pred", "dst = pred ? true_value : false_value",
     regions="dst")  # fmt: skip
for _name in ("sum", "max", "min"):
    _add("reduce", _name, "dst src axes accum", f"dst = {_name} of src over axes",
         regions="dst src", defaults={"axes": -1, "accum": False})  # fmt: skip


def signature(op: str, count: int) -> tuple:
    """Parameter names of the first `count` arguments of `op` (arg0, arg1, ... for an unknown primitive)."""
    known = CATALOGUE.get(op)
    names = known.params if known else ()
    return names[:count] + tuple(f"arg{i}" for i in range(len(names), count))
