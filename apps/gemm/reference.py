"""NumPy's answer to kernel.py, and how far fp32 accumulation may be from it."""

import numpy as np


def inputs(rng, M, N, K):
    a = rng.standard_normal((M, K)).astype(np.float16)
    b = rng.standard_normal((N, K)).astype(np.float16)
    return [a, b, np.zeros((M, N), np.float32)]


def reference(a, b, _d, M, N, K):
    return {2: a.astype(np.float64) @ b.astype(np.float64).T}


def tolerance(M, N, K):
    """K additions of products below 6^2 in magnitude, each rounded to half an fp32 unit in the last place."""
    return K * 36 * 2.0**-24 * np.sqrt(K)
