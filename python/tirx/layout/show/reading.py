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
_EXAMPLE = "S[shape : strides] + R[extents : strides] + offset, for instance S[(8, 4) : (4@laneid, 1)]"


def read_layout(text: str):
    """The layout of a piece of notation. LayoutError "bad-notation" carries the text with carets under the fault;
    what the algebra refuses (two strides for three extents) keeps its own code and points at the term."""
    if len(str(text)) > _LONGEST:
        raise LayoutError("this is no layout", code="bad-notation", found=f"{len(str(text))} characters",
                          required=f"at most {_LONGEST}")  # fmt: skip
    source = _Source(text)
    tree = source.tree()
    for node in ast.walk(tree):
        source.check(node)
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
            at = self.column(max(0, (getattr(e, "offset", 1) or 1) - 1))
            why = getattr(e, "msg", "it is nested too deeply") if self.text else "nothing was written"
            self.fail(f"this is no layout: {why}", at, at + 1)

    def check(self, node):
        if isinstance(node, ast.Name) and node.id not in _BUILDERS and node.id not in PAPER:
            if node.id not in Axis._known:
                near = difflib.get_close_matches(node.id, list(Axis._known), 3, 0.5)
                hint = f"did you mean {' or '.join(near)}?" if near else f"axes: {', '.join(Axis._known)}"
                self.fail("no axis of this name", *self.span(node), hint, "unknown-axis", "a registered axis")
        elif isinstance(node, ast.Constant) and (type(node.value) is not int or node.value >= 1 << 63):
            self.fail("a layout is written with integers of 64 bits", *self.span(node))
        elif isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
            head = node.func if isinstance(node, ast.Call) else node.value
            if not (isinstance(head, ast.Name) and head.id in _BUILDERS) or isinstance(node, ast.Attribute):
                self.fail("this is not layout notation", *self.span(node))

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
                    return n
        return tree


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
    parts = [p for p in re.split(r"[,x\s]+", str(text).strip("()[] ")) if p]
    if not parts or not all(re.fullmatch(r"-?\d+", p) for p in parts):
        raise LayoutError(f"{what} is a list of integers", code="not-an-integer", found=repr(text),
                          required=f"for instance {example}")  # fmt: skip
    return [int(p) for p in parts]


def read_shape(text):
    """Extents of a shape, or None for an empty text."""
    return tuple(read_ints(text, "a shape", "8,16")) if text and str(text).strip() else None
