"""The way from a parsed function to a kernel: one list of named passes.

`lower(func, target)` runs PASSES and returns the native function; `build_kernel` also splits host and device.
With TIRX_VERIFY=1 the function is verified before the first pass and after each; TIRX_DUMP=dir writes the
text after each pass to dir/<function>/<nn>_<pass>.py.
"""

from __future__ import annotations

import os
import time
from typing import NamedTuple

import tvm_ffi

from . import _ffi_api as _api
from . import arith, scope  # noqa: F401  (the classes of what rules receive)
from .errors import InternalError, VerifyError
from .targets import Target


class Pass(NamedTuple):
    """One step: `run(func, target)` returns the new function, or None when it only checks."""

    name: str
    run: object
    why: str


def _cpp(name, with_target=False):
    fn = tvm_ffi.get_global_func("tx.passes." + name)
    return fn if with_target else (lambda func, target: fn(func))


def _dispatch(func, target):
    """TilePrimitiveDispatch with the rules of tirx.tile. A Python exception raised by a rule comes back as it
    was raised: crossing C++ would reduce it to its message."""
    from .tile.dispatch import dispatch_tile_call

    raised = []

    def hook(call, context):
        try:
            return dispatch_tile_call(call, context)
        except BaseException as e:
            raised.append(e)
            raise

    return run_hooked(_DISPATCH, func, target, hook, raised)


_DISPATCH = tvm_ffi.get_global_func("tx.passes.tile_primitive_dispatch")


def run_hooked(run, func, target, hook, raised):
    """run(func, target, hook); when it fails because the hook did, the hook's own exception (the last of
    `raised`) is raised."""
    try:
        return run(func, target, hook)
    except BaseException:
        if raised:
            raise raised[-1] from raised[-1].__cause__
        raise


PASSES = (
    Pass("resolve_scopes", _cpp("resolve_scopes", True), "everything below asks for extents and scopes"),
    Pass("check_instructions", _cpp("check_instructions", True),
         "before dispatch, so that a mistake in the source is not blamed on a rule"),
    Pass("check_teams", _cpp("check_teams"), "on the user's own conditions, before rules add theirs"),
    Pass("tile_primitive_dispatch", _dispatch, "needs layouts and the active set, which later passes remove"),
    Pass("check_no_tile_calls", _cpp("check_no_tile_calls"), "what follows knows no tile calls"),
    Pass("apply_layouts", _cpp("apply_layouts"),
         "while scope ids are variables with known ranges, which proves vector accesses"),
    Pass("plan_shared", _cpp("plan_shared", True), "needs flat buffers; early, as it reports user errors"),
    Pass("lower_scope_ids", _cpp("lower_scope_ids"), "the last user of scope ids was apply_layouts"),
    Pass("vectorize_loops", _cpp("vectorize_loops"), "needs flat offsets: they show what is contiguous"),
    Pass("unroll_loops", _cpp("unroll_loops"), "before the passes that gain from constants"),
    Pass("narrow_index", _cpp("narrow_index"), "leaves casts that simplify removes"),
    Pass("simplify", _cpp("simplify"), "everything above may leave dead code and long sums"),
    Pass("legalize_dtypes", _cpp("legalize_dtypes", True), "its conversions hide algebra from the others"),
)  # fmt: skip


def _run(p: Pass, func, target, times):
    start = time.perf_counter()
    out = p.run(func, target)
    if times is not None:
        times[p.name] = times.get(p.name, 0.0) + time.perf_counter() - start
    return func if out is None else out


def lower(func, target, *, times=None, until=None):
    """`func` at the native stage (ARCHITECTURE.md).

    times: a dict that receives seconds per pass. until: the name of the last pass to run. A native function is
    returned as it is. Raises TirxError for the user's mistakes and InternalError for this package's.
    """
    target = Target.of(target)
    verify = os.environ.get("TIRX_VERIFY") == "1"
    dump = _Dump(func) if os.environ.get("TIRX_DUMP") else None
    native = func.attrs.get("tirx.stage") == "native"
    if verify:
        _verify(func, "native" if native else "tile", None)
    for p in () if native else PASSES:
        func = _run(p, func, target, times)
        if dump:
            dump(p.name, func)
        if verify:
            _verify(func, "native" if p.name == PASSES[-1].name else "tile", p.name)
        if p.name == until:
            break
    return func


def build_kernel(func, target, *, times=None):
    """The Kernel of `func` for `target`: host signature, device function, launch plan."""
    return _run(_SPLIT, lower(func, target, times=times), target, times)


_SPLIT = Pass(
    "split_host_device", _cpp("split_host_device"), "the launch plan needs the shared-memory totals"
)


def stages(func, target) -> dict:
    """The function at the stages that `tirx show --stage` prints: parsed, tile (scopes resolved), native."""
    return {
        "parsed": func,
        "tile": lower(func, target, until="resolve_scopes"),
        "native": lower(func, target),
    }


def _verify(func, stage, after):
    """Raise when `func` is not legal at `stage`: VerifyError for a program as it came (`after` is None),
    InternalError naming the pass for one that a pass made."""
    problems = _api.verify(func, stage)
    if not problems:
        return
    first = dict(problems[0].items())
    if after is not None:
        text = "; ".join(str(p["message"]) for p in problems)
        raise InternalError(f"pass {after} made an illegal program: {text}\n{func}")
    raise VerifyError(
        str(first["message"]), code=str(first["code"]), found=str(first["found"]),
        required=str(first["required"]), span=first["span"],
    )  # fmt: skip


class _Dump:
    """Writes the text of a function after each pass."""

    def __init__(self, func):
        from pathlib import Path

        self.folder = Path(os.environ["TIRX_DUMP"]) / str(func.name)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.count = 0
        self("parsed", func)

    def __call__(self, name, func):
        (self.folder / f"{self.count:02d}_{name}.py").write_text(f"{func}\n")
        self.count += 1
