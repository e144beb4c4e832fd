"""compile(): from a function to something that runs, on the device or in the simulator of that device."""

from __future__ import annotations

import struct

from . import ir
from .arguments import Signature
from .errors import LaunchError, TargetError

_STRUCT_CODES = {
    "bool": "?", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I",
    "int64": "q", "uint64": "Q", "float16": "e", "float32": "f", "float64": "d",
}  # fmt: skip
MODES = ("auto", "simulate", "device")


def compile(func, target, *, mode="auto"):
    """Compile a PrimFunc, or every function of an IRModule, for `target`.

    target: a tirx.Target or its spelling ("cuda/sm_90a"). mode: "auto" launches on a device of that architecture
    when there is one and simulates otherwise; "simulate" and "device" force it. Returns an Executable (or, for a
    module of several functions, a dict-like Executables). Errors are TirxError subclasses with the user's line.
    """
    from . import pipeline
    from .targets import Target

    target = Target.of(target)
    if isinstance(func, ir.IRModule):
        built = {str(name): compile(f, target, mode=mode) for name, f in func.functions.items()}
        return next(iter(built.values())) if len(built) == 1 else Executables(built)
    if not isinstance(func, ir.PrimFunc):
        raise TargetError(
            "only functions of the script language can be compiled", code="not-a-prim-func",
            found=type(func).__name__, required="a PrimFunc or an IRModule",
            hint="decorate it with @T.prim_func; a @T.jit function is specialised first: fn.specialize(...)",
        )  # fmt: skip
    _check_mode(mode)
    return Executable(func, target, pipeline.build_kernel(func, target), mode)


def _check_mode(mode):
    if mode not in MODES:
        raise LaunchError("unknown mode", code="unknown-mode", found=repr(mode), required=", ".join(MODES))


class Executables(dict):
    """The executables of a module by function name; `exe["name"](...)`."""


class Executable:
    """A compiled function. Call it with its tensors (NumPy, torch, DLPack) and scalars, in parameter order.

    Attributes: func (tile stage), kernel (native stage, launch plan), target, source (CUDA C++), cubin
    (bytes, registers, spills, shared bytes), report (of the last simulated call).
    """

    def __init__(self, func, target, kernel, mode="auto"):
        self.func, self.target, self.kernel, self.mode = func, target, kernel, mode
        self.report = None
        self._signature = None
        self._source = self._cubin = self._loaded = None

    @property
    def name(self) -> str:
        return str(self.kernel.host.name)

    @property
    def signature(self) -> Signature:
        if self._signature is None:
            self._signature = Signature(self.kernel)
        return self._signature

    @property
    def source(self) -> str:
        """The CUDA C++ of the kernel."""
        if self._source is None:
            from .targets.cuda import codegen

            self._source = codegen(self.kernel, self.target)
        return self._source

    @property
    def cubin(self):
        """The assembled kernel (needs NVRTC: the wheels of tirx[cuda] or a CUDA toolkit)."""
        if self._cubin is None:
            from .targets.cuda import assemble

            self._cubin = assemble(self.source, self.target)
        return self._cubin

    @property
    def ptx(self) -> str:
        """The PTX that NVRTC makes of `source`."""
        from .targets.cuda import ptx

        return ptx(self.source, self.target)

    @property
    def sass(self) -> str:
        """The machine code of `cubin` as text (needs nvdisasm)."""
        from .targets.cuda import disassemble

        return disassemble(self.cubin)

    def explain(self):
        """The dispatch report: per tile call the chosen variant, its instructions, and the rejections."""
        from .tile import explain

        return explain(self.func, self.target)

    def __call__(self, *args, mode=None, stream=None, **options):
        """Run. `stream`: the caller's CUstream as an integer. `options` go to tirx.sim.run when simulating
        (schedule, seed, observers, ...). Outputs are written in place; returns None."""
        mode = self.mode if mode is None else mode
        _check_mode(mode)
        bound = self.signature.bind(args)
        where = self._place(mode, bound)
        if 0 in self._grid(bound):
            return
        if where is None:
            self._simulate(bound, options)
        else:
            self._launch(bound, where, stream)

    def _place(self, mode, bound):
        """The ordinal of the device to launch on, or None to simulate."""
        on_device = sorted({v.device for _, v in bound.tensors if v.device != "cpu"})
        if len(on_device) > 1:
            raise LaunchError(
                f"the tensors of a call of {self.name} live in different places", code="argument-device",
                found=", ".join(on_device), required="one device",
            )  # fmt: skip
        if any(v.sparse for _, v in bound.tensors) and mode != "device":
            mode = "simulate"
        if mode == "simulate":
            if on_device:
                raise LaunchError(
                    "the simulator reads host memory", code="argument-device", found=on_device[0],
                    required="tensors on the host", hint="pass tensor.cpu()",
                )  # fmt: skip
            return None
        if any(v.sparse for _, v in bound.tensors):
            raise LaunchError(
                "a SparseArray exists in the simulator only", code="argument-device", found='mode="device"',
                required='mode="simulate", or an array',
            )  # fmt: skip
        ordinal = int(on_device[0].split(":")[1]) if on_device else None
        device, reason = find_device(self.target, ordinal)
        if device is None and (mode == "device" or on_device):
            raise LaunchError(
                f"no device can run {self.name}", code="no-device", found=reason,
                required=f"a {self.target.arch} device", hint='mode="simulate" runs it on this machine',
            )  # fmt: skip
        return device

    def _simulate(self, bound, options):
        from . import sim

        sim.check_options(options)
        args = [None] * len(self.signature.params)
        for param, view in bound.tensors:
            args[self._index(param)] = view.owner
        for param, value in bound.scalars:
            args[self._index(param)] = value
        self.report = sim.run(self.kernel, self.target, args, **options)

    def _index(self, param) -> int:
        return next(i for i, p in enumerate(self.signature.params) if p is param)

    def _grid(self, bound):
        """CTAs per dimension of this call, within what the target launches."""
        grid = [bound.evaluate(e) for e in self.kernel.launch.grid]
        for axis, n in zip("xyz", grid):
            limit = self.target.limit(f"grid_{axis}", (1 << 31) - 1)
            if not 0 <= n <= limit:
                raise LaunchError(
                    f"{self.name} cannot be launched with these arguments", code="grid-extent",
                    found=f"{n} CTAs along dimension {axis}", span=self.func.span,
                    required=f"0 (nothing runs) to {limit} on {self.target.arch}",
                )  # fmt: skip
        return grid

    def _launch(self, bound, device, stream):
        launch, grid = self.kernel.launch, self._grid(bound)
        if self._loaded is None:
            from .targets.cuda import entry_name

            self._loaded = _runtime("device_kernel")(self.cubin.image, entry_name(self.kernel))
        with _DeviceTensors(bound, device) as addresses:
            blob, offsets = self._pack(bound, addresses)
            attrs = launch.attrs
            _runtime("launch")(
                self._loaded, device, stream or 0, grid, list(launch.cluster), launch.threads,
                launch.dyn_shared_bytes, bool(attrs.get("cooperative", False)),
                bool(attrs.get("programmatic", False)), blob, offsets,
            )  # fmt: skip

    def _pack(self, bound, addresses):
        """Kernel parameters back to back, each at its natural alignment: pointers, scalars, symbols."""
        values = [("Q", a) for a in addresses]
        values += [(_struct_code(p.dtype), v) for p, v in bound.scalars]
        values += [(_struct_code(str(s.dtype)), bound.evaluate(s)) for s in self.kernel.symbols]
        blob, offsets = bytearray(), []
        for code, value in values:
            size = struct.calcsize(code)
            blob += bytes(-len(blob) % size)
            offsets.append(len(blob))
            blob += struct.pack("<" + code, value)
        return bytes(blob), offsets


def _struct_code(dtype: str) -> str:
    code = _STRUCT_CODES.get(dtype)
    if code is None:
        raise LaunchError(
            "a scalar parameter of this dtype cannot be passed", code="scalar-dtype", found=dtype,
            required=", ".join(_STRUCT_CODES), hint="pass it in a one-element tensor",
        )  # fmt: skip
    return code


class _DeviceTensors:
    """Device addresses of the bound tensors; host tensors are copied in on entry and out on exit."""

    def __init__(self, bound, device):
        self.bound, self.device, self.copies = bound, device, []

    def __enter__(self):
        addresses = []
        for _, view in self.bound.tensors:
            if view.device != "cpu":
                addresses.append(view.address)
                continue
            address = _runtime("mem_alloc")(self.device, view.nbytes)
            self.copies.append((view, address))
            _runtime("copy_to_device")(self.device, address, view.address, view.nbytes)
            addresses.append(address)
        return addresses

    def __exit__(self, kind, value, traceback):
        try:
            if kind is None:
                for view, address in self.copies:
                    if view.writable:
                        _runtime("copy_to_host")(self.device, view.address, address, view.nbytes)
        finally:
            for _, address in self.copies:
                _runtime("mem_free")(self.device, address)


def _runtime(name):
    import tvm_ffi

    return tvm_ffi.get_global_func("tx.runtime." + name)


def find_device(target, ordinal=None):
    """(ordinal, "") of a device that can run code for `target`, or (None, reason)."""
    if target.kind != "cuda":
        return None, f"no devices of kind {target.kind} are driven here"
    status = _runtime("query_driver")()
    if not status["usable"]:
        return None, str(status["reason"])
    candidates = range(status["device_count"]) if ordinal is None else [ordinal]
    found = []
    for i in candidates:
        arch = str(_runtime("device_arch")(i))
        if runs_on(target.arch, arch):
            return i, ""
        found.append(arch)
    return None, f"devices of {', '.join(found)}"


def runs_on(built_for: str, device: str) -> bool:
    """Whether a cubin for `built_for` ("sm_80", "sm_90a", "sm_100f") loads on `device` ("sm_86").

    Plain cubins run on devices of the same major version and an equal or higher minor one; a suffix "a" demands
    the exact version (CUDA Programming Guide, binary compatibility).
    """
    digits = built_for.removeprefix("sm_").rstrip("af")
    major, minor = int(digits[:-1]), int(digits[-1])
    have = device.removeprefix("sm_")
    if int(have[:-1]) != major:
        return False
    return int(have[-1]) == minor if built_for.endswith("a") else int(have[-1]) >= minor
