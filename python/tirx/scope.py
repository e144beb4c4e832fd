"""Execution scopes: which threads run a tile call, as what team (paper section 4)."""

from __future__ import annotations

from typing import NamedTuple

from tvm_ffi import Object, register_object

from . import _ffi_api as _api
from .ir import Buffer

KINDS = ("thread", "warp", "warpgroup", "cta", "cluster")


@register_object("tx.DispatchContext")
class DispatchContext(Object):
    """Where a tile call stands; fields in include/tirx/scope/dispatch_context.h."""

    def local_view(self, buffer):
        """Flat buffer over this thread's own storage of a register buffer, indexed by memory coordinate."""
        return _api.local_view(buffer)

    def alloc(self, name, shape, dtype, scope="shared", layout=None, align=0):
        """A private buffer, allocated at the start of the kernel."""
        buffer = Buffer.make(name, shape, dtype, scope, layout, align)
        self.allocs.append(buffer)
        return buffer

    def add_device_init(self, stmt):
        """Run `stmt` (by every thread) at the start of the kernel."""
        self.device_init.append(stmt)

    def add_host_init(self, stmt):
        """Run `stmt` on the host before the launch."""
        self.host_init.append(stmt)


class ActiveSet(NamedTuple):
    """Who executes a tile call.

    threads: linear indices in the CTA; ctas: ranks in the cluster; both are upper bounds where a condition is
    only known at run time. agreed: the widest team whose members certainly agree to be there ("grid": no
    doubt). elected: one lane per warp, which one is known at run time. layout: the set as a TileLayout over
    cta_id, warpid and laneid (or tx), None when it is no progression (paper section 4.2).
    """

    call: object
    threads: list
    ctas: list
    agreed: str
    elected: bool
    layout: object


def active_sets(func) -> list[ActiveSet]:
    """The active set at each tile call of a tile-stage function that some thread reaches."""
    places = [dict(p.items()) for p in _api.active_sets(func)]
    return [
        ActiveSet(
            p["call"],
            [int(t) for t in p["threads"]],
            [int(c) for c in p["ctas"]],
            str(p["agreed"]),
            bool(p["elected"]),
            p["layout"],
        )  # fmt: skip
        for p in places
    ]
