"""What works on this machine, and what to install for the rest."""

from __future__ import annotations

import importlib.metadata
import importlib.util


def _check(what, ok, detail, fix=""):
    return {"what": what, "ok": bool(ok), "detail": detail, "fix": "" if ok else fix}


def checks() -> list:
    """One dict per capability: what, ok, detail, fix (empty when ok). Never raises."""
    return [*_core(), _simulator(), *_cuda_compiler(), _device(), *_extras()]


def _core():
    from . import __version__

    ffi = importlib.metadata.version("apache-tvm-ffi")
    return [_check("compile, lower, print, explain", True, f"tirx {__version__}, apache-tvm-ffi {ffi}")]


def _simulator():
    """Runs a three-line kernel, so that "works" is something seen."""
    try:
        from . import apps

        detail = apps.smoke()
        return _check("simulate", True, detail)
    except Exception as e:  # noqa: BLE001  a doctor reports, whatever is broken
        return _check(
            "simulate", False, f"{type(e).__name__}: {e}", "reinstall tirx; this is a bug worth reporting"
        )


def _cuda_compiler():
    from .targets.cuda import nvrtc

    found = nvrtc.status()
    detail = f"NVRTC {found['version']}, {found['library']}" if found["usable"] else found["reason"]
    tool = found["nvdisasm"]
    return [
        _check("assemble CUDA (NVRTC)", found["usable"], detail, "pip install 'tirx[cuda]'"),
        _check("show SASS (nvdisasm)", tool, tool or "not found", "pip install nvidia-cuda-nvdisasm"),
    ]


def _device():
    from .executable import _runtime

    status = _runtime("query_driver")()
    if not status["usable"]:
        fix = "without an NVIDIA GPU and driver, calls run in the simulator"
        return _check("launch on a GPU", False, str(status["reason"]), fix)
    arch, name = _runtime("device_arch")(0), _runtime("device_name")(0)
    return _check("launch on a GPU", True, f"{status['device_count']} device(s), 0: {name} ({arch})")


def _extras():
    out = []
    for module, package, what in (("torch", "torch", "torch tensors"), ("tvm", "apache-tvm", "Apache TVM")):
        there = importlib.util.find_spec(module) is not None
        detail = importlib.metadata.version(package) if there else "not installed"
        out.append(_check(what, there, detail, f"optional: pip install 'tirx[{module}]'"))
    return out
