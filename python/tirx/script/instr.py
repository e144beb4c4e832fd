"""T.ptx and T.cuda: dotted instruction names, checked against the instruction table when called."""

from __future__ import annotations

import keyword
from functools import cache
from importlib import import_module

from .. import _ffi_api as _api
from .. import targets  # noqa: F401  (answers the table's questions about instruction names)
from ..errors import TypeMismatch
from ..ir import Buffer, PrimExpr
from . import index as ix
from .builder import here


class InstrName:
    """A (part of a) dotted name: attributes extend it, a call builds the instruction.

    In attribute position `::` is written `__` and a trailing `_` hides a Python keyword (`async_`).
    """

    __slots__ = ("name", "special")

    def __init__(self, name, special=None):
        self.name, self.special = name, special or {}

    def __getattr__(self, part):
        if part.startswith("__") and part.endswith("__"):
            raise AttributeError(part)
        if part in self.special:
            return self.special[part]
        return InstrName(f"{self.name}.{decode(part)}")

    def __getitem__(self, text):
        return InstrName(f"{self.name}.{text}")

    def __call__(self, *args, attrs=None):
        _load_tables()
        return _api.instr_call(self.name, [_operand(a) for a in args], attrs or {}, here())

    def __repr__(self):
        return f"T.{self.name}"


@cache
def _load_tables():
    """Import the targets: they tell C++ where the instruction tables are."""
    import_module("tirx.targets")


def decode(part: str) -> str:
    """An attribute as the PTX spelling: async_ -> async, shared__cta -> shared::cta."""
    if part.endswith("_") and keyword.iskeyword(part[:-1]):
        part = part[:-1]
    return part.replace("__", "::")


def _operand(value):
    if isinstance(value, (PrimExpr, int, float, str)):
        return value
    hint = f"pass a pointer, {value.name}.ptr_to([...]), or an element" if isinstance(value, Buffer) else ""
    raise TypeMismatch(
        "this is not an instruction operand",
        code="bad-operand",
        span=here(),
        found=ix.describe(value),
        required="a value, a buffer element or a pointer",
        hint=hint,
    )
