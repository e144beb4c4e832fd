"""Fast arithmetic. (PTX ISA 9.1 sections 9.7.3, 9.7.4, 9.7.1)

`approx` results differ from the exact value by a few ulp in most of the range; the sections give the bounds.
"""

from __future__ import annotations

from .decl import cuda_asm, ptx

# PTX name -> meaning; each also as a value: cuda.<name>(x)
_APPROX = {
    "ex2": "exp2",
    "lg2": "log2",
    "rcp": "reciprocal",
    "sqrt": "sqrt",
    "rsqrt": "rsqrt",
    "sin": "sin",
    "cos": "cos",
    "tanh": "tanh",
}


def declarations():
    """All instructions of the family."""
    for name, fn in _APPROX.items():
        for ftz in ("",) if name == "tanh" else ("", ".ftz"):
            yield ptx(
                f"{name}.approx{ftz}.f32",
                "w f32 d, r f32 a",
                "{0}, {1}",
                effects=("pure",),
                sim="math.ptx",
                attrs={"fn": fn, "ftz": int(bool(ftz))},
            )
        ftz = "" if name == "tanh" else ".ftz"
        yield cuda_asm(
            f"{name}_approx",
            "r f32 x",
            f"{name}.approx{ftz}.f32 {{r}}, {{0}};",
            result="f32",
            effects=("pure",),
            sim="math",
            attrs={"fn": fn, "ftz": int(bool(ftz))},
        )
    yield cuda_asm(
        "fdividef",
        "r f32 x y",
        "div.approx.f32 {r}, {0}, {1};",
        result="f32",
        effects=("pure",),
        sim="math",
        attrs={"fn": "divide", "ftz": 0},
    )
    yield from _arithmetic()


def _arithmetic():
    for t in ("f32", "f64"):
        yield ptx(
            f"fma.rn.{t}",
            f"w {t} d, r {t} a b c",
            "{0}, {1}, {2}, {3}",
            effects=("pure",),
            sim="math.ptx",
            attrs={"fn": "fma", "ftz": 0},
        )
        for op in ("add", "sub", "mul"):
            yield ptx(
                f"{op}.rn.{t}",
                f"w {t} d, r {t} a b",
                "{0}, {1}, {2}",
                effects=("pure",),
                sim="math.ptx",
                attrs={"fn": op, "ftz": 0},
            )
    for op in ("add", "sub", "mul", "fma"):
        names = "a b c" if op == "fma" else "a b"
        places = ", ".join(f"{{{i}}}" for i in range(len(names.split()) + 1))
        yield ptx(
            f"{op}.rn.f32x2",
            f"w b64 d, r b64 {names}",
            places,
            features=("f32x2",),
            effects=("pure",),
            sim="math.f32x2",
            attrs={"fn": op},
        )
    for t in ("f16x2", "bf16x2"):
        yield ptx(
            f"fma.rn.{t}",
            "w b32 d, r b32 a b c",
            "{0}, {1}, {2}, {3}",
            effects=("pure",),
            sim="math.half2",
            attrs={"fn": "fma", "dtype": t},
        )
        for op in ("min", "max"):
            yield ptx(
                f"{op}.{t}",
                "w b32 d, r b32 a b",
                "{0}, {1}, {2}",
                effects=("pure",),
                sim="math.half2",
                attrs={"fn": op, "dtype": t},
            )
