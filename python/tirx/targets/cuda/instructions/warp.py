"""Between the lanes of a warp: shuffles, votes, match, elect, reductions.

(PTX ISA 9.1 sections 9.7.9.6 and 9.7.13.7-9.7.13.14)
"""

from __future__ import annotations

from .decl import cuda, cuda_asm, ptx

_FULL = "0xffffffffu"
# CUDA name -> (PTX mode, name of the third operand)
_SHUFFLES = {
    "": ("idx", "lane"),
    "_up": ("up", "delta"),
    "_down": ("down", "delta"),
    "_xor": ("bfly", "lane_mask"),
}

_WARP_REDUCE = """template <int width, typename T>
__device__ __forceinline__ T warp_{op}(T value) {{
#pragma unroll
  for (int step = width / 2; step > 0; step /= 2) {{
    T other = __shfl_xor_sync(0xffffffffu, value, step);
    value = {step};
  }}
  return value;
}}
"""
_STEPS = {
    "sum": "value + other",
    "max": "value < other ? other : value",
    "min": "other < value ? other : value",
}

_ELECT = """{
  .reg .pred p;
  elect.sync _|p, 0xffffffff;
  selp.b32 {r}, 1, 0, p;
}"""

_MATCH_ALL = """template <typename T>
__device__ __forceinline__ unsigned match_all_sync(unsigned mask, T value) {
  int all;
  return __match_all_sync(mask, value, &all);
}
"""


def declarations():
    """All instructions of the family."""
    yield from _shuffles()
    yield from _votes()
    yield from _reductions()


def _shuffles():
    common = dict(result="=value", effects=("convergent",), team="warp", sim="shfl")
    for suffix, (mode, third) in _SHUFFLES.items():
        call = f"__shfl{suffix}_sync"
        full = f"r b32 mask, r any value, r s32 {third}, r s32 width=32"
        for name in (f"shfl{suffix}_sync", call):
            yield cuda(name, full, call + "({*})", attrs={"mode": mode, "mask": 1}, **common)
        short = f"r any value, r s32 {third}, r s32 width=32"
        attrs = {"mode": mode, "mask": 0}
        yield cuda(f"shfl{suffix or '_idx'}", short, f"{call}({_FULL}, {{*}})", attrs=attrs, **common)
        yield ptx(
            f"shfl.sync.{mode}.b32",
            "w b32 d, r b32 a b c mask",
            "{0}, {1}, {2}, {3}, {4}",
            effects=("convergent",),
            team="warp",
            sim="shfl.ptx",
            attrs={"mode": mode},
        )


def _votes():
    common = dict(effects=("convergent",), team="warp")
    for mode, result in (("any", "pred"), ("all", "pred"), ("ballot", "b32")):
        text = f"__{mode}_sync({{*}})" + (" != 0" if result == "pred" else "")
        yield cuda(
            f"{mode}_sync",
            "r b32 mask, r pred predicate",
            text,
            result=result,
            sim="vote",
            attrs={"mode": mode},
            **common,
        )
    for mode, text, helper in (
        ("any", "__match_any_sync({*})", ""),
        ("all", "match_all_sync({*})", _MATCH_ALL),
    ):
        yield cuda(
            f"match_{mode}_sync",
            "r b32 mask, r any value",
            text,
            result="b32",
            sim="match",
            attrs={"mode": mode},
            helper=helper,
            **common,
        )
    for name in ("activemask", "__activemask"):
        yield cuda(name, "", "__activemask()", result="b32", sim="activemask", effects=("convergent",))
    yield cuda_asm("elect_sync", "", _ELECT, result="pred", sim="elect", features=("elect",), **common)


def _reductions():
    common = dict(effects=("convergent",), team="warp")
    for op, step in _STEPS.items():
        yield cuda(
            f"warp_{op}",
            "r any value, imm s32 width=32",
            f"warp_{op}<{{1}}>({{0}})",
            result="=value",
            helper=_WARP_REDUCE.format(op=op, step=step),
            sim="warp_reduce",
            attrs={"op": op},
            **common,
        )
    for op in ("add", "min", "max", "and", "or", "xor"):
        types = ("u32", "s32") if op in ("min", "max", "add") else ("b32",)
        for t in types:
            yield ptx(
                f"redux.sync.{op}.{t}",
                f"w {t} d, r {t} a, r b32 mask",
                "{0}, {1}, {2}",
                sim="redux",
                features=("redux",),
                attrs={"op": op},
                **common,
            )
            yield cuda(
                f"reduce_{op}_sync_{t}",
                f"r b32 mask, r {t} value",
                f"__reduce_{op}_sync({{*}})",
                result="=value",
                sim="redux.cuda",
                features=("redux",),
                attrs={"op": op},
                **common,
            )
