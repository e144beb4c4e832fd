"""Python-side values of the script language: markers in annotations, and what T functions hand back."""

from __future__ import annotations

from .. import _ffi_api as _api
from ..errors import ScriptError, TypeMismatch
from ..ir import Call, FloatImm, IntImm, PointerType, PrimExpr, Var
from .builder import active, here
from .index import not_a_value
from .scope import nearest


class MetaVar:
    """T.meta_var(x): on assignment the name stands for the Python value x itself."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class Constexpr:
    """T.constexpr: a keyword-only parameter whose value .specialize() supplies."""

    def __repr__(self):
        return "T.constexpr"


class Let:
    """T.let or T.let[type]: an immutable definition."""

    __slots__ = ("type",)

    def __init__(self, type=None):
        self.type = type

    def __getitem__(self, item):
        return Let(item)


class LocalArray:
    """T.float32[M, N] as an annotation: storage private to a thread."""

    __slots__ = ("dtype", "shape")

    def __init__(self, dtype, shape):
        self.dtype, self.shape = dtype, shape


class BufferAnnotation:
    """T.Buffer(shape, dtype, ...) as a parameter annotation."""

    __slots__ = ("shape", "dtype", "options")

    def __init__(self, shape, dtype, options):
        self.shape, self.dtype, self.options = shape, dtype, options


class BufferType:
    """T.Buffer: call it in an annotation."""

    def __call__(self, shape, dtype="float32", **options):
        return BufferAnnotation(shape, dtype, options)


class Handle:
    """T.handle, T.handle("float16", "shared"): a pointer; as an annotation or to make a variable."""

    __slots__ = ("pointer",)

    def __init__(self, pointer=None):
        self.pointer = pointer

    def __call__(self, dtype=None, scope="global"):
        return Handle(None if dtype is None else PointerType(check_dtype(dtype), scope))

    def var(self, name, span=None):
        return Var(name, "handle", self.pointer, span)


class DType:
    """T.float32: makes constants, conversions, variables and (in annotations) scalars and arrays."""

    __slots__ = ("name", "is_float", "is_bool")

    def __init__(self, name):
        self.name = name
        self.is_float = "float" in name
        self.is_bool = name == "bool"

    def __repr__(self):
        return f"T.{self.name}"

    def __call__(self, value=None):
        if value is None:
            return self._symbol()
        if isinstance(value, PrimExpr):
            return _api.cast(self.name, value, here())
        return self._constant(value)

    def _constant(self, value):
        if not isinstance(value, (int, float, str)) and not hasattr(value, "__index__"):
            raise not_a_value(value, here())
        if "x" in self.name[3:]:
            return _api.cast(self.name, value, here())
        if self.is_float:
            return FloatImm(self.name, float(value))
        if isinstance(value, float) and not value.is_integer() or isinstance(value, str):
            raise TypeMismatch(
                f"{value!r} is not an integer",
                code="not-an-integer",
                span=here(),
                found=f"{value!r} for {self.name}",
                required="an integer constant",
            )
        return IntImm(self.name, bool(value) if self.is_bool else _wrap(int(value), self.name))

    def _symbol(self):
        """`n = T.int32()`: a symbolic extent, named after its target."""
        builder = active()
        name = builder.name("n") if builder else "n"
        var = Var(name, self.name, None, here())
        if builder:
            builder.symbols[var] = builder.span()
        return var

    def __getitem__(self, shape):
        return LocalArray(self.name, shape if isinstance(shape, tuple) else (shape,))


def _wrap(value, name):
    """uint64 constants above the int64 range are stored as their two's complement."""
    return value - (1 << 64) if name == "uint64" and value >= 1 << 63 and value < 1 << 64 else value


_KINDS = (
    ["bool", "float16", "float32", "float64", "bfloat16"]
    + [f"{s}int{b}" for s in ("", "u") for b in (8, 16, 32, 64)]
    + ["int4", "uint4", "int1", "uint1"]
    + ["float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"]
    + ["float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn"]
    + ["float4_e2m1fn"]
)
_NAMES = {"handle", *_KINDS}  # dtype names known to be good
ALIASES = {
    "f16": "float16", "f32": "float32", "f64": "float64", "bf16": "bfloat16", "i8": "int8", "i16": "int16",
    "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "boolean": "bool",
}  # fmt: skip


def dtype_constructor(name):
    """The DType for T.<name> (vector names such as float32x4 included), or None."""
    base, _, lanes = ALIASES.get(name, name).rpartition("x")
    if base in _KINDS and lanes.isdigit() and int(lanes) > 1:
        return DType(f"{base}x{int(lanes)}")
    full = ALIASES.get(name, name)
    return DType(full) if full in _KINDS else None


def check_dtype(dtype) -> str:
    """A dtype given by the user (a string, T.float32 or a dtype object) as its name."""
    if isinstance(dtype, DType):
        return dtype.name
    text = str(dtype)
    if text not in _NAMES:
        if dtype_constructor(text) is None:
            raise ScriptError(
                f"{text!r} is not a dtype",
                code="unknown-dtype",
                span=here(),
                found=repr(dtype),
                required="a dtype name such as 'float16' or 'int32x4'",
                hint=nearest(text, _KINDS),
            )
        _NAMES.add(text)
    return text


def is_number(value):
    """Whether a value can be stored in a scalar."""
    return isinstance(value, (PrimExpr, int, float))


def dtype_of(value) -> str:
    """dtype of an IR value or of the constant that a Python number becomes."""
    if isinstance(value, PrimExpr):
        return str(value.dtype)
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int32" if -(1 << 31) <= value < 1 << 31 else "int64"
    return "float32"


def pointer_of(value):
    """The pointer type of T.address_of(A[i]) and of pointer variables; None when unknown."""
    if isinstance(value, Var):
        return value.pointer
    if isinstance(value, Call) and value.op == "tx.address_of":
        buffer = value.args[0].buffer
        return PointerType(element(buffer.dtype), buffer.scope)
    return None


def element(dtype) -> str:
    """A dtype without its lanes."""
    text = str(dtype)
    base, _, lanes = text.rpartition("x")
    return base if lanes.isdigit() and base else text


def make_buffer(
    name, shape, dtype, scope, layout=None, data=None, elem_offset=0, align=0, addr=None, span=None
):
    """A Buffer with its own pointer variable unless `data` is given."""
    if data is None:
        data = _api.Var(name + "_ptr", "handle", _api.PointerType(element(dtype), scope), span)
    return _api.Buffer(name, data, list(shape), dtype, layout, scope, elem_offset, align, addr, span)
