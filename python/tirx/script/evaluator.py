"""The interpreter's state for one function body, and how bodies and run-time blocks are run."""

from __future__ import annotations

import ast

from .. import _ffi_api as _api
from ..errors import Location, ScriptError
from . import index as ix
from .scope import MISSING, Scalar, Scope, plain
from .tables import STMT, unsupported

_Span = _api.Span
NORMAL, BREAK, CONTINUE, RETURN = range(4)


class Evaluator:
    """Runs the statements of one function (a kernel, or one expansion of an inline function).

    vars is scope.vars: the names bound in this function. result is the value of an inline's `return`.
    unrolled: whether the innermost open loop is one that was unrolled while parsing.
    """

    __slots__ = ("builder", "source", "scope", "vars", "file", "offset", "result", "inline", "unrolled")

    def __init__(self, builder, source, outer, many, inline=False):
        self.builder, self.source = builder, source
        self.scope = Scope(outer, many)
        self.vars = self.scope.vars
        self.file, self.offset = source.file, source.offset
        self.result, self.inline, self.unrolled = None, inline, False

    def span(self, n):
        off = self.offset
        return _Span(self.file, n.lineno + off, n.col_offset, n.end_lineno + off, n.end_col_offset)

    def shape(self, buffer):
        """Extents of a buffer, remembered per parse."""
        shapes = self.builder.shapes
        shape = shapes.get(buffer)
        if shape is None:
            shape = shapes[buffer] = ix.shape_of(buffer)
        return shape

    # ---- bodies ----

    def body(self, stmts) -> int:
        """Run statements in order; says how they ended (NORMAL, BREAK, CONTINUE, RETURN)."""
        builder = self.builder
        for node in stmts:
            builder.node = node
            ended = STMT[type(node)](self, node)
            if ended:
                return ended
        return NORMAL

    def block(self, node, stmts, kind, runtime=1):
        """Run statements as a run-time block and return the IR statement."""
        builder, scope = self.builder, self.scope
        builder.push()
        builder.runtime += runtime
        scope.enter(kind, node.lineno + self.offset)
        ended = self.body(stmts)
        if ended:
            self.refuse_jump(ended, kind)
        scope.exit()
        builder.runtime -= runtime
        return builder.pop(node)

    def refuse_jump(self, ended, kind):
        """A Python-level jump cannot leave a block that runs at run time."""
        what = {BREAK: "break", CONTINUE: "continue", RETURN: "return"}[ended]
        where = "an inline function" if ended == RETURN else "a loop that was unrolled while parsing"
        raise ScriptError(
            f"`{what}` of {where} inside a run-time {kind}",
            code="jump-in-block",
            span=self.builder.span(),
            found=f"a {what} that would depend on the run",
            required=f"a {what} that every execution reaches",
            hint="use T.serial(...) for a run-time loop"
            if ended != RETURN
            else "compute the value with T.Select",
        )

    # ---- names ----

    def mutable(self, name):
        """The Scalar that `name` denotes here or in an enclosing inline, or None."""
        value = self.vars.get(name, MISSING)
        if value is MISSING and self.inline:
            value = self.scope.outer.lookup(name)
        return value if type(value) is Scalar else None

    def bind_plain(self, target, value):
        """Bind comprehension targets: plain Python values, no IR."""
        if type(target) is ast.Name:
            self.vars[target.id] = plain(value)
        elif type(target) not in (ast.Tuple, ast.List):
            raise unsupported(self, target)
        else:
            for t, v in zip(target.elts, self.unpack(target, value)):
                self.bind_plain(t, v)

    def bind_target(self, target, value):
        """Bind the target of an unrolled loop or of `with ... as`: the value itself, no IR."""
        if type(target) is ast.Name:
            self.scope.define(target.id, plain(value))
        elif type(target) in (ast.Tuple, ast.List):
            for t, v in zip(target.elts, self.unpack(target, value)):
                self.bind_target(t, v)
        else:
            raise unsupported(self, target)

    def unpack(self, target, value):
        """The values for a tuple target; an error when the counts differ."""
        try:
            values = list(value)
        except TypeError:
            values = None
        if values is None or len(values) != len(target.elts):
            found = f"{len(values)} values" if values is not None else ix.describe(value)
            raise unpack_error(self, target, found, f"{len(target.elts)} values")
        return values


def unpack_error(ev, target, found, required):
    return ScriptError(
        "the values do not fit the targets",
        code="unpack",
        span=ev.span(target),
        found=found,
        required=required,
    )


def locate(error, builder):
    """Give an error that knows no source line the one being parsed."""
    if error.location is None:
        error.location = Location.of(builder.span())
    return error
