"""How instructions are declared: one short record each, turned into an ir.Instr when it is first looked up.

A signature lists the operands in the order of the PTX manual, destinations first, in groups separated by
commas:

    "w f32 d0 d1, r b32 a0 a1, imm s32 n=1, r shared addr, rw global:f32 p"

The first word says what the instruction does with the operand (r, w, rw) or names the space imm, str or
rest; the second is the value's PTX type or the memory space of a pointer, with the pointee if it matters.
`name=3` gives a default to a trailing operand, `name=@other` copies an earlier operand.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .... import ir

DTYPES = {
    "any": "void",
    "pred": "bool",
    "b8": "uint8",
    "b16": "uint16",
    "b32": "uint32",
    "b64": "uint64",
    "u8": "uint8",
    "s8": "int8",
    "u16": "uint16",
    "s16": "int16",
    "u32": "uint32",
    "s32": "int32",
    "u64": "uint64",
    "s64": "int64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "f16x2": "float16x2",
    "bf16x2": "bfloat16x2",
}
_SPACES = ("shared", "global", "generic", "tmem")


@dataclass(slots=True)
class Decl:
    """One instruction. Fields as in ir/instr.h; `result`: a PTX type, "" (none), "=operand" (its dtype)."""

    name: str
    signature: str
    text: str
    form: str = "asm"
    result: str = ""
    features: tuple = ()
    helper: str = ""
    includes: tuple = ()
    effects: tuple = ()
    team: str = "thread"
    sim: str = ""
    attrs: dict = field(default_factory=dict)
    unsupported: str = ""

    def instr(self) -> ir.Instr:
        """The declaration as the node that C++ reads."""
        operands = parse_signature(self.signature)
        names = [str(o.name) for o in operands]
        same = names.index(self.result[1:]) if self.result.startswith("=") else -1
        result = "void" if same >= 0 or not self.result else DTYPES[self.result]
        return ir.Instr(
            self.name,
            operands,
            result,
            self.features,
            self.form,
            self.text,
            self.helper,
            self.includes,
            self.effects,
            self.team,
            self.sim,
            self.attrs,
            self.unsupported,
            same,
        )


def parse_signature(signature: str) -> list[ir.InstrOperand]:
    """The operands of a signature."""
    out = []
    for group in filter(None, (g.strip() for g in signature.split(","))):
        out += _group(*group.split())
    return out


def _group(access, *words):
    if access in ("str", "rest"):
        return [ir.InstrOperand(name, "void", access, "r") for name in words]
    kind, names = words[0], words[1:]
    if access == "imm":
        return [_operand(n, DTYPES[kind], "imm", "r") for n in names]
    space, _, pointee = kind.partition(":")
    if space in _SPACES:
        return [_operand(n, DTYPES[pointee] if pointee else "handle", space, access) for n in names]
    return [_operand(n, DTYPES[kind], "reg", access) for n in names]


def _operand(name, dtype, space, access):
    name, _, default = name.partition("=")
    if not default:
        return ir.InstrOperand(name, dtype, space, access)
    value = ir.StringImm(default[1:]) if default.startswith("@") else ir.const(int(default, 0), dtype)
    return ir.InstrOperand(name, dtype, space, access, value)


def ptx(name, signature="", operands="", body="", **kw) -> Decl:
    """An instruction "ptx.<name>" whose text is its own name followed by `operands`, or else `body`."""
    text = body or (f"{name} {operands};" if operands else name + ";")
    return Decl("ptx." + name, signature, text, "asm", **kw)


def cuda(name, signature, text, **kw) -> Decl:
    """An instruction "cuda.<name>" printed as a C++ expression."""
    return Decl("cuda." + name, signature, text, "cuda", **kw)


def cuda_asm(name, signature, text, **kw) -> Decl:
    """An instruction "cuda.<name>" whose text is inline PTX."""
    return Decl("cuda." + name, signature, text, "asm", **kw)


def registers(first: int, count: int) -> str:
    """The PTX vector `{{0}, {1}}` of operands first..first+count-1."""
    return "{" + ", ".join(f"{{{i}}}" for i in range(first, first + count)) + "}"
