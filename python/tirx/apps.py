"""Loading, running and demonstrating kernels by name: what `tirx run` does, callable from Python.

An app is a folder with kernel.py (`PARAMS`: defaults of `make`; `make(**params)` -> PrimFunc; optionally `DEMO`: a list
of params, `ARCHS`) and reference.py (`inputs(rng, **params)` -> the call's arguments; `reference(*args, **params)` ->
{parameter index: expected array}; `tolerance(**params)` -> largest error that fp32 accumulation allows).
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path

from . import ir
from .errors import Location, TirxError

DEFAULT_ARCHS = ("sm_80", "sm_90a", "sm_100a")


@dataclass
class App:
    """One app folder with its parameters filled in."""

    folder: Path
    kernel: object
    reference: object
    params: dict

    def make(self):
        return self.kernel.make(**self.params)


def _module(path: Path):
    name = f"tirx_app_{path.parent.name}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except TirxError:
        raise
    except SyntaxError as e:
        raise _not_loaded(path, e, Location(str(path), e.lineno or 1, max(0, (e.offset or 1) - 1))) from None
    except Exception as e:
        raise _not_loaded(path, e, _line_in(path, e)) from e
    return module


def _not_loaded(path, error, location):
    return TirxError(
        f"{path} cannot be loaded", code="kernel-not-loaded", found=f"{type(error).__name__}: {error}",
        required="a Python file that runs", span=location,
    )  # fmt: skip


def _line_in(path, error):
    """The last line of `path` that the error passed, or None."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == path]
    return Location(str(path), lines[-1]) if lines else None


def load(spec: str, params: dict):
    """(PrimFunc, App or None) for "apps/gemm", "file.py" or "file.py:name"."""
    path, _, name = spec.partition(":")
    folder = Path(path)
    if folder.name == "kernel.py" and (folder.parent / "reference.py").is_file() and not name:
        folder = folder.parent
    if folder.is_dir():
        app = load_app(folder, params)
        return app.make(), app
    if not folder.is_file() or folder.suffix != ".py":
        raise TirxError(
            "no such kernel",
            code="no-such-kernel",
            found=spec,
            required="an app folder or a Python file (.py)",
        )
    return _pick(_module(folder), name, params, spec), None


def load_app(folder, params=None) -> App:
    """The app in `folder`; `params` override its defaults."""
    folder = Path(folder)
    missing = [f for f in ("kernel.py", "reference.py") if not (folder / f).is_file()]
    if missing:
        inside = sorted(str(p.parent) for p in folder.glob("*/kernel.py"))
        raise TirxError(
            f"{folder} is no app", code="no-such-kernel", found=f"no {' and no '.join(missing)} in it",
            required="a folder with kernel.py and reference.py",
            hint=f"one of {', '.join(inside)}" if inside else "",
        )  # fmt: skip
    kernel, reference = (_module(folder / f) for f in ("kernel.py", "reference.py"))
    unknown = set(params or {}) - set(kernel.PARAMS)
    if unknown:
        raise TirxError(
            f"{folder.name} has no such parameter", code="unknown-parameter", found=", ".join(sorted(unknown)),
            required=", ".join(kernel.PARAMS),
        )  # fmt: skip
    return App(folder, kernel, reference, {**kernel.PARAMS, **(params or {})})


def _pick(module, name, params, spec):
    """The function `name` of a module, or its only one. Factories are called with `params`."""
    if not name:
        names = [k for k, v in vars(module).items() if isinstance(v, ir.PrimFunc) or hasattr(v, "specialize")]
        if len(names) != 1:
            raise TirxError(
                "which function?", code="ambiguous-kernel",
                found=", ".join(names) or "no function of the script language", required=f"one name: {spec}:NAME",
            )  # fmt: skip
        name = names[0]
    value = getattr(module, name, None)
    if hasattr(value, "specialize"):
        return value.specialize(**params)
    if value is not None and not isinstance(value, ir.PrimFunc) and callable(value):
        value = value(**params)
    if not isinstance(value, ir.PrimFunc):
        raise TirxError(
            "no such function", code="no-such-kernel", found=spec, required="a PrimFunc or a factory of one"
        )
    return value


def random_inputs(func, seed=0):
    """Arguments of the declared shapes and dtypes; symbolic extents become 64, scalars 1."""
    import numpy as np

    from .arguments import numpy_dtype

    rng, out = np.random.default_rng(seed), []
    for buffer in func.param_buffers:
        if buffer is None:
            out.append(1)
            continue
        shape = [e.value if isinstance(e, ir.IntImm) else 64 for e in buffer.shape]
        dtype = numpy_dtype(str(buffer.dtype))
        floats = "float" in str(buffer.dtype)
        out.append((rng.standard_normal(shape) if floats else rng.integers(0, 2, shape)).astype(dtype))
    return out


def run(func, app, target, mode="auto", schedule="lazy", seed=0) -> dict:
    """Compile and run once; compare with the app's reference. Returns a JSON-able result."""
    import numpy as np

    from .executable import compile

    exe = compile(func, target, mode=mode)
    args = (
        app.reference.inputs(np.random.default_rng(seed), **app.params) if app else random_inputs(func, seed)
    )
    inputs = [a.copy() if hasattr(a, "copy") else a for a in args]
    exe(*args, **({"schedule": schedule, "seed": seed} if mode != "device" else {}))
    result = {"kernel": exe.name, "target": f"{exe.target.kind}/{exe.target.arch}", "ran": "device"}
    if exe.report is not None:
        result |= {"ran": "simulator", "schedule": schedule, "counters": exe.report.counters}
        result["shared_bank_conflicts"] = bank_conflicts(exe.report.counters)
    if app:
        result |= _compare(app, inputs, args)
    return result


def bank_conflicts(counters) -> int:
    """Extra cycles that loads and stores of shared memory took because lanes met in one bank."""
    return counters["shared_load"]["bank_conflicts"] + counters["shared_store"]["bank_conflicts"]


def _compare(app, inputs, args):
    import numpy as np

    worst = 0.0
    for index, want in app.reference.reference(*inputs, **app.params).items():
        have = args[index].astype(np.float64)
        worst = max(worst, float(np.max(np.abs(have - want.astype(np.float64)))) if want.size else 0.0)
    bound = float(app.reference.tolerance(**app.params))
    return {"params": app.params, "max_error": worst, "tolerance": bound, "ok": worst <= bound}


def describe(result: dict) -> str:
    """A result of run() as text."""
    lines = [f"{result['kernel']} on {result['target']} ({result['ran']})"]
    if "max_error" in result:
        params = " ".join(f"{k}={v}" for k, v in result["params"].items())
        verdict = "ok" if result["ok"] else "WRONG"
        lines.append(
            f"  {params}: max error {result['max_error']:.3g} (bound {result['tolerance']:.3g}): {verdict}"
        )
    for name, value in result.get("counters", {}).items():
        if name != "lines":
            lines += _counter_lines(name, value)
    return "\n".join(lines)


def _counter_lines(name, value):
    """`name  a 1, b 2` for a counter that is a number or a dict of them; zeros are left out."""
    if isinstance(value, dict):
        parts = [f"{k} {v}" for k, v in value.items() if v and not isinstance(v, dict)]
        value = ", ".join(parts)
    return [f"  {name:<16} {value}"] if value else []


def demo(folder, args, progress) -> int:
    """Every size of the app's DEMO in the simulator, then the dispatch report, then one line per architecture."""
    app = load_app(folder)
    ok = True
    for params in getattr(app.kernel, "DEMO", [app.params]):
        progress(f"simulating {params} ...")
        sized = load_app(folder, params)
        result = run(
            sized.make(), sized, args.target, mode="simulate", schedule=args.schedule, seed=args.seed
        )
        progress("")
        ok &= result["ok"]
        print(_demo_line(result))
    from .tile import explain

    print("\nDispatch", explain(app.make(), args.target), sep="\n")
    print("\nAssembled")
    for arch in getattr(app.kernel, "ARCHS", DEFAULT_ARCHS):
        progress(f"assembling for {arch} ...")
        line = assembly_line(app.make(), f"cuda/{arch}")
        progress("")
        print("  " + line)
    return 0 if ok else 1


def _demo_line(result):
    size = "x".join(str(v) for v in result["params"].values())
    conflicts = result["shared_bank_conflicts"]
    verdict = "ok" if result["ok"] else "WRONG"
    return (
        f"{result['kernel']} {size} on the simulated {result['target']}: max error {result['max_error']:.3g} against "
        f"NumPy (bound {result['tolerance']:.3g}), shared bank conflicts {conflicts}: {verdict}"
    )


def assembly_line(func, target) -> str:
    """Registers, spills and shared bytes of one kernel for one target."""
    from .executable import compile

    exe = compile(func, target)
    cubin = exe.cubin
    shared = exe.kernel.launch.static_shared_bytes + exe.kernel.launch.dyn_shared_bytes
    return (
        f"{exe.target.arch:<8} registers {cubin.registers:>3}  spills {cubin.spills}  shared {shared} bytes  "
        f"cubin {len(cubin.image)} bytes"
    )


SMOKE = """
@T.prim_func
def smoke(A_ptr: T.handle):
    A = T.match_buffer(A_ptr, (32,), "float32")
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([32])
    A[tx] = A[tx] * T.float32(2)
"""


def smoke() -> str:
    """Compile and simulate a three-line kernel; returns what was seen, raises when it is wrong."""
    import numpy as np

    from .executable import compile
    from .script import from_source

    x = np.arange(32, dtype=np.float32)
    compile(from_source(SMOKE), "cuda/sm_80", mode="simulate")(x)
    if not np.array_equal(x, np.arange(32, dtype=np.float32) * 2):
        raise ArithmeticError(f"a simulated kernel gave {x.tolist()}")
    return "a 32-thread kernel gave the right numbers"
