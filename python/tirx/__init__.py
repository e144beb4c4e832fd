"""TIRx: a compiler for machine-learning kernels.

Kernels import from `tirx`, `tirx.script`, `tirx.layout` and `tirx.lang`, and from nowhere else.

    compile(func, target)   an Executable: runs on the device, or in its simulator where there is none
    Target(kind, arch=)     what code is generated for
    explain(func, target)   which variant each tile call gets, and why
"""

import importlib

from . import errors, ir, targets  # noqa: F401  (targets: the hook that declares instructions)
from .ir import IRModule, PrimFunc

__version__ = "0.1.0"
__all__ = ["DataType", "IRModule", "PrimFunc", "Target", "compile", "errors", "explain", "ir"]

# Loaded on first use: `import tirx` pays only for the library and the node classes.
_LAZY = {
    "compile": (".executable", "compile"),
    "Target": (".targets", "Target"),
    "explain": (".tile", "explain"),
    "DataType": ("tvm_ffi", "dtype"),
}


def __getattr__(name):
    if name not in _LAZY:
        raise AttributeError(f"module 'tirx' has no attribute {name!r}")
    module, attribute = _LAZY[name]
    value = getattr(importlib.import_module(module, __name__), attribute)
    globals()[name] = value
    return value


def __dir__():
    return sorted([*globals(), *_LAZY])
