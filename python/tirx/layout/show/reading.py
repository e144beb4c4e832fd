"""Reading layouts, shapes and swizzles that a person typed: errors point at the place.

Beside the notation of `str(layout)`, layouts may be written as the paper prints them: `(8,2,4,2):(4@lane,1@warp,1@lane,
1@reg) + [2:4@warp] + 5@warp`.
"""

from __future__ import annotations

import ast
import difflib
import re
import warnings

from ...errors import LayoutError
from ..notation import Axis
from ..parsing import parse

# Names of axes in the paper.
PAPER = {"lane": "laneid", "warp": "warpid", "reg": "m", "Lane": "TLane", "Col": "TCol"}
_BUILDERS = ("S", "R", "TileLayout", "ComposeLayout")
_LONGEST = 4000
_OTHER = (ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift, ast.BitOr, ast.BitXor,
          ast.BitAnd, ast.And, ast.Or, ast.UAdd, ast.Invert, ast.Not)  # fmt: skip
_CUTE = (
    "((2,4),8):((1,2),16) is CuTe's notation: tirx.layout.cute.CuteLayout.parse reads it, see docs/cute.md"
)
_SYMBOLIC = (
    "in Python extents and strides may be variables: S[(n, 4) : (4, 1)] with n = tirx.ir.Var('n', 'int32')"
)
_EXAMPLE = "S[shape : strides] + R[extents : strides] + offset, for instance S[(8, 4) : (4@laneid, 1)]"


def read_layout(text: str):
    """The layout of a piece of notation. LayoutError "bad-notation" carries the text with carets under the fault;
    what the algebra refuses (two strides for three extents) keeps its own code and points at the term."""
    if len(str(text)) > _LONGEST:
        raise LayoutError("this is no layout", code="bad-notation", found=f"{len(str(text))} characters",
                          required=f"at most {_LONGEST}")  # fmt: skip
    source = _Source(text)
    tree = source.tree()
    numbers = set(_numbers(tree))
    for node in ast.walk(tree):
        source.check(node, node in numbers)
    return source.evaluate(tree)


class _Source:
    """The text as typed, the Python expression it stands for, and the column of each character between them."""

    def __init__(self, text):
        self.text = " ".join(str(text).split())
        self.code, self.columns = _paper_form(self.text)

    def fail(self, message, start, stop, hint="", code="bad-notation", required=_EXAMPLE):
        raise LayoutError(
            message, code=code, found=caret(self.text, start, stop), required=required, hint=hint
        )

    def column(self, at):
        """Column in the typed text of column `at` of the expression."""
        return self.columns[at] if at < len(self.columns) else len(self.text)

    def span(self, node):
        """[start, stop) of a node in the typed text; ast counts bytes."""
        start, last = (len(self.code.encode()[:at].decode(errors="ignore"))
                       for at in (node.col_offset, node.end_col_offset - 1))  # fmt: skip
        return self.column(start), self.column(last) + 1

    def tree(self):
        try:
            with warnings.catch_warnings():  # "8laneid": the error says it
                warnings.simplefilter("ignore")
                return ast.parse(self.code, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
            ended = getattr(e, "offset", 1) == 0  # where the text ends
            at = len(self.text) if ended else self.column(max(0, (getattr(e, "offset", 1) or 1) - 1))
            why = getattr(e, "msg", "it is nested too deeply") if self.text else "nothing was written"
            self.fail(f"this is no layout: {why}", at, at + 1)

    def check(self, node, number=False):
        """Fails for a node that layouts do not have; `number`: it stands where an extent or a value stands."""
        if isinstance(node, ast.Name) and node.id not in _BUILDERS:
            self._check_name(node, number)
        elif number and isinstance(getattr(node, "op", None), ast.MatMult):
            self.fail("a number is on one axis", *self.span(node), "", "two-axes", "number@axis")
        elif number and isinstance(node, ast.Tuple):
            self.fail("extents are one list, without lists inside", *self.span(node), _CUTE)
        elif isinstance(getattr(node, "op", ast.Add()), _OTHER):
            self.fail("layouts are written with + and @ only", *self.span(node), "write the number itself")
        elif isinstance(node, ast.Constant) and (type(node.value) is not int or node.value >= 1 << 63):
            self.fail("a layout is written with integers of 64 bits", *self.span(node))
        elif isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
            head = node.func if isinstance(node, ast.Call) else node.value
            if not (isinstance(head, ast.Name) and head.id in _BUILDERS) or isinstance(node, ast.Attribute):
                self.fail("this is not layout notation", *self.span(node))

    def _check_name(self, node, number):
        known = node.id in PAPER or node.id in Axis._known
        if number:
            self.fail("a name stands where a number belongs", *self.span(node), _SYMBOLIC, "not-an-integer",
                      "an integer: the command line takes numbers")  # fmt: skip
        elif not known:
            near = difflib.get_close_matches(node.id, list(Axis._known), 3, 0.5)
            hint = f"did you mean {' or '.join(near)}?" if near else f"axes: {', '.join(Axis._known)}"
            required = (
                "a registered axis" if near else "a registered axis, or a number: variables are for Python"
            )
            self.fail("no axis of this name", *self.span(node), hint, "unknown-axis", required)

    def evaluate(self, tree):
        """The value of the whole, or the error of the smallest term that fails by itself."""
        try:
            return parse(ast.unparse(_Renamed().visit(tree)))
        except LayoutError as e:
            term = self._culprit(tree, e)
            found, hint = caret(self.text, *self.span(term)), e.found if "\n" not in e.found else e.hint
            raise LayoutError(e.message, code=e.code, found=found, required=e.required, hint=hint) from None

    def _culprit(self, tree, error):
        terms = [n for n in ast.walk(tree) if isinstance(n, (ast.Subscript, ast.Call))]
        alone = [n for n in terms if isinstance(n, ast.Subscript) and n.value.id in ("S", "R")]
        for n in alone:
            code = ast.unparse(n)
            try:
                parse(code if n.value.id == "S" else f"S[1:1] + {code}")
            except LayoutError as e:
                if e.code == error.code:
                    return _part(n, e.code)
        return tree


def _part(term, code):
    """The part of S[..] or R[..] that an error is about."""
    pairs = term.slice
    if code == "stride-count" and isinstance(pairs, ast.Slice):
        return pairs.upper or term
    if code == "bad-extent":
        extents = pairs.lower if isinstance(pairs, ast.Slice) else pairs
        items = extents.elts if isinstance(extents, ast.Tuple) else [extents]
        return next((n for n in items if _value(n) < 1), term)
    return term


def _value(node):
    """Of a constant with signs; 1 for anything else."""
    if isinstance(node, ast.UnaryOp):
        return -_value(node.operand)
    return getattr(node, "value", 1)


def _numbers(tree):
    """Nodes that stand for a number: extents, and what is left of an @."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield node.left
        elif isinstance(node, ast.Subscript):
            extents = node.slice.lower if isinstance(node.slice, ast.Slice) else node.slice
            yield from extents.elts if isinstance(extents, ast.Tuple) else [extents]


class _Renamed(ast.NodeTransformer):
    """The paper's axis names become the registered ones."""

    def visit_Name(self, node):
        if node.id in Axis._known:
            return node
        return ast.copy_location(ast.Name(PAPER.get(node.id, node.id), ast.Load()), node)


def caret(text, start, stop) -> str:
    """`text` and, below it, carets under [start, stop)."""
    return f"{text}\n{' ' * start}{'^' * max(1, stop - start)}"


def _paper_form(text):
    """(expression, columns): terms `(..):(..)` become S[..], terms `[..]` become R[..]."""
    out, columns = "", []

    def put(piece, at):
        nonlocal out
        out += piece
        columns.extend(at + i if len(piece) > 1 else at for i in range(len(piece)))

    for start, stop in _terms(text):
        term = text[start:stop]
        inner = len(term) - len(term.lstrip())
        first, end = start + inner, start + len(term.rstrip())
        body = text[first:end]
        if body[:1] == "[":
            put("R", first)
        shard = re.match(r"[(\d]", body) and ":" in body
        if shard:
            put("S", first), put("[", first)
        for i in range(first, end):
            put(text[i], i)
        if shard:
            put("]", end - 1)
        if stop < len(text):
            put("+", stop)
    return out, columns


def _terms(text):
    """[start, stop) of the terms of a sum, at its outermost level."""
    depth = start = 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "+" and depth == 0:
            yield start, i
            start = i + 1
    yield start, len(text)


def read_ints(text, what, example):
    """ "8,16" or "(8, 16)" or "8x16" as a list of ints."""
    listed = re.sub(r"(?<=\d)\s*x\s*(?=-?\d)", ",", str(text).strip("()[] ")).removesuffix(",")
    parts = re.split(r"\s*,\s*|\s+", listed.strip())
    for p in parts:
        if not re.fullmatch(r"-?[0-9]{1,19}", p):
            piece = f"{p!r} in {text!r}" if len(parts) > 1 else repr(text)
            raise LayoutError(f"{what} is a list of integers", code="not-an-integer", found=piece,
                              required=f"for instance {example}")  # fmt: skip
    return [int(p) for p in parts]


def read_shape(text):
    """Extents of a shape, or None for an empty text."""
    return tuple(read_ints(text, "a shape", "8,16")) if text and str(text).strip() else None
