"""The global functions that the C++ library registers under "tx." (tx.add becomes _ffi_api.add)."""

import os
from pathlib import Path

import tvm_ffi


def _load():
    """Load libtirx once: TIRX_LIBRARY_PATH (a build tree), the package's own lib/, or the wheel's record."""
    override = os.environ.get("TIRX_LIBRARY_PATH")
    own = Path(__file__).parent / "lib" / "libtirx.so"
    if override or own.exists():
        return tvm_ffi.load_module(override or str(own))
    from tvm_ffi.libinfo import load_lib_module

    return load_lib_module("tirx", "tirx")


LIB = _load()
tvm_ffi.init_ffi_api("tx", __name__)
