"""Functions that kernels expand in place: @T.inline, @T.macro, and the classes of @T.meta_class."""

from __future__ import annotations

import ast

from ..errors import Location, ScriptError, TirxError
from ..ir import Buffer, BufferLoad, PrimExpr
from . import source as src
from .builder import current
from .evaluator import Evaluator, locate
from .freeze import frozen, frozen_deep
from .index import const
from .scope import MISSING, PythonNames, Scalar, bound_many
from .tables import evaluate
from .values import MetaVar


class Inline:
    """A function whose body is expanded where a kernel calls it (@T.inline, @T.macro).

    Names follow Python: parameters, then assignments of the body, then the names around the definition,
    read when the call is expanded (late binding). A parameter that receives a mutable scalar stands for
    that scalar: assigning to it is a store.
    """

    def __init__(self, name, source, names, defaults=(), kwdefaults=None, hygienic=True):
        self.__name__, self._source, self.names = name, source, names
        self.defaults, self.kwdefaults = tuple(defaults or ()), dict(kwdefaults or {})
        self.hygienic = hygienic

    @property
    def source(self):
        if not isinstance(self._source, src.Source):
            self._source = src.of_function(self._source)
        return self._source

    def __get__(self, obj, owner=None):
        return self if obj is None else BoundInline(self, obj)

    def __call__(self, *args, **kwargs):
        return self.expand(args, kwargs)

    def expand(self, args, kwargs):
        """Run the body with these arguments; the value of its `return`, or None."""
        builder = current(f"the inline function {self.__name__}")
        source = self.source
        bound = bind_arguments(self, source.node.args, args, kwargs)
        names = self.names if self.hygienic else CallerNames(builder, self.names)
        ev = Evaluator(builder, source, names, bound_many(source), inline=True)
        places = _places(source)
        for name, value in bound.items():
            ev.vars[name] = _parameter_value(builder, name, value, name in places)
        return self._run(builder, ev)

    def _run(self, builder, ev):
        saved = builder.source, builder.node, builder.hint, builder.evaluator
        context = builder.arguments, builder.past_end
        builder.inlines += 1
        if builder.inlines > 64:
            raise ScriptError(
                f"{self.__name__} expands itself without end",
                code="inline-recursion",
                found=f"{builder.inlines} nested expansions",
                required="at most 64",
                hint="an inline function is expanded while parsing; recursion must end on Python values",
            )
        builder.source, builder.hint, builder.evaluator = ev.source, None, ev
        builder.arguments = builder.past_end = False
        try:
            ev.body(ev.source.node.body)
        except TirxError as error:
            locate(error, builder)
            builder.source, builder.node = saved[:2]
            error.notes.append((Location.of(builder.span()), f"while expanding {self.__name__}, called here"))
            raise
        finally:
            builder.source, builder.node, builder.hint, builder.evaluator = saved
            builder.arguments, builder.past_end = context
            builder.inlines -= 1
        return frozen_deep(builder, ev.result)


class BoundInline:
    """An inline method with its object."""

    __slots__ = ("inline", "obj")

    def __init__(self, inline, obj):
        self.inline, self.obj = inline, obj

    @property
    def __name__(self):
        return self.inline.__name__

    def __call__(self, *args, **kwargs):
        return self.inline.expand((self.obj, *args), kwargs)


class CallerNames:
    """Names of the calling evaluator first, then those around the definition (a non-hygienic macro)."""

    def __init__(self, builder, names):
        self.caller, self.own = builder.evaluator.scope, names

    def lookup(self, name):
        value = self.caller.lookup(name)
        return self.own.lookup(name) if value is MISSING else value

    def names(self):
        return {*self.caller.names(), *self.own.names()}


def _parameter_value(builder, name, value, is_place):
    """What a parameter stands for: a scalar itself, an element when the body uses it as a place, else the value
    that the argument has at the call."""
    if type(value) is MetaVar:
        return value.value
    if isinstance(value, BufferLoad):
        if len(value.buffer.shape) == 1 and _is_one_element(value.buffer):
            return Scalar(value.buffer)
        return value if is_place else frozen(builder, value, name)
    return frozen(builder, value, name) if isinstance(value, PrimExpr) else frozen_deep(builder, value)


def _places(source) -> set:
    """Names that the body hands to T.address_of or an instruction, which may write there or take the address."""
    if source.places is None:
        calls = (c for c in ast.walk(source.node) if isinstance(c, ast.Call) and _is_instruction(c.func))
        source.places = {a.id for c in calls for a in c.args if isinstance(a, ast.Name)}
    return source.places


def _is_instruction(func) -> bool:
    parts = []
    while isinstance(func, (ast.Attribute, ast.Subscript)):
        parts.append(func.attr if isinstance(func, ast.Attribute) else "")
        func = func.value
    return bool({"address_of", "ptx", "cuda"} & {*parts})


def _is_one_element(buffer: Buffer):
    return const(buffer.shape[0]) == 1 and buffer.scope in ("local", "shared", "shared.dyn")


def bind_arguments(inline, spec, args, kwargs) -> dict:
    """Arguments by parameter name, as Python binds them; TypeError when they do not fit."""
    positional = [a.arg for a in [*spec.posonlyargs, *spec.args]]
    bound = dict(zip(positional, args))
    extra = args[len(positional) :]
    if extra and not spec.vararg:
        raise TypeError(f"{inline.__name__}() takes {len(positional)} arguments, {len(args)} were given")
    if spec.vararg:
        bound[spec.vararg.arg] = tuple(extra)
    rest = {}
    known = {*positional, *(a.arg for a in spec.kwonlyargs)}
    for name, value in kwargs.items():
        if name in bound:
            raise TypeError(f"{inline.__name__}() got {name} twice")
        (bound if name in known else rest)[name] = value
    if spec.kwarg:
        bound[spec.kwarg.arg] = rest
    elif rest:
        raise TypeError(f"{inline.__name__}() has no parameter {sorted(rest)[0]}")
    if inline.defaults:
        for name, value in zip(positional[-len(inline.defaults) :], inline.defaults):
            bound.setdefault(name, value)
    for name, value in inline.kwdefaults.items():
        bound.setdefault(name, value)
    missing = [n for n in [*positional, *(a.arg for a in spec.kwonlyargs)] if n not in bound]
    if missing:
        raise TypeError(f"{inline.__name__}() needs {', '.join(missing)}")
    return bound


def inline(func=None):
    """Decorator: calls of the function in a kernel expand its body there (names as in Python, late)."""
    if func is None:
        return inline
    return Inline(func.__name__, func, PythonNames(func), func.__defaults__, func.__kwdefaults__)


def macro(func=None, *, hygienic=True):
    """Decorator: like inline; hygienic=False looks names up at the call first."""
    if func is None:
        return lambda f: macro(f, hygienic=hygienic)
    return Inline(func.__name__, func, PythonNames(func), func.__defaults__, func.__kwdefaults__, hygienic)


def meta_class(cls):
    """Decorator: instances are values of the parser (their methods run while parsing)."""
    cls._is_meta_class = True
    return cls


def nested_function(ev, n) -> Inline:
    """An @T.inline or @T.macro function defined inside a kernel: sees the kernel's names, late."""
    for decorator in n.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        if evaluate(ev, call.func if call else decorator) in (inline, macro):
            options = {k.arg: evaluate(ev, k.value) for k in call.keywords} if call else {}
            source = src.Source(ev.file, n, ev.offset)
            defaults = [evaluate(ev, d) for d in n.args.defaults]
            kw = {a.arg: evaluate(ev, d) for a, d in zip(n.args.kwonlyargs, n.args.kw_defaults) if d}
            return Inline(n.name, source, ev.scope, defaults, kw, **options)
    raise ScriptError(
        "a function defined inside a kernel is an inline function",
        code="nested-function",
        span=ev.span(n),
        found=f"def {n.name} without @T.inline",
        required="@T.inline above the def",
    )
