"""NumPy's answer to kernel.py."""

import numpy as np


def inputs(rng, M, N):
    return [rng.standard_normal((M, N), dtype=np.float32) * 4, np.zeros((M, N), np.float32)]


def reference(a, _b, M, N):
    e = np.exp(a.astype(np.float64) - a.max(axis=1, keepdims=True))
    return {1: e / e.sum(axis=1, keepdims=True)}


def tolerance(M, N):
    """Values are at most 1; exp, the sum of N terms and the division each lose a few units of 2^-24."""
    return 16 * 2.0**-24
