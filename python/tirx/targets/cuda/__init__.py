"""CUDA: capability table, instruction declarations, dispatch rules, NVRTC and the driver.

Importing this module costs nothing beyond the capability table; the rest is imported where it is used.
"""

from __future__ import annotations

from .arch import ARCHS, archs_with, describe

__all__ = ["ARCHS", "archs_with", "assemble", "codegen", "describe", "disassemble", "entry_name", "ptx"]


def codegen(kernel, target, spans=False) -> str:
    """CUDA C++ of a Kernel (native stage) for `target`.

    spans: append `// file:line` to the statements whose source is known. Raises TargetError for an
    instruction or a memory scope that the target lacks.
    """
    from ... import _ffi_api
    from .. import Target

    return str(_ffi_api.codegen_cuda(kernel, Target.of(target), spans))


def entry_name(kernel) -> str:
    """The symbol of a Kernel in its CUDA C++ (`exp` is not allowed as one)."""
    from ... import _ffi_api

    return str(_ffi_api.cuda_entry_name(kernel))


def assemble(kernel_or_source, target, options=()):
    """The `nvrtc.Cubin` of a Kernel or of CUDA source, from the cache when it was assembled before.

    options: further NVRTC options. Raises TargetError when NVRTC is missing or rejects the source.
    """
    from . import nvrtc

    return nvrtc.assemble(_source(kernel_or_source, target), _arch(target), tuple(options))


def ptx(kernel_or_source, target, options=()) -> str:
    """The PTX that NVRTC makes of a Kernel or of CUDA source."""
    from . import nvrtc

    return nvrtc.ptx(_source(kernel_or_source, target), _arch(target), tuple(options))


def disassemble(cubin) -> str:
    """SASS of a Cubin or of its image (bytes), by nvdisasm. Raises TargetError when the tool is missing."""
    from . import nvrtc

    return nvrtc.disassemble(getattr(cubin, "image", cubin))


def _source(kernel_or_source, target):
    return kernel_or_source if isinstance(kernel_or_source, str) else codegen(kernel_or_source, target)


def _arch(target):
    from .. import Target

    return str(Target.of(target).arch)
