"""What a linear layout means, written for the tests alone: bases as tuples, XOR by tuples, images by enumeration."""

import itertools
import os
import random

from tirx.layout.linear import LinearLayout


def xor(a, b):
    return tuple(x ^ y for x, y in zip(a, b))


def evaluate(bases, rank, ins):
    """The definition: XOR of the bases at the set bits. `bases` maps names to lists of tuples (or ints)."""
    out = (0,) * rank
    for name, x in ins.items():
        for bit, basis in enumerate(bases[name]):
            if x >> bit & 1:
                out = xor(out, (basis,) if isinstance(basis, int) else tuple(basis))
    return out


def points(dims):
    """Every assignment {name: coordinate}, the first name fastest."""
    names = list(dims)
    for values in itertools.product(*[range(dims[n]) for n in reversed(names)]):
        yield dict(zip(reversed(names), values))


def table(layout):
    """{flat input (first dimension fastest): output tuple} by calling apply."""
    return [tuple(layout.apply(p).values()) for p in points(layout.in_dims)]


def defined(bases, rank):
    """The same table from the definition."""
    dims = {n: 1 << len(b) for n, b in bases.items()}
    return [evaluate(bases, rank, p) for p in points(dims)]


def random_layout(rng, ins, outs, zero=0.2):
    """ins, outs: {name: bits}. Any bases at all."""
    bases = {n: [tuple(0 if rng.random() < zero else rng.randrange(1 << b) for b in outs.values())
                 for _ in range(k)] for n, k in ins.items()}  # fmt: skip
    return LinearLayout(bases, {n: 1 << b for n, b in outs.items()})


def seeded(test):
    """A generator whose seed is printed; TIRX_FUZZ_SEED repeats a run."""
    seed = int(os.environ.get("TIRX_FUZZ_SEED", "4"))
    print(f"{test}: TIRX_FUZZ_SEED={seed}")
    return random.Random(seed)


def square_maps(bits, in_bits=None):
    """Every linear map of `bits` output bits from `in_bits` input bits."""
    for cols in itertools.product(range(1 << bits), repeat=bits if in_bits is None else in_bits):
        yield LinearLayout({"x": list(cols)}, {"y": 1 << bits})
