"""Tensor memory of sm_100a and its relatives: allocation, fences, waits. (PTX ISA 9.1 section 9.7.16)"""

from __future__ import annotations

from .decl import ptx

_TCGEN05 = dict(features=("tcgen05",), unsupported="needs the asynchronous engines of a later release")


def declarations():
    """All instructions of the family."""
    warp = dict(team="warp", effects=("memory", "convergent"), **_TCGEN05)
    for group in ("cta_group::1", "cta_group::2"):
        yield ptx(
            f"tcgen05.alloc.{group}.sync.aligned.shared::cta.b32",
            "w shared address, r b32 columns",
            "[{0}], {1}",
            **warp,
        )
        yield ptx(f"tcgen05.dealloc.{group}.sync.aligned.b32", "r b32 address columns", "{0}, {1}", **warp)
        yield ptx(f"tcgen05.relinquish_alloc_permit.{group}.sync.aligned", **warp)
        yield ptx(
            f"tcgen05.commit.{group}.mbarrier::arrive::one.shared::cluster.b64",
            "rw shared barrier",
            "[{0}]",
            effects=("async",),
            **_TCGEN05,
        )
    for side in ("before", "after"):
        yield ptx(f"tcgen05.fence::{side}_thread_sync", effects=("barrier",), **_TCGEN05)
    for what in ("ld", "st"):
        yield ptx(
            f"tcgen05.wait::{what}.sync.aligned", team="warp", effects=("barrier", "convergent"), **_TCGEN05
        )
