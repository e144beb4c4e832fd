"""TIRx: a compiler for machine-learning kernels.

Kernels import from `tirx`, `tirx.script`, `tirx.layout` and `tirx.lang`, and from nowhere else.
"""

from . import errors, ir
from .ir import IRModule, PrimFunc
from .targets import Target

__version__ = "0.1.0"
__all__ = ["IRModule", "PrimFunc", "Target", "errors", "ir"]
