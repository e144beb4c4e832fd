"""NumPy's answer to kernel.py."""

import numpy as np


def inputs(rng, M, N):
    return [rng.standard_normal((M, N), dtype=np.float32), np.zeros((N, M), np.float32)]


def reference(a, _b, M, N):
    return {1: a.T}


def tolerance(M, N):
    return 0.0
