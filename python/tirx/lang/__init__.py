"""What kernels use beside T and Tx: shared-memory pools and pipeline state.

Plain Python classes: their methods run while a kernel is parsed and emit statements into it.
"""

from .pipeline import PipelineState
from .pool import SMEMPool

__all__ = ["PipelineState", "SMEMPool"]
