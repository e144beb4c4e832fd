"""NumPy's answer to kernel.py."""

import numpy as np


def inputs(rng, N):
    return [rng.standard_normal(N, dtype=np.float32), np.zeros(1, np.float32)]


def reference(a, _out, N):
    return {1: np.array([a.astype(np.float64).sum()])}


def tolerance(N):
    """Partial sums stay below 8 sqrt(N); each of about log2(N) + N / 4096 additions rounds once."""
    return 8 * N**0.5 * 2.0**-24 * (N.bit_length() + N / 4096)
