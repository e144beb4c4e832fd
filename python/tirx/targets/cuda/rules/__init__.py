"""Dispatch rules of the kind "cuda", by family. Imported when a CUDA call is first dispatched."""

from . import copy, copy_async, fill, gemm, ldstmatrix, pointwise, reduce  # noqa: F401  (each registers its rules)
