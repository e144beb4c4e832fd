"""What each NVIDIA architecture can do, as named capabilities, and its limits.

Sources: target notes of the PTX ISA 9.1 (each instruction's section) and its table of architecture-specific
features; CUDA Programming Guide 13 section 5.1 (compute-capability tables 28-33); every row of `_FEATURES`
was checked by assembling one instruction per cell with ptxas 13.0 and 13.5.

Code for a name with the suffix `a` runs on exactly that architecture and may use its specific features; the
bare name has only the features that later architectures keep.
"""

from __future__ import annotations

ARCHS = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_103a", "sm_110a", "sm_120",
         "sm_120a", "sm_121a")  # fmt: skip

_ALL = set(ARCHS)
_FROM_89 = _ALL - {"sm_80", "sm_86"}
_FROM_90 = _FROM_89 - {"sm_89"}
_FROM_100 = _FROM_90 - {"sm_90", "sm_90a"}
_TMEM = {"sm_100a", "sm_103a", "sm_110a"}
_A120 = {"sm_120a", "sm_121a"}
_SPECIFIC = _TMEM | _A120

# capability -> the architectures that have it (PTX ISA 9.1, section of the instruction in brackets)
_FEATURES = {
    "cp.async": _ALL,  # non-bulk copies global -> shared [9.7.9.25.3]
    "ldmatrix": _ALL,  # m8n8.b16 [9.7.14.5.15]
    "mbarrier": _ALL,  # init, arrive, test_wait [9.7.13.15]
    "redux": _ALL,  # redux.sync on 32-bit integers [9.7.13.8]
    "arith.f16": _ALL,  # add, sub, mul, fma [9.7.4]
    "arith.bf16": _FROM_90,  # add, sub, mul (fma is everywhere) [9.7.4]
    "mma.f16": _ALL,  # mma.sync m16n8k8/k16 [9.7.14.5.14]
    "mma.bf16": _ALL,
    "mma.tf32": _ALL,
    "mma.int8": _ALL,
    "mma.fp8": _FROM_89,  # e4m3/e5m2 without .kind
    "cvt.fp8": _FROM_89,  # f32/f16x2 <-> e4m3x2/e5m2x2 [9.7.9.21]
    "stmatrix": _FROM_90,  # m8n8.b16 [9.7.14.5.16]
    "cluster": _FROM_90,  # clusters, distributed shared memory, mapa, barrier.cluster
    "mbarrier.tx": _FROM_90,  # try_wait, transaction counts, remote arrive
    "tma": _FROM_90,  # cp.async.bulk and tensor copies, prefetch, reduce
    "tma.multicast": _FROM_90,
    "elect": _FROM_90,  # elect.sync [9.7.13.14]
    "griddepcontrol": _FROM_90,
    "proxy.async": _FROM_90,  # fence.proxy.async [9.7.13.4]
    "multimem": _FROM_90,
    "atom.bf16": _FROM_90,  # add.noftz.bf16 and bf16x2 [9.7.13.5]
    "atom.vector": _FROM_90,  # atom/red .v2/.v4 on global [9.7.13.5]
    "cvt.tf32.rn": _FROM_90,  # rn and rz; rna is everywhere
    "setmaxnreg": {"sm_90a"} | _SPECIFIC,
    "tensormap.replace": {"sm_90a"} | _SPECIFIC,
    "wgmma": {"sm_90a"},
    "tma.gather4": _FROM_100,
    "clc": _FROM_100,  # clusterlaunchcontrol try_cancel, query
    "clc.multicast": _SPECIFIC,
    "f32x2": _FROM_100,  # packed add/mul/fma
    "ldst.256": _FROM_100,  # 256-bit ld/st.global
    "tcgen05": _TMEM,  # tensor memory and its instructions [9.7.16]
    "tcgen05.i8": {"sm_100a", "sm_110a"},
    "tcgen05.scale_input_d": {"sm_100a", "sm_103a"},
    "tcgen05.ld.red": {"sm_103a", "sm_110a"},
    "tma.cta_group": _TMEM,  # cta_group::2, scatter4, im2col::w, gather4 to a cluster
    "ldmatrix.b8": _SPECIFIC,
    "stmatrix.b8": _SPECIFIC,
    "cvt.narrow": _SPECIFIC,  # e2m1, e2m3, e3m2, ue8m0
    "cvt.rs": {"sm_100a", "sm_103a"},
    "redux.f32": {"sm_100a", "sm_103a"},
    "mma.f8f6f4": _A120,
    "mma.block_scale": _A120,
}

_KIB = 1024
# compute capability -> shared bytes per SM and largest per CTA, warps per SM, CTAs per SM, largest cluster
# (portable), largest cluster with the opt-in attribute. Programming Guide tables 30-32.
_RESOURCES = {
    "80": (164 * _KIB, 163 * _KIB, 64, 32, 1, 1),
    "86": (100 * _KIB, 99 * _KIB, 48, 16, 1, 1),
    "89": (100 * _KIB, 99 * _KIB, 48, 24, 1, 1),
    "90": (228 * _KIB, 227 * _KIB, 64, 32, 8, 16),
    "100": (228 * _KIB, 227 * _KIB, 64, 32, 8, 16),
    "103": (228 * _KIB, 227 * _KIB, 64, 32, 8, 16),
    # The opt-in cluster size of these is not documented: the portable one is promised.
    "110": (228 * _KIB, 227 * _KIB, 48, 24, 8, 8),
    "120": (100 * _KIB, 99 * _KIB, 48, 24, 8, 8),
    "121": (100 * _KIB, 99 * _KIB, 48, 24, 8, 8),
}

# The same on every architecture of the table.
_COMMON = {
    "static_shared_bytes": 48 * _KIB,
    "local_bytes_per_thread": 512 * _KIB,  # CUDA C++ Programming Guide, technical specifications
    "reserved_shared_bytes_per_cta": _KIB,
    "shared_banks": 32,
    "shared_bank_bytes": 4,
    "threads_per_cta": 1024,
    "registers_per_thread": 255,
    "registers_per_cta": 65536,
    "registers_per_sm": 65536,
    "warp_size": 32,
    "named_barriers": 16,
    "grid_x": 2**31 - 1,
    "grid_y": 65535,
    "grid_z": 65535,
}


def describe(arch: str) -> tuple[list[str], dict[str, int]]:
    """(features, limits) of a name in ARCHS. Sizes in bytes, clusters in CTAs."""
    features = [name for name, archs in _FEATURES.items() if arch in archs]
    limits = dict(_COMMON)
    keys = ("shared_bytes_per_sm", "shared_bytes_per_cta", "warps_per_sm", "ctas_per_sm", "cluster_ctas",
            "cluster_ctas_opt_in")  # fmt: skip
    limits.update(zip(keys, _RESOURCES[arch[3:].rstrip("a")]))
    if "tcgen05" in features:
        limits.update(tmem_lanes=128, tmem_columns=512)  # 32-bit cells [9.7.16.1]
    return features, limits


def archs_with(feature: str) -> list[str]:
    """The architectures that have a capability; empty for an unknown one."""
    return [a for a in ARCHS if a in _FEATURES.get(feature, ())]
