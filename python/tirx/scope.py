"""Execution scopes: which threads run a tile call, as what team (paper section 4)."""

from __future__ import annotations

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
