"""Reading back what `str(layout)` wrote."""

from __future__ import annotations

import ast

from ..errors import LayoutError
from .notation import Axis, R, S
from .tile import ComposeLayout, Layout, TileLayout


def parse(text: str) -> Layout:
    """The layout that `str(layout)` or `repr(layout)` wrote (constants only)."""
    names = {"S": S, "R": R, "TileLayout": TileLayout, "ComposeLayout": ComposeLayout, **Axis._known}
    allowed = (ast.Expression, ast.Add, ast.MatMult, ast.USub, ast.BinOp, ast.UnaryOp, ast.Tuple, ast.Load,
               ast.Subscript, ast.Slice, ast.Name, ast.Constant, ast.Call)  # fmt: skip
    try:
        tree = ast.parse(text.strip(), mode="eval")
        for node in ast.walk(tree):
            if isinstance(node, ast.operator | ast.unaryop):
                continue  # named by the expression that has it
            known = not isinstance(node, ast.Name) or node.id in names
            known = known and isinstance(getattr(node, "op", ast.Add()), allowed)
            plain = not isinstance(node, ast.Constant) or type(node.value) is int
            if not (isinstance(node, allowed) and known and plain):
                raise SyntaxError(f"{ast.unparse(node)} is not layout notation")
        value = eval(
            compile(tree, "<layout>", "eval"), {"__builtins__": {}}, names
        )  # names and shape checked
    except (SyntaxError, TypeError, AttributeError) as e:
        raise LayoutError(
            "this is no layout", code="bad-notation", found=f"{text!r}: {e}",
            required="S[shape : strides] + R[extents : strides] + offset, for instance "
            "S[(8, 4) : (4@laneid, 1)] + R[2 : 4@warpid]",
        ) from None  # fmt: skip
    return value if isinstance(value, Layout) else TileLayout(value)
