"""Blocks: loops, `with T.warp():`, filters, and T.If/T.Then/T.Else for helper code in ordinary Python."""

from __future__ import annotations

from .. import _ffi_api as _api
from ..errors import ScriptError, TypeMismatch
from ..ir import PrimExpr
from .builder import current


class Loops:
    """Loops to open: [(min, extent, kind, step, dtype, annotations)], outermost first."""

    __slots__ = ("loops", "_open")

    def __init__(self, loops):
        self.loops = loops

    @classmethod
    def single(cls, kind, lo, count, *, step=None, dtype=None, annotations=None, unroll=None):
        """One loop over [lo, lo + count) in steps of `step`."""
        notes = dict(annotations or {})
        if unroll is not None:
            notes.update({"disable_unroll": True} if unroll is False else {"pragma_unroll": unroll})
        for value in (lo, count):
            if not isinstance(value, (int, PrimExpr)):
                raise _bad_bound(value)
        return cls([(lo, count, kind, step, dtype, notes)])

    def variables(self, names, span):
        """Per loop: (loop variable, what the name stands for)."""
        return [self._variable(name, loop, span) for name, loop in zip(names, self.loops)]

    def _variable(self, name, loop, span):
        lo, count, _, step, dtype, _ = loop
        var = _api.Var(name, dtype or _loop_dtype(lo, count), None, span)
        if step in (None, 1):
            return var, var
        return var, _api.add(_api.mul(var, step, span), lo, span)

    def wrap(self, variables, body, span):
        """The For statements around `body`."""
        for var, (lo, count, kind, step, _, notes) in zip(reversed(variables), reversed(self.loops)):
            if step not in (None, 1):
                lo, count = 0, _steps(count, step, span)
            body = _api.For(var, lo, count, kind, body, notes, span)
        return body

    def __enter__(self):
        """For helper code: `with T.serial(n) as i:` opens the loops and gives the variables."""
        builder = current("a loop")
        names = builder.hint if type(builder.hint) is list else ["i"] * len(self.loops)
        self._open = self.variables(names, builder.span())
        builder.push()
        builder.runtime += 1
        values = [value for _, value in self._open]
        return values[0] if len(values) == 1 else tuple(values)

    def __exit__(self, *failure):
        builder = current()
        body = builder.pop()
        builder.runtime -= 1
        builder.emit(self.wrap([var for var, _ in self._open], body, builder.span()))


def _bad_bound(value):
    return TypeMismatch(
        "a loop bound is an integer",
        code="bad-loop-bound",
        found=repr(value),
        required="an integer or an integer expression",
    )


def _loop_dtype(lo, count):
    """int32 unless a bound is wider: the dtype of the first bound that is an expression of another one."""
    for bound in (lo, count):
        if isinstance(bound, PrimExpr) and bound.dtype != "int32":
            return str(bound.dtype)
        if type(bound) is int and not -(1 << 31) <= bound < 1 << 31:
            return "int64"
    return "int32"


def _steps(count, step, span):
    """How many steps fit: ceil(count / step)."""
    if type(step) is int and step <= 0:
        raise TypeMismatch(
            "a loop counts upwards", code="bad-loop-step", found=f"step {step}", required="a positive step"
        )
    if type(count) is int and type(step) is int:
        return max(0, -(-count // step))
    return _api.floordiv(_api.sub(_api.add(count, step, span), 1, span), step, span)


class LoopKind:
    """T.serial, T.unroll, T.vectorized, T.parallel: called as range(stop) or range(start, stop)."""

    def __init__(self, kind):
        self.loop_kind = kind
        self.__name__ = kind

    def __call__(self, start, stop=None, **options):
        from .index import extent_between

        if stop is None:
            return Loops.single(self.loop_kind, 0, start, **options)
        return Loops.single(self.loop_kind, start, extent_between(start, stop, None), **options)


def grid(*extents, dtype=None):
    """Nested serial loops over [0, extent) each; one name per extent."""
    return Loops([(0, extent, "serial", None, dtype, {}) for extent in extents])


class Frame:
    """A `with` block that becomes one statement: make(body, span) builds it."""

    def __init__(self, make, runtime=0):
        self.make, self.runtime = make, runtime

    def __enter__(self):
        builder = current("a block")
        builder.push()
        builder.runtime += self.runtime

    def __exit__(self, *failure):
        builder = current()
        body = builder.pop()
        builder.runtime -= self.runtime
        builder.emit(self.make(body, builder.span()))


class ScopeFrame(Frame):
    """with T.warp(): the team that tile calls inside are made by."""

    def __init__(self, scope):
        super().__init__(lambda body, span: _api.ExecScope(scope, body, span))
        self.scope = scope

    def __enter__(self):
        current().on_device(f"with T.{self.scope}()")
        super().__enter__()


def exec_scope(scope):
    def make():
        return ScopeFrame(scope)

    make.__name__ = scope
    make.__doc__ = f"with T.{scope}(): tile calls inside without a prefix are made by one {scope}."
    return make


class FilterFrame(Frame):
    """with T.filter(cond): narrows the active set."""

    def __init__(self, cond):
        super().__init__(lambda body, span: _api.Filter(cond, body, span), runtime=1)
        self.cond = cond


def filter(*args):  # noqa: A001
    """Narrow the active set: filter(predicate), filter(id, predicate), filter(id, lo, hi): lo <= id < hi."""
    cond = _api.call("bool", "tx.filter_range", list(args), {}, _span()) if len(args) == 3 else args[-1]
    if len(args) not in (1, 2, 3) or not isinstance(cond, PrimExpr) or cond.dtype != "bool":
        raise ScriptError(
            "a filter needs a predicate on scope ids",
            code="bad-filter",
            span=_span(),
            found=", ".join(map(repr, args)),
            required="T.filter(id == value), T.filter(id, predicate) or T.filter(id, lo, hi)",
        )
    return FilterFrame(cond)


def _span():
    builder = current("T.filter")
    return builder.span()


class If:
    """with T.If(cond): with T.Then(): ...; with T.Else(): ... - a branch from helper code."""

    def __init__(self, cond):
        self.cond, self.arms = cond, [None, None]

    def __enter__(self):
        current("T.If").ifs.append(self)
        return self

    def __exit__(self, *failure):
        builder = current()
        builder.ifs.pop()
        then = self.arms[0] or _api.SeqStmt([], builder.span())
        builder.emit(_api.IfThenElse(self.cond, then, self.arms[1], builder.span()))


class _Arm(Frame):
    def __init__(self, which):
        super().__init__(None, runtime=1)
        self.which = which

    def __exit__(self, *failure):
        builder = current()
        builder.runtime -= 1
        builder.ifs[-1].arms[self.which] = builder.pop()


def Then():  # noqa: N802
    """The true arm of the innermost T.If."""
    return _Arm(0)


def Else():  # noqa: N802
    """The false arm of the innermost T.If."""
    return _Arm(1)
