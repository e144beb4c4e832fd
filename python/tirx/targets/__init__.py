"""Targets as values, and the plug-ins that describe them.

`Target("cuda", arch="sm_90a")` asks the plug-in of its kind for features and limits; nothing probes hardware.
A plug-in is a module with

    ARCHS                          names of the architectures that it knows, in order
    describe(arch)                 (features, limits) of one of them, see include/tirx/ir/target.h
    archs_with(feature)            the architectures that have a capability
    instructions.lookup(name)      the ir.Instr of that name, or None
    instructions.nearest_names(name)

and is imported when one of its targets or instructions is first asked for.
"""

from __future__ import annotations

import importlib

import tvm_ffi
from tvm_ffi import Object, register_object

from .. import _ffi_api as _api
from .. import errors

# kind -> (module, prefixes of the instruction names that it declares)
_PLUGINS: dict[str, tuple[str, tuple[str, ...]]] = {}


def register_target_kind(kind: str, module: str, prefixes=()) -> None:
    """Make `Target(kind, ...)` known. `module` is imported on first use; `prefixes` start the names of its
    instructions ("ptx.", "cuda.")."""
    _PLUGINS[kind] = (module, tuple(prefixes))


def plugin(kind: str):
    """The module that describes targets of `kind`; TargetError when there is none."""
    if kind not in _PLUGINS:
        raise errors.TargetError(
            f"unknown target kind {kind!r}", code="unknown-target-kind", found=repr(kind),
            required=f"one of {', '.join(map(repr, _PLUGINS))}",
            hint='for instance Target("cuda", arch="sm_90a")',
        )  # fmt: skip
    return importlib.import_module(_PLUGINS[kind][0])


@register_object("tx.Target")
class Target(Object):
    """What code is generated for. `Target("cuda", arch="sm_90a")` or `Target("cuda/sm_90a")`.

    Fields: kind, arch, features (capability names), limits (name -> int; bytes, threads, CTAs).
    Raises TargetError for an unknown kind or architecture, listing the known ones.
    """

    def __init__(self, kind: str, arch: str | None = None):
        if arch is None and "/" in kind:
            kind, arch = kind.split("/", 1)
        describe = plugin(kind)
        if arch not in describe.ARCHS:
            raise _unknown_arch(kind, arch, describe.ARCHS)
        features, limits = describe.describe(arch)
        self.__init_handle_by_constructor__(_api.Target, kind, arch, list(features), dict(limits))

    @classmethod
    def of(cls, target) -> Target:
        """A Target from a Target or its spelling "cuda/sm_90a"."""
        if isinstance(target, (str, Target)):
            return target if isinstance(target, Target) else cls(target)
        raise errors.TargetError(
            "this is no target", code="not-a-target", found=f"{target!r} of type {type(target).__name__}",
            required='a tirx.Target or its spelling, for instance "cuda/sm_90a"',
        )  # fmt: skip

    def has(self, feature: str) -> bool:
        """Whether the target has a capability."""
        return feature in self.features

    def limit(self, name: str, otherwise: int = 0) -> int:
        """The limit of that name, or `otherwise` when the target states none."""
        return self.limits.get(name, otherwise)

    def __str__(self):
        return f"{self.kind}/{self.arch}"

    def __repr__(self):
        return f'Target("{self.kind}", arch="{self.arch}")'


def _unknown_arch(kind, arch, known):
    return errors.TargetError(
        f"{kind} target without an architecture" if arch is None else f"unknown {kind} architecture {arch!r}",
        code="unknown-arch", found=repr(arch), required=f"one of {', '.join(known)}",
        hint=f'Target("{kind}", arch="{known[0]}") or Target("{kind}/{known[0]}")',
    )  # fmt: skip


def _instructions_of(name: str):
    """The instruction tables whose prefix `name` has."""
    for module, prefixes in _PLUGINS.values():
        if name.startswith(prefixes):
            return importlib.import_module(module + ".instructions")
    return None


@tvm_ffi.register_global_func("tx.instr_lookup")
def _instr_lookup(name):
    """Hook of C++ FindInstr: declares `name` when a table knows it."""
    table = _instructions_of(str(name))
    instr = table.lookup(str(name)) if table else None
    if instr is not None:
        _api.register_instr(instr)


@tvm_ffi.register_global_func("tx.instr_nearest")
def _instr_nearest(name):
    """Hook of C++ MakeInstrCall: existing instruction names that look like `name`, best first."""
    table = _instructions_of(str(name))
    return table.nearest_names(str(name)) if table else []


@tvm_ffi.register_global_func("tx.archs_with")
def _archs_with(kind, feature):
    """Hook of C++ CheckInstrTarget: the architectures of a kind that have a capability."""
    return plugin(str(kind)).archs_with(str(feature))


register_target_kind("cuda", "tirx.targets.cuda", ("ptx.", "cuda."))
