"""cp.async: copies from global to shared memory that complete later. (PTX ISA 9.1 section 9.7.9.25.3)

`cp_size` bytes are written; only the first `src_size` are read, the rest become zero. `.ca` takes 4, 8 or
16 bytes and caches in L1; `.cg` takes 16 and does not.
"""

from __future__ import annotations

from .decl import ptx

_PREFETCH = ("", ".L2::64B", ".L2::128B", ".L2::256B")


def declarations():
    """All instructions of the family."""
    for cache in ("ca", "cg"):
        for space in ("shared", "shared::cta"):
            for prefetch in _PREFETCH:
                yield _copy(f"cp.async.{cache}.{space}.global{prefetch}", cache)
    common = dict(features=("cp.async",), sim="cp_async.group")
    yield ptx("cp.async.commit_group", effects=("async",), attrs={"mode": "commit"}, **common)
    yield ptx(
        "cp.async.wait_group", "imm s32 n", "{0}", effects=("barrier",), attrs={"mode": "wait"}, **common
    )
    yield ptx("cp.async.wait_all", effects=("barrier",), attrs={"mode": "wait_all"}, **common)


def _copy(name, cache):
    signature = "w shared dst, r global src, imm s32 cp_size=16, r u32 src_size=@cp_size"
    return ptx(
        name,
        signature,
        "[{0}], [{1}], {2}, {3}",
        features=("cp.async",),
        effects=("async", "memory"),
        sim="cp_async",
        attrs={"cache": cache},
    )
