"""Barriers and fences. (PTX ISA 9.7.13.1-9.7.13.4; barrier.cluster 9.7.13.3)"""

from __future__ import annotations

from .decl import cuda, cuda_asm, ptx

_BARRIER = ("barrier", "convergent")


def declarations():
    """All instructions of the family."""
    yield from _cta()
    yield from _named()
    yield from _cluster()
    yield from _fences()


def _cta():
    yield cuda("cta_sync", "", "__syncthreads()", effects=_BARRIER, team="cta", sim="barrier.cta")
    yield cuda(
        "warp_sync",
        "r b32 mask=0xffffffff",
        "__syncwarp({*})",
        effects=_BARRIER,
        team="warp",
        sim="barrier.warp",
    )
    for mode, result in (("and", "pred"), ("or", "pred"), ("count", "s32")):
        text = f"__syncthreads_{mode}({{0}})" + (" != 0" if result == "pred" else "")
        yield cuda(
            f"syncthreads_{mode}",
            "r pred predicate",
            text,
            result=result,
            effects=_BARRIER,
            team="cta",
            sim="barrier.cta_reduce",
            attrs={"mode": mode},
        )


def _named():
    """A named barrier counts `count` threads, a multiple of 32; id 0 is the one of cta_sync."""
    ids = "r b32 id, r b32 count"
    yield cuda_asm(
        "warpgroup_sync",
        "r b32 id",
        "bar.sync {0}, 128;",
        effects=_BARRIER,
        team="warpgroup",
        sim="barrier.named",
        attrs={"mode": "sync", "count": 128},
    )
    yield cuda_asm(
        "named_barrier_sync",
        ids,
        "bar.sync {0}, {1};",
        effects=_BARRIER,
        team="warp",
        sim="barrier.named",
        attrs={"mode": "sync"},
    )
    yield cuda_asm(
        "named_barrier_arrive",
        ids,
        "bar.arrive {0}, {1};",
        effects=_BARRIER,
        team="warp",
        sim="barrier.named",
        attrs={"mode": "arrive"},
    )
    for mode in ("sync", "arrive"):
        aligned = (f"bar.{mode}", f"bar.cta.{mode}", f"barrier.cta.{mode}.aligned", f"barrier.{mode}.aligned")
        for name in (*aligned, f"barrier.cta.{mode}", f"barrier.{mode}"):
            yield ptx(
                name,
                ids,
                "{0}, {1}",
                effects=_BARRIER,
                team="warp",
                sim="barrier.named",
                attrs={"mode": mode},
            )


def _cluster():
    common = dict(features=("cluster",), effects=_BARRIER)
    arrive, wait = "barrier.cluster.arrive", "barrier.cluster.wait"
    yield cuda_asm(
        "cluster_sync",
        "",
        f"{arrive}.aligned; {wait}.aligned;",
        team="cta",
        sim="barrier.cluster",
        attrs={"mode": "sync"},
        **common,
    )
    yield cuda_asm(
        "cluster_arrive",
        "",
        f"{arrive}.aligned;",
        team="warp",
        sim="barrier.cluster",
        attrs={"mode": "arrive"},
        **common,
    )
    yield cuda_asm(
        "cluster_wait",
        "",
        f"{wait}.aligned;",
        team="warp",
        sim="barrier.cluster",
        attrs={"mode": "wait"},
        **common,
    )
    for name in (arrive, arrive + ".release", arrive + ".relaxed", wait, wait + ".acquire"):
        attrs = {"mode": name.split(".")[2], "relaxed": int("relaxed" in name)}
        yield ptx(name, sim="barrier.cluster", attrs=attrs, team="thread", **common)
        yield ptx(name + ".aligned", sim="barrier.cluster", attrs=attrs, team="warp", **common)


def _fences():
    for name, scope, text in (
        ("thread_fence", "gpu", "__threadfence()"),
        ("thread_fence_block", "cta", "__threadfence_block()"),
        ("thread_fence_system", "sys", "__threadfence_system()"),
    ):
        yield cuda(name, "", text, effects=("barrier",), sim="fence", attrs={"scope": scope})
    for name, scope in (("cta", "cta"), ("gl", "gpu"), ("sys", "sys")):
        yield ptx(f"membar.{name}", effects=("barrier",), sim="fence", attrs={"scope": scope})
    for kind in ("acq_rel", "sc"):
        for scope in ("cta", "cluster", "gpu", "sys"):
            yield ptx(
                f"fence.{kind}.{scope}",
                effects=("barrier",),
                sim="fence",
                attrs={"scope": scope},
                features=("cluster",) if scope == "cluster" else (),
            )
    for space in ("", ".global", ".shared::cta", ".shared::cluster"):
        yield ptx(
            "fence.proxy.async" + space,
            effects=("barrier",),
            features=("proxy.async",),
            sim="fence.proxy",
            attrs={"proxy": "async"},
        )
    yield ptx("fence.proxy.alias", effects=("barrier",), sim="fence.proxy", attrs={"proxy": "alias"})
    yield ptx(
        "fence.mbarrier_init.release.cluster",
        effects=("barrier",),
        features=("cluster",),
        sim="fence",
        attrs={"scope": "cluster"},
    )
