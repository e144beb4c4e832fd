"""cvt between packed formats. (PTX ISA 9.1 section 9.7.9.21)

With two f32 sources the first goes to the upper half. Packed narrow values sit in a 16-bit register (e2m1x2:
in its low byte), the element with the lower index in the less significant bits.
"""

from __future__ import annotations

from .decl import ptx

_NARROW = {"e2m3x2": "b16", "e3m2x2": "b16"}


def declarations():
    """All instructions of the family."""
    for to in ("f16x2", "bf16x2"):
        for rounding in ("rn", "rz"):
            for relu in ("", ".relu"):
                yield _cvt(f"{rounding}{relu}.{to}.f32", "w b32 d, r f32 a b", rounding, to, "f32")
    for to in ("e4m3x2", "e5m2x2"):
        for relu in ("", ".relu"):
            yield _cvt(f"rn.satfinite{relu}.{to}.f32", "w b16 d, r f32 a b", "rn", to, "f32", ("cvt.fp8",))
            yield _cvt(f"rn.satfinite{relu}.{to}.f16x2", "w b16 d, r b32 a", "rn", to, "f16x2", ("cvt.fp8",))
            yield _cvt(f"rn{relu}.f16x2.{to}", "w b32 d, r b16 a", "rn", "f16x2", to, ("cvt.fp8",))
    yield _cvt("rna.tf32.f32", "w b32 d, r f32 a", "rna", "tf32", "f32")
    for rounding in ("rn", "rz"):
        yield _cvt(f"{rounding}.tf32.f32", "w b32 d, r f32 a", rounding, "tf32", "f32", ("cvt.tf32.rn",))
    yield from _narrow()


def _narrow():
    features = ("cvt.narrow",)
    for to, register in _NARROW.items():
        yield _cvt(f"rn.satfinite.{to}.f32", f"w {register} d, r f32 a b", "rn", to, "f32", features)
        yield _cvt(f"rn.f16x2.{to}", f"w b32 d, r {register} a", "rn", "f16x2", to, features)
    for rounding in ("rz", "rp"):
        yield _cvt(
            f"{rounding}.satfinite.ue8m0x2.f32", "w b16 d, r f32 a b", rounding, "ue8m0x2", "f32", features
        )
        yield _cvt(
            f"{rounding}.satfinite.ue8m0x2.bf16x2",
            "w b16 d, r b32 a",
            rounding,
            "ue8m0x2",
            "bf16x2",
            features,
        )
    yield _cvt("rn.bf16x2.ue8m0x2", "w b32 d, r b16 a", "rn", "bf16x2", "ue8m0x2", features)
    # A .b8 register exists only inside the asm block: the byte travels in a 16-bit register.
    common = dict(features=features, effects=("pure",), sim="cvt")
    yield ptx(
        "cvt.rn.satfinite.e2m1x2.f32",
        "w b16 d, r f32 a b",
        attrs=_attrs("rn", "e2m1x2", "f32", ""),
        body="{ .reg .b8 t; cvt.rn.satfinite.e2m1x2.f32 t, {1}, {2}; cvt.u16.u8 {0}, t; }",
        **common,
    )
    yield ptx(
        "cvt.rn.f16x2.e2m1x2",
        "w b32 d, r b16 a",
        attrs=_attrs("rn", "f16x2", "e2m1x2", ""),
        body="{ .reg .b8 t; cvt.u8.u16 t, {1}; cvt.rn.f16x2.e2m1x2 {0}, t; }",
        **common,
    )


def _cvt(suffix, signature, rounding, to, frm, features=()):
    places = "{0}, {1}, {2}" if signature.endswith("a b") else "{0}, {1}"
    return ptx(
        f"cvt.{suffix}",
        signature,
        places,
        features=features,
        effects=("pure",),
        sim="cvt",
        attrs=_attrs(rounding, to, frm, suffix),
    )


def _attrs(rounding, to, frm, suffix):
    return {"round": rounding, "to": to, "from": frm, "relu": int("relu" in suffix)}
