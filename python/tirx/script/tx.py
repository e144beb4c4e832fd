"""Tx: tile primitives, `Tx.copy(dst, src)`, `Tx.warp.gemm(D, A, B, C)`; signatures are the catalogue's."""

from __future__ import annotations

from .. import _ffi_api as _api
from ..errors import ScriptError, TypeMismatch
from ..ir import Buffer, BufferLoad, BufferRegion, PrimExpr
from . import index as ix
from .builder import current

_SCOPES = ("thread", "warp", "warpgroup", "cta", "cluster")
_CONTEXT = {}


def _catalogue():
    """name -> Primitive; imported on first use because the tile room imports this package's types."""
    if not _CONTEXT:
        from ..tile.primitives import CATALOGUE

        _CONTEXT["catalogue"] = CATALOGUE
    return _CONTEXT["catalogue"]


class TileOp:
    """One primitive at one scope ("": taken from the context)."""

    __slots__ = ("name", "scope", "primitive")

    def __init__(self, primitive, scope):
        self.primitive, self.name, self.scope = primitive, primitive.name, scope

    @property
    def __name__(self):
        return f"Tx.{self.scope + '.' if self.scope else ''}{self.name}"

    def __call__(self, *args, dispatch=None, workspace=None, scope=None, **kwargs):
        builder = current(self.__name__)
        span = builder.span()
        builder.on_device(f"{self.__name__}(...)")
        args = self._bind(args, kwargs, span)
        values = [self._operand(p, v, span) for p, v in zip(self.primitive.params, args)]
        config = {
            key: _config_value(value) for key, value in kwargs.items() if key not in self.primitive.params
        }
        scope = self.scope if scope is None else check_scope(scope, span)
        builder.emit(
            _api.TilePrimitiveCall(self.name, values, scope, dispatch or "", workspace or {}, config, span)
        )

    def _bind(self, args, kwargs, span):
        """Arguments in the order of the signature, defaults filled in."""
        params, defaults = self.primitive.params, self.primitive.defaults
        if len(args) > len(params):
            raise self._arity(span, f"{len(args)} arguments")
        out = list(args)
        given = params[: len(args)]
        for name in params[len(args) :]:
            if name in kwargs:
                out.append(kwargs[name])
            elif name in defaults:
                out.append(defaults[name])
            else:
                raise self._arity(span, f"no {name}")
        twice = [name for name in given if name in kwargs]
        if twice:
            raise self._arity(span, f"{twice[0]} twice")
        return out

    def _arity(self, span, found):
        defaults = self.primitive.defaults
        signature = ", ".join(f"{p}={defaults[p]}" if p in defaults else p for p in self.primitive.params)
        return TypeMismatch(
            f"the arguments of {self.__name__} do not fit its signature",
            code="tile-arguments",
            span=span,
            found=found,
            required=f"{self.name}({signature})",
        )

    def _operand(self, param, value, span):
        """A buffer becomes a region; an element of a buffer does where only a region makes sense."""
        if isinstance(value, Buffer):
            return ix.whole(value, span)
        if param not in self.primitive.regions:
            return _flag(value) if param == "axes" else _scalar(value, param, span)
        if isinstance(value, BufferLoad):
            return _point_region(value, span)
        if isinstance(value, BufferRegion) or (value is None and param in self.primitive.defaults):
            return value
        raise TypeMismatch(
            f"{param} of {self.__name__} is a buffer or a part of one",
            code="operand-not-a-buffer",
            span=span,
            found=ix.describe(value),
            required="a buffer, or buffer[a:b, ...]",
            hint=f"T.{self.name} works on values" if isinstance(value, PrimExpr) else "",
        )


def _flag(axes):
    return [axes] if isinstance(axes, int) else list(axes)


def _scalar(value, param, span):
    if value is None or isinstance(value, (bool, int, float, str, PrimExpr, BufferRegion)):
        return value
    raise TypeMismatch(
        f"{param} cannot be this",
        code="bad-operand",
        span=span,
        found=ix.describe(value),
        required="a buffer region, a value or a flag",
    )


def _point_region(load, span):
    indices = list(load.indices)
    ranges = [_api.Range(i, 1) for i in indices]
    return _api.BufferRegion(load.buffer, ranges, list(range(len(indices))), span)


def _config_value(value):
    return list(value) if isinstance(value, tuple) else value


def check_scope(scope, span) -> str:
    """An execution scope given as a string ("wg" is warpgroup)."""
    name = {"wg": "warpgroup"}.get(scope, scope)
    if name in _SCOPES:
        return name
    raise ScriptError(
        f"there is no execution scope {scope!r}",
        code="unknown-scope",
        span=span,
        found=repr(scope),
        required=", ".join(_SCOPES),
    )


class ScopeNamespace:
    """Tx.warp: the primitives at one scope."""

    def __init__(self, scope):
        self._scope = scope

    def __getattr__(self, name):
        op = _op(name, self._scope)
        if op is None:
            raise AttributeError(name)
        setattr(self, name, op)
        return op

    def __dir__(self):
        return sorted(_catalogue())


def _op(name, scope):
    primitive = _catalogue().get(name) if name[:2] != "__" else None
    return None if primitive is None else TileOp(primitive, scope)


thread, warp, warpgroup = ScopeNamespace("thread"), ScopeNamespace("warp"), ScopeNamespace("warpgroup")
cta, cluster = ScopeNamespace("cta"), ScopeNamespace("cluster")
wg = warpgroup


def __getattr__(name):
    op = _op(name, "")
    if op is None:
        raise AttributeError(f"Tx has no attribute {name!r}")
    globals()[name] = op
    return op


def __dir__():
    return sorted({*_catalogue(), *_SCOPES, "wg"})
