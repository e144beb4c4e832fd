"""Asking for another package's objects where it is not installed: an error that says what to install."""

import subprocess
import sys

import pytest
from layout_cases import refused

from tirx.layout import CuteLayout, Fragment, Mesh, Placement, S, Shard, TileLayout
from tirx.layout.linear import LinearLayout

ASKED = {
    "cute": lambda m: m.to_cute(CuteLayout(4, 1)),
    "torch": lambda m: m.to_placements(Placement.from_dtensor((4,), Mesh((2,)), [Shard(0)])),
    "triton": lambda m: m.to_triton(LinearLayout.empty()),
    "tvm": lambda m: m.to_tvm(TileLayout(S[4])),
    "tilelang": lambda m: m.to_tilelang(Fragment((4,), None, lambda i: i)),
}


@pytest.mark.parametrize("name", ASKED)
def test_absent_package(name, monkeypatch):
    module = __import__(f"tirx.interop.{name}", fromlist=[name])
    for part in (
        "pycute" if name == "cute" else name,
        f"{name}.tirx",
        f"{name}.layout",
        f"{name}.distributed.tensor",
    ):
        monkeypatch.setitem(sys.modules, part, None)  # as if it were not there
    error = refused(lambda: ASKED[name](module))
    assert error.code == "no-package" and name in error.message + error.required


def test_nothing_is_imported_before_it_is_used():
    modules = ", ".join(f"tirx.interop.{name}" for name in ASKED)
    code = f"import sys, {modules}; print([m for m in {[*ASKED, 'torch']} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
