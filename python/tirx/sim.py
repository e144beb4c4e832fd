"""Running a Kernel in the simulator of its exact target (include/tirx/sim).

    report = sim.run(kernel, target, [a, b, c], schedule="random", seed=3)

executes the native-stage IR of a Kernel with arrays of the caller, in place. A mistake of the program raises
SimError, whose `report` has every finding; a clean run returns the report with its counters.
"""

from __future__ import annotations

import json

from . import _ffi_api as _api
from . import errors
from .targets import Target

OBSERVERS = ("bounds", "init", "sync", "race", "replica", "counters")
SCHEDULES = ("lazy", "eager", "random")


class Report:
    """What a run found and counted.

    findings: list of SimError in the order of their discovery. counters: dict, empty when "counters" was off:
    `instructions` (warp instructions by kind), `global_load`, `global_store` (requests, sectors of 32 bytes,
    bytes), `shared_load`, `shared_store` (shared_requests, wavefronts, bank_conflicts, shared_bytes),
    `widths` (requests by bytes per lane), `lines` (the same per source line),
    `barrier_waits`, `async_copies`.
    """

    def __init__(self, data: dict, *, target: str, schedule: str, seed: int):
        self.kernel, self.target, self.schedule, self.seed = data["kernel"], target, schedule, seed
        self.ctas, self.suppressed = data["ctas"], data["suppressed"]
        self.printed = data["printed"]  # what cuda.printf wrote
        self.counters = data.get("counters", {})
        self.findings = [errors.SimError(f.pop("message"), **f) for f in data["findings"]]

    @property
    def ok(self) -> bool:
        """No finding."""
        return not self.findings

    def to_dict(self) -> dict:
        """Everything as JSON-able values."""
        return {
            "kernel": self.kernel, "target": self.target, "schedule": self.schedule, "seed": self.seed,
            "ctas": self.ctas, "findings": [f.to_dict() for f in self.findings],
            "suppressed": self.suppressed, "counters": self.counters,
        }  # fmt: skip

    def __str__(self):
        head = f"{self.kernel} on {self.target}, schedule {self.schedule}"
        head += f" (seed {self.seed})" if self.schedule == "random" else ""
        lines = [f"{head}: {self.ctas} CTAs, {len(self.findings) or 'no'} findings"]
        lines += [str(f) for f in self.findings]
        if self.suppressed:
            lines.append(f"and {self.suppressed} more")
        return "\n".join(lines + self._counter_lines())

    def _counter_lines(self):
        c = self.counters
        if not c:
            return []
        kinds = ", ".join(f"{k} {n}" for k, n in c["instructions"].items())
        lines = [f"warp instructions: {kinds}"]
        for name in ("global_load", "global_store"):
            m = c[name]
            if m["requests"]:
                per = m["sectors"] / m["requests"]
                lines.append(f"{name}: {m['requests']} requests, {per:.2f} sectors each, {m['bytes']} bytes")
        for name in ("shared_load", "shared_store"):
            m = c[name]
            if m["shared_requests"]:
                lines.append(f"{name}: {m['shared_requests']} requests, {m['bank_conflicts']} bank conflicts")
        return lines


def run(kernel, target, args, *, schedule="lazy", seed=0, observers=OBSERVERS, mma_accumulate="f32",
        workers=0, check=True) -> Report:  # fmt: skip
    """Run `kernel` (an ir.Kernel) for `target` (a Target or its spelling) with `args`, one per parameter of
    kernel.host, in place.

    args: NumPy arrays (ml_dtypes included), CPU tensors with DLPack, SparseArray, or numbers for scalars.
    schedule: "lazy" (asynchronous work lands at the last legal moment, one warp runs until it blocks),
    "eager" (it lands at once) or "random" (warps interleave and copies land as `seed` says).
    observers: any of OBSERVERS; with none the machine runs at full speed and still refuses accesses outside
    every allocation, and deadlocks.
    mma_accumulate: "f32" adds products in order of k in float32, "f64" in float64 with one
    rounding at the end.
    workers: host threads for CTAs whose order cannot be seen (0: one per core); results do not depend on it.
    Raises SimError (with .report) for findings unless check is False; LaunchError for arguments
    that do not fit.
    """
    check_options({"schedule": schedule, "seed": seed, "observers": observers,
                   "mma_accumulate": mma_accumulate, "workers": workers})  # fmt: skip
    target = Target.of(target)
    program = _api.sim_compile(kernel, target, schedule, seed, list(observers), mma_accumulate == "f64")
    from . import _sim_args

    arguments = _sim_args.Arguments(kernel, args)
    with arguments as flat:
        names, values = list(arguments.symbols), list(arguments.symbols.values())
        data = json.loads(_api.sim_run(program, flat, arguments.sparse, workers or _cores(), names, values))
    report = Report(data, target=str(target.arch), schedule=schedule, seed=seed)
    if check and report.findings:
        error = report.findings[0]
        error.report = report
        raise error
    return report


def check_options(options):
    """Refuse options of `run` that it does not have, and values that they cannot take (LaunchError)."""
    known = ("schedule", "seed", "observers", "mma_accumulate", "workers", "check")
    for name, value in options.items():
        _check_choice("option of a simulated call", name, known)
        if name in ("seed", "workers") and not (isinstance(value, int) and 0 <= value < 1 << 63):
            raise errors.LaunchError(
                f"{name} is a non-negative integer",
                code=f"bad-{name}",
                found=repr(value),
                required="0, 1, 2, ...",
            )
    _check_choice("schedule", options.get("schedule", "lazy"), SCHEDULES)
    _check_choice("mma_accumulate", options.get("mma_accumulate", "f32"), ("f32", "f64"))
    observers = options.get("observers", OBSERVERS)
    for name in [observers] if isinstance(observers, str) else observers:
        _check_choice("observer", name, OBSERVERS)


def _cores() -> int:
    import os

    return min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


class SparseArray:
    """A device array of any shape that takes memory only where it is touched: pages of 64 KiB, poisoned.

    `a[i, j]` reads and `a[i, j] = x` writes single elements; an argument of run() like any array.
    """

    def __init__(self, shape, dtype):
        import numpy as np

        import_small_dtypes()
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)
        self.sparse_memory = _api.sim_memory()

    @property
    def nbytes(self) -> int:
        """Bytes of the whole array."""
        n = self.dtype.itemsize
        for extent in self.shape:
            n *= extent
        return n

    @property
    def pages(self) -> int:
        """Pages that exist."""
        return _api.sim_memory_pages(self.sparse_memory)

    def _offset(self, index) -> int:
        index = index if isinstance(index, tuple) else (index,)
        if len(index) != len(self.shape) or not all(0 <= i < n for i, n in zip(index, self.shape)):
            raise IndexError(f"index {index} of a SparseArray of shape {self.shape}")
        flat = 0
        for i, n in zip(index, self.shape):
            flat = flat * n + i
        return flat * self.dtype.itemsize

    def __getitem__(self, index):
        import numpy as np

        data = _api.sim_memory_read(self.sparse_memory, self._offset(index), self.dtype.itemsize)
        return np.frombuffer(bytes(data), self.dtype)[0]

    def __setitem__(self, index, value):
        import numpy as np

        _api.sim_memory_write(self.sparse_memory, self._offset(index), np.array(value, self.dtype).tobytes())


def import_small_dtypes():
    """Lets numpy.dtype("bfloat16") and the other names of ml_dtypes resolve."""
    import ml_dtypes  # noqa: F401


def _check_choice(what, value, allowed):
    if value not in allowed:
        raise errors.LaunchError(
            f"unknown {what}", code="sim-option", found=repr(value), required=" | ".join(map(repr, allowed))
        )
