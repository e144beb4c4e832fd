"""Time, printing, prefetch, address conversion and other single instructions."""

from __future__ import annotations

from .decl import cuda, cuda_asm, ptx


def declarations():
    """All instructions of the family."""
    yield from _time()
    for level in ("L1", "L2"):
        yield ptx(
            f"prefetch.global.{level}", "r global address", "[{0}]", effects=("memory",), sim="prefetch"
        )
    yield cuda("printf", "str format, rest args", "printf({*})", effects=("memory",), sim="printf")
    yield cuda("trap", "", "__trap()", effects=("barrier",), sim="trap")
    yield cuda_asm(
        "cvta_generic_to_shared",
        "r shared pointer",
        "mov.b32 {r}, {0};",
        result="b32",
        effects=("pure",),
        sim="cvta",
    )
    yield from _bits()


def _time():
    clock = dict(effects=("memory",), sim="clock")
    yield cuda("nano_sleep", "r u32 nanoseconds", "__nanosleep({0})", effects=("memory",), sim="nanosleep")
    yield ptx("nanosleep.u32", "r u32 nanoseconds", "{0}", effects=("memory",), sim="nanosleep")
    yield cuda("clock", "", "clock()", result="s32", attrs={"unit": "cycle"}, **clock)
    yield cuda("clock64", "", "clock64()", result="s64", attrs={"unit": "cycle"}, **clock)
    yield cuda_asm(
        "globaltimer", "", "mov.u64 {r}, %globaltimer;", result="u64", attrs={"unit": "ns"}, **clock
    )


def _bits():
    pure = dict(effects=("pure",), sim="bits")
    yield cuda("ffs_u32", "r u32 value", "__ffs({0})", result="s32", attrs={"fn": "ffs"}, **pure)
    yield cuda(
        "byte_perm", "r b32 a b selector", "__byte_perm({*})", result="b32", attrs={"fn": "prmt"}, **pure
    )
    yield cuda(
        "uint_as_float", "r u32 bits", "__uint_as_float({0})", result="f32", attrs={"fn": "same"}, **pure
    )
    yield cuda("float_as_uint", "r f32 x", "__float_as_uint({0})", result="u32", attrs={"fn": "same"}, **pure)
