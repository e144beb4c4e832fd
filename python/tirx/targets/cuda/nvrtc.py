"""NVRTC: from CUDA C++ to cubin and PTX, with the resources that the kernel uses.

The library and the headers come from NVIDIA's wheels (tirx[cuda]: nvidia-cuda-nvrtc, nvidia-cuda-runtime for
cuda_fp16.h and its relatives, nvidia-cuda-crt for what those include) or from an installed toolkit. Nothing
is loaded before the first call.
"""

from __future__ import annotations

import ctypes
import functools
import glob
import importlib.util
import os
import re
import subprocess
from dataclasses import dataclass, field

from ...errors import TargetError
from .cache import CubinCache, default_directory, key_of

_OPTIONS = ("--std=c++17", "--ptxas-options=-v")


@dataclass(frozen=True)
class Cubin:
    """An assembled kernel.

    image: the ELF file. registers: per thread. spills: bytes stored and loaded per thread because registers
    ran out. stack: bytes of local memory per thread. shared: static shared bytes per CTA. log: what the
    compiler said.
    """

    image: bytes = field(repr=False)
    arch: str
    registers: int
    spills: int
    stack: int
    shared: int
    log: str = field(repr=False, default="")

    @property
    def warnings(self) -> list[str]:
        """The lines of the log that are warnings."""
        return [line for line in self.log.splitlines() if "warning" in line.lower()]


def assemble(source: str, arch: str, options=()) -> Cubin:
    """Cubin of `source` for exactly `arch`; cached. Raises TargetError (no compiler, or rejected)."""
    compiler = load()
    options = (*_OPTIONS, *options)
    cache = CubinCache(default_directory())
    key = key_of(source, arch, options, compiler.build)
    entry = cache.get(key)
    if entry is None:
        with compiler.compiled(source, arch, options) as program:
            entry = program.get("CUBIN"), program.log()
        cache.put(key, *entry)
    return _with_resources(arch, *entry)


def ptx(source: str, arch: str, options=()) -> str:
    """PTX of `source` for `arch`. Raises TargetError."""
    with load().compiled(source, arch, (*_OPTIONS, *options)) as program:
        return program.get("PTX").rstrip(b"\0").decode()


def disassemble(image: bytes) -> str:
    """SASS of a cubin."""
    tool = _find_tool("nvdisasm")
    if tool is None:
        raise TargetError(
            "SASS cannot be shown", code="nvdisasm-missing", found="no nvdisasm",
            required="the disassembler of the CUDA toolkit", hint="pip install nvidia-cuda-nvdisasm",
        )  # fmt: skip
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kernel.cubin")
        with open(path, "wb") as f:
            f.write(image)
        return subprocess.run([tool, "-c", path], capture_output=True, text=True, check=True).stdout


def status() -> dict:
    """What was found: {"usable", "library", "version", "include", "archs", "nvdisasm", "reason"}."""
    out = {"usable": False, "library": None, "version": None, "include": None, "archs": [], "reason": ""}
    out["nvdisasm"] = _find_tool("nvdisasm")
    try:
        compiler = load()
    except TargetError as e:
        return {**out, "reason": e.found or e.message}
    return {**out, "usable": True, "library": compiler.path, "version": compiler.version,
            "include": compiler.include, "archs": compiler.archs()}  # fmt: skip


def _with_resources(arch, image, log):
    """The numbers that `ptxas -v` prints, summed or maximal over the functions of the file."""

    def numbers(pattern):
        return [int(n) for n in re.findall(pattern, log)]

    return Cubin(
        image=image, arch=arch, log=log,
        registers=max(numbers(r"Used (\d+) registers"), default=0),
        spills=sum(numbers(r"(\d+) bytes spill (?:stores|loads)")),
        stack=max(numbers(r"(\d+) bytes stack frame"), default=0),
        shared=max(numbers(r"(\d+) bytes smem"), default=0),
    )  # fmt: skip


# ---- the library ----


class Nvrtc:
    """The loaded library.

    path, include (directory of the headers or None), version ("13.5"), build (distinguishes patch releases,
    whose version the library does not tell, by the size of the file).
    """

    def __init__(self, path: str, include: str | None):
        self.path, self.include = path, include
        self.lib = ctypes.CDLL(path)
        self.lib.nvrtcGetErrorString.restype = ctypes.c_char_p
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.check(self.lib.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
        self.version = f"{major.value}.{minor.value}"
        self.build = f"nvrtc {self.version} {os.path.getsize(path) if os.path.exists(path) else 0}"

    def check(self, status: int) -> None:
        """Raise for a status other than success; compile errors are handled where the log is at hand."""
        if status:
            raise TargetError(
                "NVRTC failed", code="nvrtc-failed", found=self.lib.nvrtcGetErrorString(status).decode(),
                required="success", hint=f"the library is {self.path}",
            )  # fmt: skip

    def archs(self) -> list[str]:
        """The architectures that this NVRTC assembles for, as "sm_NN"."""
        count = ctypes.c_int()
        self.check(self.lib.nvrtcGetNumSupportedArchs(ctypes.byref(count)))
        numbers = (ctypes.c_int * count.value)()
        self.check(self.lib.nvrtcGetSupportedArchs(numbers))
        return [f"sm_{n}" for n in numbers]

    def compiled(self, source: str, arch: str, options) -> Program:
        """A compiled program, to be used in a `with` statement."""
        return Program(self, source, arch, options)


class Program:
    """One compilation; frees the program on exit."""

    def __init__(self, nvrtc, source, arch, options):
        self.nvrtc, self.handle = nvrtc, ctypes.c_void_p()
        lib = nvrtc.lib
        nvrtc.check(
            lib.nvrtcCreateProgram(ctypes.byref(self.handle), source.encode(), b"kernel.cu", 0, None, None)
        )
        flags = [f"--gpu-architecture={arch}", *options]
        if nvrtc.include:
            flags.append("-I" + nvrtc.include)
        array = (ctypes.c_char_p * len(flags))(*(f.encode() for f in flags))
        if lib.nvrtcCompileProgram(self.handle, len(flags), array):
            log = self.log()
            self.__exit__()
            raise _rejected(nvrtc, arch, source, log)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.nvrtc.lib.nvrtcDestroyProgram(ctypes.byref(self.handle))

    def get(self, what: str) -> bytes:
        """The result "CUBIN" or "PTX"."""
        lib, size = self.nvrtc.lib, ctypes.c_size_t()
        self.nvrtc.check(getattr(lib, f"nvrtcGet{what}Size")(self.handle, ctypes.byref(size)))
        data = ctypes.create_string_buffer(size.value)
        self.nvrtc.check(getattr(lib, f"nvrtcGet{what}")(self.handle, data))
        return data.raw

    def log(self) -> str:
        return self.get("ProgramLog").rstrip(b"\0").decode(errors="replace")


def _rejected(nvrtc, arch, source, log):
    number = re.search(r"kernel\.cu\((\d+)\)", log)
    lines = source.splitlines()
    line = lines[int(number[1]) - 1].strip() if number and int(number[1]) <= len(lines) else ""
    return TargetError(
        f"NVRTC {nvrtc.version} rejects the CUDA source for {arch}", code="cuda-rejected",
        found=log.strip() + (f"\nin: {line}" if line else ""), required="CUDA C++ that compiles",
        hint="tirx show --stage cuda prints the source; user code in T.cuda.func_call is compiled as it is",
    )  # fmt: skip


@functools.lru_cache(maxsize=1)
def load() -> Nvrtc:
    """The library, loaded once. Raises TargetError "nvrtc-missing"."""
    tried = []
    for path in _candidates():
        try:
            return Nvrtc(path, _include_for(path))
        except (OSError, AttributeError) as e:
            tried.append(f"{path}: {e}")
    raise TargetError(
        "CUDA source cannot be assembled here", code="nvrtc-missing",
        found="; ".join(tried) or "no libnvrtc in the Python environment or in a CUDA toolkit",
        required="NVRTC 12.8 or later", hint="pip install 'tirx[cuda]' (no GPU is needed)",
    )  # fmt: skip


def _wheel_roots() -> list[str]:
    """Directories of NVIDIA's namespace package."""
    spec = importlib.util.find_spec("nvidia")
    return list(spec.submodule_search_locations or []) if spec else []


def _toolkit_roots() -> list[str]:
    named = [os.environ.get(v) for v in ("CUDA_HOME", "CUDA_PATH")]
    return [
        r for r in (*named, "/usr/local/cuda", *sorted(glob.glob("/usr/local/cuda-*"), reverse=True)) if r
    ]


def _candidates():
    """Paths of libnvrtc, the preferred first: $TIRX_NVRTC, or wheels, toolkits and the loader's path."""
    if os.environ.get("TIRX_NVRTC"):
        yield os.environ["TIRX_NVRTC"]
        return
    for root in _wheel_roots():
        for pattern in ("cu*/lib/libnvrtc.so.*", "cuda_nvrtc/lib/libnvrtc.so.*"):
            yield from sorted(glob.glob(os.path.join(root, pattern)), reverse=True)
    for root in _toolkit_roots():
        yield from sorted(glob.glob(os.path.join(root, "lib64", "libnvrtc.so.*")), reverse=True)
    yield "libnvrtc.so"


def _include_for(library: str) -> str | None:
    """The directory with cuda_fp16.h that belongs to the library."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(library)))
    near = [root, os.path.join(os.path.dirname(root), "cuda_runtime")]
    for base in (*near, *_toolkit_roots()):
        if os.path.exists(os.path.join(base, "include", "cuda_fp16.h")):
            return os.path.join(base, "include")
    return None


def _find_tool(name: str) -> str | None:
    """A program of the CUDA toolkit: beside the wheels' libraries, in a toolkit, or on PATH."""
    import shutil

    for root in (*(r for w in _wheel_roots() for r in glob.glob(os.path.join(w, "*"))), *_toolkit_roots()):
        path = os.path.join(root, "bin", name)
        if os.access(path, os.X_OK):
            return path
    return shutil.which(name)
