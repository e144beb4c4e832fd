"""Asynchronous engines of sm_90 and later: mbarriers, wgmma control, register budgets.

(PTX ISA 9.1 sections 9.7.13.15 and 9.7.15)
"""

from __future__ import annotations

from .decl import cuda, ptx

_LATER = dict(unsupported="needs the asynchronous engines of a later release")


def declarations():
    """All instructions of the family."""
    yield from _mbarrier()
    for name in ("fence", "commit_group"):
        yield ptx(
            f"wgmma.{name}.sync.aligned",
            features=("wgmma",),
            effects=("barrier", "convergent"),
            team="warpgroup",
            **_LATER,
        )
    yield ptx(
        "wgmma.wait_group.sync.aligned",
        "imm s32 n",
        "{0}",
        features=("wgmma",),
        effects=("barrier", "convergent"),
        team="warpgroup",
        **_LATER,
    )
    for step in ("inc", "dec"):
        yield ptx(
            f"setmaxnreg.{step}.sync.aligned.u32",
            "imm s32 registers",
            "{0}",
            features=("setmaxnreg",),
            effects=("convergent",),
            team="warpgroup",
            sim="setmaxnreg",
        )
    for name in ("launch_dependents", "wait"):
        yield ptx(
            f"griddepcontrol.{name}", features=("griddepcontrol",), effects=("barrier",), sim="griddepcontrol"
        )
    yield from _bulk()


def _mbarrier():
    memory = dict(features=("mbarrier",), effects=("memory", "barrier"), **_LATER)
    tx = dict(features=("mbarrier.tx",), effects=("memory", "barrier"), **_LATER)
    yield ptx("mbarrier.init.shared::cta.b64", "w shared barrier, r b32 count", "[{0}], {1}", **memory)
    yield ptx("mbarrier.inval.shared::cta.b64", "w shared barrier", "[{0}]", **memory)
    yield ptx("mbarrier.arrive.shared::cta.b64", "w b64 state, rw shared barrier", "{0}, [{1}]", **memory)
    yield ptx(
        "mbarrier.arrive.expect_tx.shared::cta.b64",
        "w b64 state, rw shared barrier, r b32 bytes",
        "{0}, [{1}], {2}",
        **tx,
    )
    yield ptx(
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64", "rw shared barrier, r b32 bytes", "[{0}], {1}", **tx
    )
    for wait, features in (("test_wait", memory), ("try_wait", tx)):
        name = f"mbarrier.{wait}.parity.shared::cta.b64"
        yield ptx(
            name,
            "w b32 done, r shared barrier, r b32 parity",
            body=f"{{ .reg .pred p; {name} p, [{{1}}], {{2}}; selp.b32 {{0}}, 1, 0, p; }}",
            **features,
        )
    yield cuda("mbarrier_wait", "r shared barrier, r b32 parity", "mbarrier_wait({*})", helper=_WAIT, **tx)


_WAIT = """__device__ __forceinline__ void mbarrier_wait(const void *barrier, unsigned parity) {
  unsigned address = (unsigned)__cvta_generic_to_shared(barrier);
  asm volatile(
      "{\\n"
      "  .reg .pred done;\\n"
      "again:\\n"
      "  mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\\n"
      "  @!done bra again;\\n"
      "}\\n" ::"r"(address),
      "r"(parity)
      : "memory");
}
"""


def _bulk():
    tma = dict(features=("tma",), effects=("async", "memory"), **_LATER)
    yield ptx(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
        "w shared dst, r global src, r b32 bytes, rw shared barrier",
        "[{0}], [{1}], {2}, [{3}]",
        **tma,
    )
    yield ptx(
        "cp.async.bulk.global.shared::cta.bulk_group",
        "w global dst, r shared src, r b32 bytes",
        "[{0}], [{1}], {2}",
        **tma,
    )
    yield ptx("cp.async.bulk.commit_group", **tma)
    for read in ("", ".read"):
        yield ptx(f"cp.async.bulk.wait_group{read}", "imm s32 n", "{0}", **tma)
