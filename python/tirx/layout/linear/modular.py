"""Layouts with dimensions that are no powers of two: XOR becomes addition modulo the size.

An input dimension is a list of digits (radix, image), least first; a digit d contributes d * image. In an output
dimension whose size is a power of two the contributions combine by XOR, in any other by addition modulo the
size. Nothing that rests on XOR (elimination, free bits, division) holds for the latter, so none of it is offered:
questions are answered by enumeration within a budget, and `linear_layout()` refuses unless the map is linear.
"""

from __future__ import annotations

import itertools
import math

from .layout import LinearLayout, refuse, whole

BUDGET = 1 << 20


def _power_of_two(n):
    return n & (n - 1) == 0


class ModularLayout:
    """digits: {in_dim: [(radix, image), ...]}, an image one int per output dimension; out_dims: {name: size}."""

    def __init__(self, digits, out_dims):
        lists = isinstance(digits, dict) and isinstance(out_dims, dict)
        if not lists or not all(
            isinstance(d, (tuple, list)) and len(d) == 2 for ds in digits.values() for d in ds
        ):
            refuse("a modular layout is made of digits", "bad-basis", f"{digits}, {out_dims}",
                   "{in_dim: [(radix, image), ...]}, {out_dim: size}")  # fmt: skip
        self.out_dims, rank = dict(out_dims), len(out_dims)
        self.digits = {
            n: [(r, (v,) if type(v) is int else tuple(v)) for r, v in ds] for n, ds in digits.items()
        }
        if not all(type(s) is int and s > 0 for s in self.out_dims.values()):
            refuse("output sizes are positive ints", "bad-shape", self.out_dims, "sizes >= 1")
        for n, ds in self.digits.items():
            for r, image in ds:
                self._check_digit(n, r, image, rank)

    def _check_digit(self, name, radix, image, rank):
        if type(radix) is not int or radix < 2 or len(image) != rank:
            refuse(
                f"a digit of {name} is malformed", "bad-basis", (radix, image), f"(radix >= 2, {rank} ints)"
            )
        for v, (out, size) in zip(image, self.out_dims.items()):
            reach = v * (radix - 1) if _power_of_two(size) else v
            if not 0 <= reach < size:
                refuse(
                    f"a digit of {name} leaves the output {out}",
                    "out-of-range",
                    (radix, image),
                    f"below {size}",
                )

    @property
    def in_dims(self) -> dict:
        """{name: size}."""
        return {n: math.prod(r for r, _ in ds) for n, ds in self.digits.items()}

    def apply(self, ins) -> dict:
        """{out_dim: coordinate}."""
        dims = self.in_dims
        if set(ins) != set(dims) or any(whole(ins[n]) is None or not 0 <= ins[n] < dims[n] for n in dims):
            refuse("coordinates do not fit the layout", "out-of-range", ins, f"{dims}")
        out = dict.fromkeys(self.out_dims, 0)
        for n, ds in self.digits.items():
            x = ins[n]
            for r, image in ds:
                x, d = divmod(x, r)
                for v, (name, size) in zip(image, self.out_dims.items()):
                    term = d * v
                    out[name] = out[name] ^ term if _power_of_two(size) else (out[name] + term) % size
        return out

    def _points(self):
        dims = self.in_dims
        if math.prod(dims.values()) > BUDGET:
            refuse(
                "the layout is too large to enumerate",
                "budget",
                math.prod(dims.values()),
                f"at most {BUDGET}",
            )
        for values in itertools.product(*[range(s) for s in reversed(dims.values())]):
            yield dict(zip(reversed(dims), values))

    def table(self) -> list:
        """Images of all inputs, the first dimension fastest."""
        return [tuple(self.apply(p).values()) for p in self._points()]

    def is_injective(self) -> bool:
        images = self.table()
        return len(set(images)) == len(images)

    def is_surjective(self) -> bool:
        return len(set(self.table())) == math.prod(self.out_dims.values())

    def num_consecutive(self) -> int:
        """Vector width: the largest power of two V that divides the first input dimension and for which
        L(a*V + v) = L(a*V) + (v, 0, ...) everywhere, without wrapping."""
        size = next(iter(self.in_dims.values()), 1)
        width, images = 1, self.table()
        while size % (2 * width) == 0 and self._consecutive(images, 2 * width):
            width *= 2
        return width

    @staticmethod
    def _consecutive(images, width):
        return all(y == (images[i - i % width][0] + i % width, *images[i - i % width][1:])
                   for i, y in enumerate(images))  # fmt: skip

    def linear_layout(self) -> LinearLayout:
        """The layout over GF(2) when every size is a power of two and every digit is linear; else refused."""
        for kind, dims in (("input", self.in_dims), ("output", self.out_dims)):
            for n, size in dims.items():
                if not _power_of_two(size):
                    refuse(f"the {kind} {n} adds modulo its size; XOR does not describe it", "not-linear",
                           f"size {size}", "powers of two")  # fmt: skip
        bases = {n: [b for r, v in ds for b in self._bits(n, r, v)] for n, ds in self.digits.items()}
        return LinearLayout(bases, self.out_dims)

    @staticmethod
    def _bits(name, radix, image):
        shifted = [tuple(v << i for v in image) for i in range(radix.bit_length() - 1)]
        for v in image:
            if any(v << i & v for i in range(1, len(shifted))):
                refuse(
                    f"a digit of {name} carries",
                    "not-linear",
                    (radix, image),
                    "multiples without common bits",
                )
        return shifted

    def __repr__(self):
        return f"ModularLayout({self.digits}, {self.out_dims})"
