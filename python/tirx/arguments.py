"""Arguments of a kernel call: what they are, and whether they fit, before anything runs.

`Signature(kernel)` is prepared once per kernel; `Signature.bind(args)` turns a call's arguments into addresses,
scalars and symbolic extents, or raises a LaunchError that names the parameter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from . import ir
from .errors import LaunchError


@dataclass
class TensorView:
    """One tensor argument: address in bytes, dtype name, shape and strides in elements, and where it lives."""

    address: int
    dtype: str
    shape: tuple
    strides: tuple
    device: str  # "cpu", "cuda:0", ...
    owner: object
    writable: bool = True
    sparse: bool = False  # a SparseArray of the simulator: no address

    @property
    def nbytes(self) -> int:
        """Bytes from the first to the last element (0 for an empty tensor); strides are not negative."""
        if 0 in self.shape:
            return 0
        last = sum((n - 1) * s for n, s in zip(self.shape, self.strides))
        return (last + 1) * bits_of(self.dtype) // 8


def bits_of(dtype: str) -> int:
    """Storage bits of one element, all lanes."""
    from tvm_ffi import dtype as ffi_dtype

    d = ffi_dtype(dtype)
    return d.bits * d.lanes


def numpy_dtype(name: str):
    """The NumPy dtype of an IR dtype; small floats and integers are ml_dtypes'."""
    import ml_dtypes
    import numpy as np

    return np.dtype(getattr(ml_dtypes, name, None) or name)


def view_tensor(x) -> TensorView | None:
    """A view of a NumPy, torch or DLPack tensor, or None when x is none of those."""
    if hasattr(x, "__array_interface__"):
        return _view_numpy(x)
    if hasattr(x, "sparse_memory"):
        strides = tuple(math.prod(x.shape[d + 1 :]) for d in range(len(x.shape)))
        return TensorView(0, x.dtype.name, x.shape, strides, "cpu", x, sparse=True)
    if hasattr(x, "data_ptr") and hasattr(x, "stride"):
        return _view_torch(x)
    if hasattr(x, "__dlpack__"):
        return _view_dlpack(x)
    return None


def _view_numpy(x) -> TensorView:
    info = x.__array_interface__
    item = x.dtype.itemsize
    address, read_only = info["data"]
    strides = tuple(s // item for s in x.strides)
    dtype = x.dtype.name if x.dtype.isnative else f"{x.dtype.name} of the other byte order"
    return TensorView(address, dtype, x.shape, strides, "cpu", x, not read_only)


def _view_torch(x) -> TensorView:
    device = "cpu" if x.device.type == "cpu" else f"{x.device.type}:{x.device.index or 0}"
    dtype = str(x.dtype).removeprefix("torch.")
    return TensorView(x.data_ptr(), dtype, tuple(x.shape), tuple(x.stride()), device, x)


def _view_dlpack(x) -> TensorView:
    import tvm_ffi

    t = x if isinstance(x, tvm_ffi.Tensor) else tvm_ffi.from_dlpack(x)
    device = "cpu" if t.device.type == "cpu" else f"{t.device.type}:{t.device.index}"
    return TensorView(t.data_ptr(), str(t.dtype), tuple(t.shape), tuple(t.strides), device, t)


@dataclass
class Bound:
    """A checked call: tensors in parameter order, then what the device function takes besides pointers."""

    tensors: list
    scalars: list
    symbols: dict  # Var -> int

    def evaluate(self, expr) -> int:
        """An expression over symbols and scalars, as an integer."""
        if isinstance(expr, int):
            return expr
        value = ir.substitute(expr, self.symbols) if self.symbols else expr
        if not isinstance(value, ir.IntImm):
            raise LaunchError(
                "a launch extent depends on something that the call does not give",
                code="unbound-extent", found=str(value), required="an expression of shapes and scalar parameters",
            )  # fmt: skip
        return value.value


DEFAULT_ALIGN = 16  # bytes, of parameters without align= (include/tirx/ir/buffer.h)


@dataclass
class _Param:
    var: ir.Var
    buffer: ir.Buffer | None
    name: str
    dtype: str
    shape: list | None = None  # int, or an expression over symbols
    align: int = 1


class Signature:
    """The parameters of one kernel, prepared for checking calls."""

    def __init__(self, kernel: ir.Kernel):
        host = kernel.host
        self.name = str(host.name)
        self.span = host.span
        self.params = [self._prepare(v, b) for v, b in zip(host.params, host.param_buffers)]
        body = host.body
        self.checks = list(body.seq) if isinstance(body, ir.SeqStmt) else [body]

    @staticmethod
    def _prepare(var, buffer) -> _Param:
        if buffer is None:
            return _Param(var, None, str(var.name), str(var.dtype))
        shape = [e.value if isinstance(e, ir.IntImm) else e for e in buffer.shape]
        dtype = str(buffer.dtype)
        align = buffer.align or DEFAULT_ALIGN
        return _Param(var, buffer, str(buffer.name), dtype, shape, align)

    def bind(self, args) -> Bound:
        """Check `args` against the parameters. Raises LaunchError; nothing has run then."""
        if len(args) != len(self.params):
            names = ", ".join(p.name for p in self.params)
            raise self._error(
                "argument-count", None, f"{len(args)} arguments", f"{len(self.params)}: {names}"
            )
        bound = Bound([], [], {})
        for param, value in zip(self.params, args):
            if param.buffer is None:
                self._bind_scalar(param, value, bound)
            else:
                self._bind_tensor(param, value, bound)
        self._check_expressions(bound)
        self._check_overlap(bound)
        self._run_checks(bound)
        return bound

    def _error(self, code, param, found, required, hint="", span=None):
        where = f"argument {param.name} of {self.name}" if param else f"the call of {self.name}"
        if span is None:
            span = param.buffer.span if param is not None and param.buffer is not None else self.span
        return LaunchError(
            f"{where} does not fit", code=code, found=found, required=required, hint=hint, span=span
        )

    def _bind_scalar(self, param, value, bound):
        number = value.item() if hasattr(value, "item") else value
        is_float = "float" in param.dtype
        if isinstance(number, bool) and param.dtype != "bool" or not isinstance(number, (int, float)):
            raise self._error("argument-type", param, f"{type(value).__name__}", f"a {param.dtype} scalar")
        if is_float:
            bound.scalars.append((param, float(number)))
            return
        try:
            imm = ir.IntImm(param.dtype, int(number)) if number == int(number) else None
        except ir.errors.TypeMismatch:
            imm = None
        if imm is None:
            raise self._error("argument-range", param, repr(number), f"a value of {param.dtype}")
        bound.scalars.append((param, imm.value))
        bound.symbols[param.var] = imm

    def _bind_tensor(self, param, value, bound):
        view = view_tensor(value)
        if view is None:
            raise self._error(
                "argument-type", param, type(value).__name__, f"a tensor of {param.dtype}",
                "NumPy arrays, torch tensors and anything with __dlpack__ are accepted",
            )  # fmt: skip
        if view.dtype != param.dtype:
            raise self._error(
                "argument-dtype", param, view.dtype, param.dtype, f"convert it to {param.dtype}"
            )
        if len(view.shape) != len(param.shape):
            raise self._error(
                "argument-rank", param, f"{len(view.shape)} dimensions, shape {view.shape}",
                f"{len(param.shape)} dimensions",
            )  # fmt: skip
        self._bind_shape(param, view, bound)
        self._check_strides(param, view)
        if view.nbytes and view.address % param.align:
            raise self._error(
                "argument-alignment", param, f"an address aligned to {_alignment(view.address)} bytes",
                f"{param.align} bytes", "pass a fresh copy, or declare the parameter with a smaller align=",
            )  # fmt: skip
        bound.tensors.append((param, view))

    def _bind_shape(self, param, view, bound):
        for dim, (want, have) in enumerate(zip(param.shape, view.shape)):
            if isinstance(want, ir.Var):
                known = bound.symbols.setdefault(want, ir.IntImm(str(want.dtype), have))
                if known.value != have:
                    raise self._error(
                        "argument-shape", param, f"{want.name} = {have} in dimension {dim}",
                        f"{want.name} = {known.value}, as in an earlier argument",
                    )  # fmt: skip
            elif isinstance(want, int) and want != have:
                shape = "(" + ", ".join(str(d) for d in param.shape) + ")"
                raise self._error("argument-shape", param, f"shape {view.shape}", f"shape {shape}")

    def _check_strides(self, param, view):
        if 0 in view.shape:
            return
        expect = 1
        for n, s in zip(reversed(view.shape), reversed(view.strides)):
            if n != 1 and s != expect:
                raise self._error(
                    "argument-strides", param, f"strides {view.strides} (elements)",
                    "a compact row-major tensor", "pass a contiguous copy",
                )  # fmt: skip
            expect *= n

    def _check_expressions(self, bound):
        for param, view in bound.tensors:
            for dim, want in enumerate(param.shape):
                if isinstance(want, (int, ir.Var)):
                    continue
                value = bound.evaluate(want)
                if value != view.shape[dim]:
                    raise self._error(
                        "argument-shape", param, f"{view.shape[dim]} in dimension {dim}", f"{want} = {value}"
                    )

    def _check_overlap(self, bound):
        """Kernels may assume that parameters do not alias (`__restrict__`)."""
        spans = sorted(
            (
                (v.device, v.address, v.address + v.nbytes, p)
                for p, v in bound.tensors
                if v.nbytes and not v.sparse
            ),
            key=lambda s: s[:3],
        )
        for a, b in zip(spans, spans[1:]):
            if a[0] == b[0] and b[1] < a[2]:
                raise self._error(
                    "argument-overlap", b[3], f"memory shared with argument {a[3].name}", "separate tensors",
                    "pass a copy",
                )  # fmt: skip

    def _run_checks(self, bound):
        """Assertions and definitions that the kernel makes on the host, before T.device_entry()."""
        for stmt in self.checks:
            if isinstance(stmt, ir.Bind):
                bound.symbols[stmt.var] = ir.substitute(stmt.value, bound.symbols)
            elif isinstance(stmt, ir.Assert):
                cond = ir.substitute(stmt.cond, bound.symbols)
                if isinstance(cond, ir.IntImm) and not cond.value:
                    raise LaunchError(
                        f"the call of {self.name} breaks an assertion of the kernel", code="assertion-failed",
                        found=str(stmt.message) or "the condition is false", required=str(stmt.cond),
                        span=stmt.span,
                    )  # fmt: skip


def _alignment(address: int) -> int:
    return address & -address if address else 0
