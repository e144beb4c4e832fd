"""Atomic operations on global and shared memory. (PTX ISA 9.1 sections 9.7.13.5, 9.7.13.6)

Without a scope in the name they are relaxed and hold for the whole device (.gpu).
"""

from __future__ import annotations

from .decl import DTYPES, cuda, ptx

_ATOMIC_ADD = """template <typename T>
__device__ __forceinline__ T atomic_add(T *address, T value) {
  return atomicAdd(address, value);
}
__device__ __forceinline__ long long atomic_add(long long *address, long long value) {
  return (long long)atomicAdd((unsigned long long *)address, (unsigned long long)value);
}
"""

# The other operations of CUDA C++ know 64-bit integers only without a sign.
_ATOMIC_BITS = """template <typename T>
__device__ __forceinline__ T atomic_{op}(T *address, T value) {{
  return atomic{Op}(address, value);
}}
__device__ __forceinline__ long long atomic_{op}(long long *address, long long value) {{
  return (long long)atomic{Op}((unsigned long long *)address, (unsigned long long)value);
}}
"""

_ATOMIC_CAS = """template <typename T>
__device__ __forceinline__ T atomic_cas(T *address, T compare, T value) {
  return atomicCAS(address, compare, value);
}
__device__ __forceinline__ long long atomic_cas(long long *address, long long compare, long long value) {
  return (long long)atomicCAS(
      (unsigned long long *)address, (unsigned long long)compare, (unsigned long long)value);
}
"""

# Floats compare as signed integers when they are not negative and as unsigned, reversed, when they are.
_ATOMIC_EXTREME = """template <typename T>
__device__ __forceinline__ T atomic_{op}(T *address, T value) {{
  return atomic{Op}(address, value);
}}
__device__ __forceinline__ float atomic_{op}(float *address, float value) {{
  return __float_as_int(value) >= 0
             ? __int_as_float(atomic{Op}((int *)address, __float_as_int(value)))
             : __uint_as_float(atomic{Inverse}((unsigned *)address, __float_as_uint(value)));
}}
"""


def declarations():
    """All instructions of the family."""
    yield from _helpers()
    yield from _ptx()


def _helpers():
    """cuda.atomic_*(pointer, value): the old value, of the dtype of `value`."""
    common = dict(result="=value", effects=("memory",), sim="atomic")
    pair = "rw generic:any address, r any value"
    yield cuda("atomic_add", pair, "atomic_add({*})", helper=_ATOMIC_ADD, attrs={"op": "add"}, **common)
    for op, inverse in (("max", "Min"), ("min", "Max")):
        helper = _ATOMIC_EXTREME.format(op=op, Op=op.capitalize(), Inverse=inverse)
        yield cuda(f"atomic_{op}", pair, f"atomic_{op}({{*}})", helper=helper, attrs={"op": op}, **common)
    for op in ("exch", "and", "or", "xor"):
        helper = _ATOMIC_BITS.format(op=op, Op=op.capitalize())
        yield cuda(f"atomic_{op}", pair, f"atomic_{op}({{*}})", helper=helper, attrs={"op": op}, **common)
    triple = "rw generic:any address, r any compare, r any value"
    yield cuda("atomic_cas", triple, "atomic_cas({*})", helper=_ATOMIC_CAS, attrs={"op": "cas"}, **common)


# operation -> types, for both spaces
_TYPES = {
    "add": ("u32", "s32", "u64", "f32", "f64"),
    "min": ("u32", "s32", "u64", "s64"),
    "max": ("u32", "s32", "u64", "s64"),
    "and": ("b32", "b64"),
    "or": ("b32", "b64"),
    "xor": ("b32", "b64"),
    "exch": ("b32", "b64"),
    "inc": ("u32",),
    "dec": ("u32",),
}
# add.noftz on halves: the operand is one 16- or 32-bit register
_HALVES = {"f16": "b16", "f16x2": "b32", "bf16": "b16", "bf16x2": "b32"}


def _ptx():
    for space in ("global", "shared"):
        for op, types in _TYPES.items():
            for t in types:
                yield from _pair(space, op, t, t)
        for t, register in _HALVES.items():
            features = ("atom.bf16",) if t.startswith("bf16") else ()
            yield from _pair(space, "add.noftz", t, register, features)
        for t in ("b32", "b64"):
            yield ptx(
                f"atom.{space}.cas.{t}",
                f"w {t} d, rw {space}:{t} address, r {t} compare value",
                "{0}, [{1}], {2}, {3}",
                effects=("memory",),
                sim="atomic.ptx",
                attrs=_attrs("cas", t, 1),
            )


def _pair(space, op, t, register, features=()):
    """atom (old value into d) and red (no result) of one operation."""
    yield ptx(
        f"atom.{space}.{op}.{t}",
        f"w {register} d, rw {space}:{register} address, r {register} value",
        "{0}, [{1}], {2}",
        effects=("memory",),
        features=features,
        sim="atomic.ptx",
        attrs=_attrs(op, t, 1),
    )
    if op != "exch":
        yield ptx(
            f"red.{space}.{op}.{t}",
            f"rw {space}:{register} address, r {register} value",
            "[{0}], {1}",
            effects=("memory",),
            features=features,
            sim="atomic.ptx",
            attrs=_attrs(op, t, 0),
        )


def _attrs(op, t, has_result):
    return {"op": op.split(".")[0], "dtype": DTYPES[t], "result": has_result}
