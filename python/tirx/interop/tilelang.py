"""Fragments of TileLang (the package `tilelang`).

A fragment is read from what TileLang prints of it, which holds the whole map, so that no object of the other
package is needed: tilelang 0.1.15 pins a tvm_ffi older than ours, and the two do not load into one process.
`fragment_source` writes the constructor call to run on the other side.
"""

from __future__ import annotations

import ast
import re

from ..errors import LayoutError, absent
from ..layout.fragment import Fragment

_FORM = re.compile(r"Fragment\((\(.*?\)) -> \(.*?\), replicate: (\d+), thread: \w+, forward_thread: (.*), "
                   r"forward_index: (\(.*\))\)$")  # fmt: skip
_FIRST = ord("i")


def _where(condition, a, b):
    return b + (a - b) * condition


# What TileLang prints besides the operators. Truncated division is not among them: it is no floor.
_FUNCTIONS = {
    "bitwise_xor": lambda a, b: a ^ b,
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "shift_left": lambda a, b: a << b,
    "shift_right": lambda a, b: a >> b,
    "min": lambda a, b: _where(a < b, a, b),
    "max": lambda a, b: _where(a < b, b, a),
    "if_then_else": _where,
    "Select": _where,
}
_NODES = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.USub, ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod,
          ast.Tuple, ast.Compare, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq, ast.Load, ast.Name,
          ast.Constant)  # fmt: skip


def _bad(text, found):
    raise LayoutError("this is no TileLang fragment that can be read", code="bad-notation", found=f"{found} in {text}",
                      required="Fragment(shape -> shape, replicate: .., forward_thread: .., forward_index: ..) with "
                      "+ - * // %, comparisons, T.bitwise_*, T.shift_*, T.min, T.max and T.if_then_else")  # fmt: skip


def _checked(tree, names, text):
    """Whether every node may be evaluated; T.name(..) calls are turned into name(..)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if name not in _FUNCTIONS or ast.unparse(node.func) != f"T.{name}" or node.keywords:
                _bad(text, ast.unparse(node.func))
            node.func = ast.copy_location(ast.Name(name, ast.Load()), node.func)
    for node in ast.walk(tree):
        known = not isinstance(node, ast.Name) or node.id in names or node.id in _FUNCTIONS
        whole = not isinstance(node, ast.Constant) or type(node.value) is int
        if not (isinstance(node, (*_NODES, ast.Call)) and known and whole):
            _bad(text, ast.unparse(node))


def _function(source, names, text):
    """A Python function of the named coordinates."""
    try:
        tree = ast.parse(source, mode="eval")
    except SyntaxError:
        _bad(text, source)
    _checked(tree, names, text)
    code = compile(ast.fix_missing_locations(tree), "<tilelang>", "eval")
    return lambda *x: eval(
        code, {"__builtins__": {}, **_FUNCTIONS}, dict(zip(names, x))
    )  # nodes were checked


def from_tilelang(fragment) -> Fragment:
    """The fragment of a TileLang Fragment object, or of the text that it prints."""
    text = fragment if isinstance(fragment, str) else repr(fragment)
    form = _FORM.match(text.strip())
    if form is None:
        _bad(text, "another form")
    shape, replicate, thread, index = form.groups()
    shape, replicate = ast.literal_eval(shape), int(replicate)
    names = [f"_{chr(_FIRST + k)}" for k in range(len(shape))]
    both = [*names, "_rep"] if replicate > 1 else names
    return Fragment(shape, _function(index, names, text), _function(thread, both, text), replicate)


class _Text:
    """A coordinate that records what is computed with it, as Python source."""

    def __init__(self, text):
        self.text = text

    def _binary(symbol, swapped=False):
        def method(self, other):
            a, b = self.text, other.text if isinstance(other, _Text) else repr(int(other))
            return _Text(f"({b} {symbol} {a})" if swapped else f"({a} {symbol} {b})")

        return method

    __add__, __radd__ = _binary("+"), _binary("+", True)
    __sub__, __rsub__ = _binary("-"), _binary("-", True)
    __mul__, __rmul__ = _binary("*"), _binary("*", True)
    __floordiv__, __rfloordiv__ = _binary("//"), _binary("//", True)
    __mod__, __rmod__ = _binary("%"), _binary("%", True)
    __xor__, __rxor__ = _binary("^"), _binary("^", True)
    __and__, __rand__ = _binary("&"), _binary("&", True)
    __lshift__, __rshift__ = _binary("<<"), _binary(">>")

    def __str__(self):
        return self.text


def fragment_source(fragment) -> str:
    """`Fragment(shape, forward_fn=lambda ...: (thread, [index, ...]), replicate=...)`, for tilelang.layout.Fragment
    with `convert` as tvm_ffi.convert. Maps that compare or choose have no such text."""
    names = [f"i{k}" for k in range(len(fragment.shape))]
    coordinates, copy = [_Text(n) for n in names], _Text("rep")
    thread, index = fragment._functions
    try:
        where, at = thread(tuple(coordinates), copy), index(tuple(coordinates))
    except TypeError as e:
        raise LayoutError("the fragment's map cannot be written for TileLang", code="no-source", found=str(e),
                          required="+ - * // % ^ & << >>") from None  # fmt: skip
    at = ", ".join(map(str, at if isinstance(at, (tuple, list)) else (at,)))
    names += ["rep"] if fragment.replicate > 1 else []
    return (f"Fragment({list(fragment.shape)}, forward_fn=lambda {', '.join(names)}: ({where}, convert([{at}])), "
            f"replicate={fragment.replicate})")  # fmt: skip


def to_tilelang(fragment):
    """TileLang's Fragment object, in a process where that package is installed."""
    try:
        import tvm_ffi
        from tilelang.layout import Fragment as Theirs
    except ImportError:
        raise absent("tilelang", "tilelang.layout", "run fragment_source(fragment) where it is") from None
    return eval(fragment_source(fragment), {"Fragment": Theirs, "convert": tvm_ffi.convert})
