"""Arguments of a simulated launch: arrays of the caller as (kind, address, bytes) triples."""

from __future__ import annotations

from . import errors

_BUFFER, _SCALAR, _SPARSE, _READ_ONLY = 0, 1, 2, 3
# One element per byte in NumPy, two per byte on the device.
_PACKED = ("float4_e2m1fn", "int4", "uint4")


class Arguments:
    """Context manager: the flat argument list of a launch; writes converted copies back on exit."""

    def __init__(self, kernel, args):
        self.kernel, self.args = kernel, list(args)
        self.keep = []  # arrays that the machine points into
        self.sparse = []  # memory of SparseArrays, by the index that an argument names
        self.symbols = {}

    def __enter__(self):
        host = self.kernel.host
        params, buffers = list(host.params), list(host.param_buffers)
        if len(self.args) != len(params):
            _fail(host, "argument-count", f"{len(self.args)} arguments", f"{len(params)}: one per parameter")
        pointers, scalars = [], []
        for var, buffer, value in zip(params, buffers, self.args):
            if buffer is None:
                scalars += [_SCALAR, _scalar_bits(host, var, value), 0]
                self.symbols[var] = int(value) if not str(var.dtype).startswith(("float", "bfloat")) else 0
            else:
                pointers += self._buffer(host, buffer, value)
        for symbol in self.kernel.symbols:
            if symbol not in self.symbols:
                _fail(host, "unbound-symbol", f"no argument has the extent {symbol.name}", "an array with it")
            scalars += [_SCALAR, self.symbols[symbol], 0]
        return pointers + scalars

    def __exit__(self, *exc):
        for write_back in self.keep:
            if callable(write_back):
                write_back()

    def _buffer(self, host, buffer, value):
        from .sim import SparseArray

        array = value if isinstance(value, SparseArray) else as_numpy(value)
        want = str(buffer.dtype)
        if array.dtype.name != want:
            _fail(host, "argument-dtype", f"{array.dtype.name} for {buffer.name}", want)
        self._bind_shape(host, buffer, array.shape)
        if array is value and isinstance(value, SparseArray):
            self.sparse.append(array.sparse_memory)
            return [_SPARSE, len(self.sparse) - 1, array.nbytes]
        if want in _PACKED:
            array = self._packed(array)
        self.keep.append(array)
        address = array.__array_interface__["data"][0]
        kind = _BUFFER if array.flags.writeable else _READ_ONLY
        return [kind, address, _span_bytes(host, buffer, array)]

    def _bind_shape(self, host, buffer, shape):
        from . import ir

        extents = list(buffer.shape)
        if len(extents) != len(shape):
            _fail(host, "argument-rank", f"{len(shape)} dimensions for {buffer.name}", f"{len(extents)}")
        for want, have in zip(extents, shape):
            if isinstance(want, ir.Var):
                want = self.symbols.setdefault(want, have)
            if isinstance(want, (int, ir.IntImm)) and int(want) != have:
                _fail(
                    host, "argument-shape", f"{tuple(shape)} for {buffer.name}", f"an extent of {int(want)}"
                )

    def _packed(self, array):
        """4-bit elements, one per byte in NumPy, two per byte on the device: the even one in the low half."""
        import numpy as np

        codes = array.view(np.uint8).reshape(-1) & 15
        packed = codes[0::2].copy()
        packed[: codes[1::2].size] |= codes[1::2] << 4
        packed.flags.writeable = array.flags.writeable
        if not array.flags.writeable:
            return packed

        def write_back():
            codes[0::2] = packed & 15
            codes[1::2] = packed[: codes[1::2].size] >> 4
            array.view(np.uint8)[...] = codes.reshape(array.shape)

        self.keep.append(write_back)
        return packed


def _span_bytes(host, buffer, array):
    """Bytes from the first to the last element: what a launch may touch of a strided array."""
    if array.size == 0:
        return 0
    if min(array.strides, default=0) < 0:
        _fail(host, "argument-strides", f"negative strides of {buffer.name}", "strides of at least 0")
    return array.itemsize + sum((n - 1) * s for n, s in zip(array.shape, array.strides))


def as_numpy(value):
    """A NumPy view of an array, a torch tensor on the CPU, or anything with DLPack."""
    import numpy as np

    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "detach"):
        return _torch_view(value.detach())
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    raise errors.LaunchError(
        "an argument is not an array", code="argument-type", found=type(value).__name__,
        required="a NumPy array, a torch tensor or an object with __dlpack__",
    )  # fmt: skip


def _torch_view(tensor):
    """Types that NumPy lacks travel as bytes of the same shape."""
    import ml_dtypes
    import numpy as np

    name = str(tensor.dtype).removeprefix("torch.")
    extra = getattr(ml_dtypes, name, None)
    if extra is None:
        return tensor.numpy()
    import torch

    size = np.dtype(extra).itemsize
    return tensor.view({1: torch.uint8, 2: torch.int16}[size]).numpy().view(extra)


def _scalar_bits(host, var, value):
    import struct

    dtype = str(var.dtype)
    codes = {"float32": ("<f", "<i"), "float64": ("<d", "<q"), "float16": ("<e", "<h")}
    if dtype in codes:
        pack, unpack = codes[dtype]
        return struct.unpack(unpack, struct.pack(pack, float(value)))[0]
    if isinstance(value, float):
        _fail(host, "argument-type", f"{value!r} for {var.name}", f"an integer ({dtype})")
    return int(value)


def _fail(host, code, found, required):
    raise errors.LaunchError(
        f"the arguments of {host.name} do not fit", code=code, found=found, required=required, span=host.span
    )
