"""Dispatch rules of the kind "cuda", by family. Imported when a CUDA call is first dispatched."""

# Each module registers its rules.
from . import copy, copy_async, fill, gemm, ldstmatrix, permute_layout, pointwise, reduce  # noqa: F401
