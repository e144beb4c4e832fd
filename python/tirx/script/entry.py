"""Decorators: from a Python function to a PrimFunc, and functions that kernels expand in place."""

from __future__ import annotations

import ast
import sys

from .. import _ffi_api as _api
from ..errors import InternalError, Location, ScriptError, TirxError
from ..ir import IRModule, PrimFunc, Var
from . import assign, control  # noqa: F401  (they fill the table of statements)
from . import source as src
from .builder import Builder
from .evaluator import Evaluator, locate
from .scope import DictNames, PythonNames, bound_many
from .tables import evaluate
from .values import BufferAnnotation, Constexpr, DType, Handle, check_dtype, make_buffer

CONSTEXPR = Constexpr()


def prim_func(func=None, *, private=False, check_well_formed=True):
    """Decorator: parse the function now and return its PrimFunc.

    private: a fragment for other code (a dispatch rule's body): it may lack T.device_entry().
    check_well_formed: False skips the checks of the whole function.
    """
    if func is None:
        return lambda f: _parse_here(f, sys._getframe(1), private or not check_well_formed)
    return _parse_here(func, sys._getframe(1), private or not check_well_formed)


def _parse_here(func, frame, fragment):
    if not hasattr(func, "__code__"):
        raise ScriptError(
            "@T.prim_func decorates a function",
            code="not-a-function",
            found=repr(func),
            required="a function",
        )
    with src.paused_gc():
        return parse(src.of_function(func), PythonNames(func, frame), fragment)


class Jit:
    """A kernel with compile-time parameters: `.specialize(N=1024)` parses it with them bound."""

    def __init__(self, func, frame, fragment=False):
        self.func, self.fragment = func, fragment
        self.names = PythonNames(func, frame).freeze()
        self._specialized = {}
        self.__name__, self.__doc__ = func.__name__, func.__doc__

    def constexprs(self) -> dict:
        """Name -> default (T.constexpr when there is none) of the keyword-only parameters."""
        given = self.func.__kwdefaults__ or {}
        keyword_only = src.of_function(self.func).node.args.kwonlyargs
        return {a.arg: given.get(a.arg, CONSTEXPR) for a in keyword_only}

    def specialize(self, **values) -> PrimFunc:
        """The PrimFunc for these values of the T.constexpr parameters; cached per value."""
        known = self.constexprs()
        self._check(values, known)
        values = {**{k: v for k, v in known.items() if v is not CONSTEXPR}, **values}
        key = _cache_key(values)
        found = self._specialized.get(key) if key is not None else None
        if found is None:
            with src.paused_gc():
                found = parse(src.of_function(self.func), DictNames(values, self.names), self.fragment)
            if key is not None:
                self._specialized[key] = found
        return found

    def _check(self, values, known):
        extra = sorted(set(values) - set(known))
        missing = sorted(k for k, v in known.items() if v is CONSTEXPR and k not in values)
        if extra or missing:
            raise ScriptError(
                f"specialize() of {self.__name__} needs one value per T.constexpr parameter",
                code="specialize-arguments",
                span=_def_location(src.of_function(self.func)),
                found=f"missing {missing}" if missing else f"unknown {extra}",
                required=f"values for {sorted(known)}",
            )

    def __call__(self, *args, **kwargs):
        raise ScriptError(
            f"{self.__name__} is not a kernel yet",
            code="jit-called",
            found=f"a call of {self.__name__}(...)",
            required="a kernel specialised to its T.constexpr parameters",
            hint=f"{self.__name__}.specialize(...)",
        )


def _cache_key(values):
    key = tuple(sorted((name, type(v).__name__, v) for name, v in values.items()) if values else ())
    try:
        hash(key)
        return key
    except TypeError:
        return None


def jit(func=None, *, private=False, check_well_formed=True):
    """Decorator: parsing waits for `.specialize(**constexprs)`."""
    fragment = private or not check_well_formed
    if func is None:
        return lambda f: Jit(f, sys._getframe(1), fragment)
    return Jit(func, sys._getframe(1), fragment)


def from_source(
    text: str, name: str | None = None, names: dict | None = None, file: str | None = None
) -> PrimFunc:
    """The PrimFunc of script text such as `str(func)`: only T, Tx and `names` are in scope.

    text: source with one or more `@T.prim_func` functions; name: which one (default: the last).
    """
    with src.paused_gc():
        functions = [s for s in _statements(text, file) if isinstance(s.node, ast.FunctionDef)]
        found = [s for s in functions if name in (None, s.node.name)]
        if not found:
            raise _no_function(f"no `def {name}`" if name else "no function")
        return parse(found[-1], _text_names(names), fragment=True)


def module_from_source(text: str, names: dict | None = None, file: str | None = None) -> IRModule:
    """The IRModule of script text such as `str(module)`: its functions and `T.module_attr({...})`."""
    functions, attrs = {}, {}
    with src.paused_gc():
        for source in _statements(text, file):
            if isinstance(source.node, ast.FunctionDef):
                functions[source.node.name] = parse(source, _text_names(names), fragment=True)
            else:
                attrs.update(_module_attrs(source, _text_names(names)))
    if not functions:
        raise _no_function("no function")
    return IRModule(functions, attrs)


def _statements(text, file):
    return src.of_text(text, file or f"<script {_next_number()}>")


def _text_names(names):
    from . import t, tx

    return DictNames({"T": t, "Tx": tx, **(names or {})})


def _no_function(found):
    return ScriptError(
        "there is no such function in the source",
        code="no-function",
        found=found,
        required="@T.prim_func\ndef name(...): ...",
    )


def _module_attrs(source, names) -> dict:
    """The dict of a top-level `T.module_attr({...})`."""
    builder = Builder(source)
    ev = Evaluator(builder, source, names, frozenset())
    node = source.node.value if isinstance(source.node, ast.Expr) else None
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "T.module_attr" and len(node.args) == 1:
        with builder:
            return evaluate(ev, node.args[0])
    raise ScriptError(
        "a module holds functions and T.module_attr({...})",
        code="not-in-a-module",
        span=ev.span(source.node),
        found=type(source.node).__name__,
        required="@T.prim_func functions",
    )


def _next_number():
    _next_number.count = getattr(_next_number, "count", 0) + 1
    return _next_number.count


# ---- one function ----


def parse(source, names, fragment=False) -> PrimFunc:
    """Run the function's body and return the PrimFunc. fragment: skip the checks of whole kernels."""
    builder = Builder(source)
    builder.evaluator = ev = Evaluator(builder, source, names, bound_many(source))
    with builder:
        try:
            _parameters(ev, source.node.args)
            if ev.body(source.node.body):
                raise AssertionError("a jump left the function body")
            return _finish(ev, fragment)
        except TirxError as error:
            raise locate(error, builder) from error.__cause__
        except RecursionError as error:
            raise _too_deep(builder) from error
        except Exception as error:
            where = Location.of(builder.span()).render()
            raise InternalError(f"the parser failed on this source:\n{where}") from error


def _finish(ev, fragment):
    builder, node = ev.builder, ev.source.node
    if not fragment and "tirx.stage" not in builder.attrs:
        _check_entry(builder)
    _check_symbols(builder)
    body = _api.SeqStmt(builder.stmts, ev.span(node))
    return PrimFunc(node.name, builder.params, builder.buffers, body, builder.attrs, _def_span(ev))


def _def_span(ev):
    n = ev.source.node
    line = n.lineno + ev.offset
    return _api.Span(ev.file, line, n.col_offset, line, n.col_offset + len(f"def {n.name}"))


def _def_location(source):
    n = source.node
    line = n.lineno + source.offset
    return Location(source.file, line, n.col_offset, line, n.col_offset + len(f"def {n.name}"))


def _check_entry(builder):
    if builder.entry is None and builder.needs_entry is not None:
        span, what = builder.needs_entry
        raise ScriptError(
            "this kernel has no T.device_entry()",
            code="missing-device-entry",
            span=span,
            found=f"{what} before any T.device_entry()",
            required="T.device_entry() between the argument bindings and the kernel",
            hint="write T.device_entry() after the last T.match_buffer",
        )


def _check_symbols(builder):
    """Every symbolic extent is a whole dimension of some parameter (that is where its value comes from)."""
    if not builder.symbols:
        return
    defined = [e for b in builder.buffers if b is not None for e in b.shape if isinstance(e, Var)]
    for var, span in builder.symbols.items():
        if not any(var.same_as(e) for e in defined):
            raise ScriptError(
                f"the symbolic extent {var.name} is not defined by any parameter",
                code="unbound-symbol",
                span=span,
                found=f"{var.name} = T.{var.dtype}()",
                required=f"a buffer parameter with {var.name} as one of its dimensions",
                hint=f"pass it as a scalar parameter: `{var.name}: T.{var.dtype}`",
            )


def _too_deep(builder):
    """A RecursionError of the evaluator: how deep the statement's expressions are nested."""
    depth, level = 0, [builder.node]
    while level:
        depth += 1
        level = [c for n in level for c in ast.iter_child_nodes(n)]
    return ScriptError(
        "this is nested too deeply to be parsed",
        code="expression-too-deep",
        span=builder.span(),
        found=f"source nested about {depth} levels deep",
        required="at most about 900 levels of expressions, 256 of statements",
        hint="name intermediate values with `x: T.let = ...`, or accumulate into a scalar",
    )


def _parameters(ev, args):
    if args.vararg or args.kwarg or args.defaults:
        node = args.vararg or args.kwarg or args.defaults[0]
        raise ScriptError(
            "a kernel has a fixed list of parameters",
            code="bad-parameter",
            span=ev.span(node),
            found="*args, **kwargs or a default value",
            required="annotated parameters",
        )
    for arg in [*args.posonlyargs, *args.args]:
        _parameter(ev, arg)
    for arg in args.kwonlyargs:
        if evaluate(ev, arg.annotation) is not CONSTEXPR:
            raise _bad_parameter(ev, arg, "a keyword-only parameter")


def _parameter(ev, arg):
    builder, name = ev.builder, arg.arg
    annotation = None if arg.annotation is None else evaluate(ev, arg.annotation)
    buffer, span = None, ev.span(arg)
    if isinstance(annotation, BufferAnnotation):
        var = _api.Var(name + "_handle", "handle", None, span)
        buffer = value = _param_buffer(ev, arg, annotation)
    elif isinstance(annotation, Handle):
        var = value = annotation.var(name, span)
    elif isinstance(annotation, DType):
        var = value = _api.Var(name, annotation.name, None, span)
    else:
        raise _bad_parameter(ev, arg, "no annotation" if arg.annotation is None else repr(annotation))
    builder.params.append(var)
    builder.buffers.append(buffer)
    ev.scope.define(name, value)


def _bad_parameter(ev, arg, found):
    constexpr = found == repr(CONSTEXPR)
    return ScriptError(
        f"parameter {arg.arg} has no usable annotation",
        code="bad-parameter",
        span=ev.span(arg),
        found=f"{found} on a positional parameter" if constexpr else found,
        required="T.constexpr parameters are keyword-only (after `*`), under @T.jit"
        if constexpr
        else "T.Buffer(shape, dtype), T.handle or a scalar dtype such as T.int32",
    )


def _param_buffer(ev, arg, annotation):
    shape = annotation.shape if isinstance(annotation.shape, (tuple, list)) else (annotation.shape,)
    shape = [_symbol(ev, e) if isinstance(e, str) else e for e in shape]
    options = dict(annotation.options)
    scope = options.pop("scope", "global")
    return make_buffer(
        arg.arg,
        shape,
        check_dtype(annotation.dtype),
        scope,
        span=ev.span(arg),
        **_buffer_options(ev, arg, options),
    )


_OPTIONS = {"layout": "layout", "align": "align", "elem_offset": "elem_offset"}


def _buffer_options(ev, arg, options):
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        raise ScriptError(
            f"T.Buffer has no option {unknown[0]!r}",
            code="unknown-option",
            span=ev.span(arg),
            found=unknown[0],
            required="layout, scope, align or elem_offset",
        )
    return options


def _symbol(ev, name):
    """A dimension given as a string: the symbol of that name, made on first use."""
    value = ev.vars.get(name)
    if value is None:
        value = _api.Var(name, "int32", None, ev.builder.span())
        ev.scope.define(name, value)
    return value
