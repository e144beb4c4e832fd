"""The function under construction: a stack of statement lists, and where in the source we are.

Everything that a kernel calls (T.alloc_buffer, Tx.copy, methods of buffers, helper classes) finds the
builder of the running parse with `current()` and emits statements into it.
"""

from __future__ import annotations

import threading

from .. import _ffi_api as _api
from ..errors import ScriptError

_Span = _api.Span


class _Local(threading.local):
    builder = None


_LOCAL = _Local()


class Builder:
    """One function under construction.

    stmts: the innermost open statement list. source, node: the text and AST node being executed (the span
    of what is emitted). hint: names for what the next definition creates (from the assignment's target).
    runtime: number of open blocks that run a run-time number of times (if, for, while).
    """

    __slots__ = (
        "stmts", "stack", "source", "node", "hint", "fresh", "runtime", "params", "buffers",
        "symbols", "attrs", "entry", "needs_entry", "shapes", "ifs", "inlines", "evaluator",
        "past_end", "pointers", "born", "arguments",
    )  # fmt: skip

    def __init__(self, source):
        self.stmts, self.stack, self.ifs = [], [], []
        self.source, self.node, self.hint, self.fresh = source, source.node, None, []
        self.runtime, self.inlines, self.evaluator = 0, 0, None
        self.pointers = set()  # variables that hold an address which the program computed
        self.born = {}  # id of a Python container -> (it, the statement list and run-time depth of its creation)
        self.arguments = False  # inside the arguments of a call
        self.past_end = False  # inside the arguments of a call with oob=
        self.params, self.buffers, self.symbols = [], [], {}
        self.attrs, self.shapes = {}, {}
        self.entry, self.needs_entry = None, None

    def span(self, node=None):
        """Span of an AST node of the current source (of the one being executed by default)."""
        n = self.node if node is None else node
        off = self.source.offset
        return _Span(self.source.file, n.lineno + off, n.col_offset, n.end_lineno + off, n.end_col_offset)

    def emit(self, stmt):
        """Append a statement to the innermost open list."""
        self.stmts.append(stmt)

    def push(self):
        """Open a nested statement list."""
        self.stack.append(self.stmts)
        self.stmts = []

    def pop(self, node=None):
        """Close the innermost list and return its statement."""
        body = _api.SeqStmt(self.stmts, self.span(node))
        self.stmts = self.stack.pop()
        return body

    def note(self, container):
        """Remember where a Python container was made, and return it."""
        self.born[id(container)] = (container, self.stmts, self.runtime)
        return container

    def is_local(self, container) -> bool:
        """Whether a container was made in the innermost run-time block, so that it can change there: every execution
        of the block begins with a new one."""
        _, stmts, runtime = self.born.get(id(container), (None, None, 0))
        if runtime != self.runtime:
            return False
        return self.stmts is stmts or any(open_list is stmts for open_list in self.stack)

    def name(self, default: str) -> str:
        """The name for a single new definition: the assignment's target, else `default`."""
        hint = self.hint
        if type(hint) is list:
            return hint.pop(0) if hint else default
        return hint or default

    def names(self, count: int, default: str) -> list:
        """Names for `count` definitions made together (`bx, by = T.cta_id(...)`)."""
        hint = self.hint
        if type(hint) is list and len(hint) == count:
            return hint
        base = hint if type(hint) is str else default
        return [base] if count == 1 else [f"{base}_{i}" for i in range(count)]

    def on_device(self, what: str):
        """Remember the first statement that only makes sense after T.device_entry()."""
        if self.entry is None and self.needs_entry is None:
            self.needs_entry = (self.span(), what)

    def __enter__(self):
        self.stack.append(_LOCAL.builder)
        _LOCAL.builder = self
        return self

    def __exit__(self, *_):
        _LOCAL.builder = self.stack.pop(0)


def active():
    """The builder of the running parse, or None."""
    return _LOCAL.builder


def current(what: str = "this") -> Builder:
    """The builder of the running parse; an error outside of one."""
    builder = _LOCAL.builder
    if builder is None:
        raise ScriptError(
            f"{what} only works while a kernel is being parsed",
            code="outside-kernel",
            found="a call from ordinary Python code",
            required="a call inside @T.prim_func (or from a helper that a kernel calls)",
        )
    return builder


def here():
    """Span of the code being parsed, or None outside of a parse."""
    builder = _LOCAL.builder
    return None if builder is None else builder.span()
