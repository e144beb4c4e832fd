"""Names: what they are bound to and how long they live.

A run-time block (the body of an `if`, `for`, `while` or `with` that becomes IR) owns the names first
bound in it: its definitions are not visible after it, and a name from outside cannot be rebound in it to
another value, because which value holds afterwards would depend on the run. Mutable scalars are the
exception that the language has for exactly this: assigning to one is a store.
"""

from __future__ import annotations

import ast
import builtins

from .. import _ffi_api as _api
from ..errors import ScriptError

MISSING = object()


class Scalar:
    """A mutable scalar: a (1,) buffer that reads as its element. auto: created by a bare assignment."""

    __slots__ = ("buffer", "auto")

    def __init__(self, buffer, auto=False):
        self.buffer, self.auto = buffer, auto

    def load(self, span):
        return _api.BufferLoad(self.buffer, [0], span)


class PythonNames:
    """The names around a Python function: closure cells (read late), defining frame, globals, builtins."""

    __slots__ = ("cells", "frame", "globals")

    def __init__(self, func, frame=None):
        self.cells = dict(zip(func.__code__.co_freevars, func.__closure__ or ()))
        self.frame = frame  # a frame, a dict, or None
        self.globals = func.__globals__

    def freeze(self):
        """Keep the frame's locals and let the frame go (a parse that happens later needs them)."""
        if self.frame is not None:
            self.frame = dict(self.frame.f_locals)
        return self

    def lookup(self, name):
        cell = self.cells.get(name)
        if cell is not None:
            try:
                return plain(cell.cell_contents)
            except ValueError:
                return MISSING
        if self.frame is not None:
            value = self._locals().get(name, MISSING)
            if value is not MISSING:
                return plain(value)
        value = self.globals.get(name, MISSING)
        if value is MISSING:
            return getattr(builtins, name, MISSING)
        return plain(value)

    def _locals(self):
        return self.frame if type(self.frame) is dict else self.frame.f_locals

    def names(self):
        """Every name in reach, for spelling suggestions."""
        inner = self._locals() if self.frame is not None else {}
        return {*self.cells, *inner, *self.globals, *vars(builtins)}


class DictNames:
    """Names given as a dict (from_source, constexpr values), over other names."""

    __slots__ = ("values", "outer")

    def __init__(self, values, outer=None):
        self.values, self.outer = values, outer

    def lookup(self, name):
        value = self.values.get(name, MISSING)
        if value is not MISSING:
            return value
        return self.outer.lookup(name) if self.outer else getattr(builtins, name, MISSING)

    def names(self):
        return {*self.values, *(self.outer.names() if self.outer else vars(builtins))}


def plain(value):
    """NumPy scalars become Python numbers (their operators would try to build arrays)."""
    if type(value).__module__ == "numpy" and hasattr(value, "item") and not getattr(value, "shape", (1,)):
        return value.item()
    return value


class Scope:
    """Names of one function body; `outer` answers for the names around it."""

    __slots__ = ("vars", "outer", "blocks", "gone", "many")

    def __init__(self, outer, many):
        self.vars, self.outer = {}, outer
        self.blocks, self.gone = [], {}
        self.many = many

    def lookup(self, name):
        value = self.vars.get(name, MISSING)
        return self.outer.lookup(name) if value is MISSING else value

    def names(self):
        return {*self.vars, *self.outer.names()}

    def define(self, name, value):
        """Bind `name` in the innermost block."""
        if self.blocks:
            saved = self.blocks[-1][2]
            if name not in saved:
                old = self.vars.get(name, MISSING)
                if old is not MISSING:
                    self._refuse_rebinding(name)
                saved[name] = old
        self.vars[name] = value

    def _refuse_rebinding(self, name):
        kind, line = self.blocks[-1][:2]
        raise ScriptError(
            f"{name} is bound outside of the {kind} at line {line} and bound again inside it",
            code="rebound-in-block",
            found=f"a second meaning of {name} that would depend on the run",
            required="another name, or a mutable scalar declared before the block",
            hint=f"declare `{name}: T.int32 = ...` before the block and assign to it inside",
        )

    def enter(self, kind, line):
        """Open a run-time block."""
        self.blocks.append((kind, line, {}))

    def exit(self):
        """Close the innermost block: its names go out of sight."""
        kind, line, saved = self.blocks.pop()
        for name, old in saved.items():
            if old is MISSING:
                del self.vars[name]
                self.gone[name] = (kind, line)
            else:
                self.vars[name] = old

    def undefined(self, name) -> ScriptError:
        """The error for a name that is not bound, saying where it was or what was meant."""
        if name in self.gone:
            kind, line = self.gone[name]
            return ScriptError(
                f"{name} is only defined inside the {kind} at line {line}",
                code="name-out-of-scope",
                found=f"a use of {name} after the {kind}",
                required="a definition that reaches this line on every path",
                hint=f"declare `{name}: T.int32` (or another dtype) before the {kind}, assign to it inside",
            )
        return ScriptError(
            f"name {name!r} is not defined",
            code="undefined-name",
            found=name,
            required="a name bound in the kernel, its closure, its module or builtins",
            hint=nearest(name, self.names()),
        )


def nearest(name, names) -> str:
    """ "did you mean ...?" with up to three close names, or an empty string."""
    from difflib import SequenceMatcher, get_close_matches

    close = get_close_matches(name, sorted(n for n in names if isinstance(n, str)), n=3)
    likeness = [SequenceMatcher(None, name, n).ratio() for n in close]
    close = [n for n, ratio in zip(close, likeness) if ratio > likeness[0] - 0.1]
    return f"did you mean {' or '.join(close)}?" if close else ""


def bound_many(source) -> frozenset:
    """Names assigned at more than one place of a function's body: the mutable scalars among bare names.

    The two arms of one `if` count once: either may be the only one that is left after folding.
    """
    if source.many is None:
        counts = _count(source.node.body)
        source.many = frozenset(n for n, times in counts.items() if times > 1)
    return source.many


def _count(body) -> dict:
    counts: dict = {}
    for stmt in body:
        _count_stmt(stmt, counts)
    return counts


def _count_stmt(stmt, counts):
    if isinstance(stmt, ast.Assign):
        for target in stmt.targets:
            _count_target(target, counts)
    elif isinstance(stmt, (ast.AugAssign, ast.AnnAssign)):
        _count_target(stmt.target, counts)
    elif isinstance(stmt, ast.If):
        then, other = _count(stmt.body), _count(stmt.orelse)
        for name in {*then, *other}:
            counts[name] = counts.get(name, 0) + max(then.get(name, 0), other.get(name, 0))
    elif isinstance(stmt, (ast.For, ast.While, ast.With)):
        for inner in stmt.body:
            _count_stmt(inner, counts)


def _count_target(target, counts):
    if isinstance(target, ast.Name):
        counts[target.id] = counts.get(target.id, 0) + 1
    elif isinstance(target, (ast.Tuple, ast.List)):
        for item in target.elts:
            _count_target(item, counts)
