"""What the package costs to have: import time and memory, wheel and installed size."""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROBE = (
    "import time; t, c = time.perf_counter(), time.process_time(); {}; "
    "w, c = time.perf_counter() - t, time.process_time() - c; "
    # The peak that getrusage reports is inherited from the parent across exec; this one is not.
    "print(w, c, next(x.split()[1] for x in open('/proc/self/status') if x.startswith('VmHWM')))"
)


def _probe(python, statement, runs=7):
    """(wall s, CPU s, peak MB) of one import in fresh processes: medians."""
    rows = []
    for _ in range(runs):
        out = subprocess.run(
            [python, "-c", PROBE.format(statement)], capture_output=True, text=True, check=True
        )
        rows.append([float(x) for x in out.stdout.split()])
    wall, cpu, rss = (statistics.median(r[i] for r in rows) for i in range(3))
    return wall, cpu, rss / 1024


def import_cost():
    """Rows: statement, wall_s, cpu_s, peak_mb; `pass` is the bare interpreter."""
    cases = [("pass", sys.executable, "pass"), ("import tvm_ffi", sys.executable, "import tvm_ffi"),
             ("import tirx", sys.executable, "import tirx"),
             ("from tirx.script import T, Tx", sys.executable, "from tirx.script import T, Tx")]  # fmt: skip
    if peer := os.environ.get("TIRX_PEER_PYTHON"):
        cases.append(("import tvm (peer)", peer, "import tvm"))
    rows = []
    for label, python, statement in cases:
        wall, cpu, peak = _probe(python, statement)
        rows.append({"statement": label, "wall_s": wall, "cpu_s": cpu, "peak_mb": peak})
    return rows


def _tree_mb(path):
    return sum(f.stat().st_size for f in Path(path).rglob("*") if f.is_file()) / 1e6


def installed_size():
    """Rows: what, mb: the wheel, the unpacked wheel, and the peer's installed package."""
    rows = []
    with tempfile.TemporaryDirectory() as tmp:
        cmd = [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "-q",
            "--no-build-isolation",
            "--no-deps",
            "-w",
            tmp,
            str(ROOT),
        ]
        subprocess.run([*cmd, f"--config-settings=build-dir={ROOT / 'build' / 'wheel'}"], check=True)
        wheel = next(Path(tmp).glob("tirx-*.whl"))
        rows.append({"what": "wheel", "mb": wheel.stat().st_size / 1e6})
        subprocess.run([sys.executable, "-m", "zipfile", "-e", str(wheel), tmp + "/tree"], check=True)
        rows.append({"what": "installed", "mb": _tree_mb(tmp + "/tree")})
    if peer := os.environ.get("TIRX_PEER_PYTHON"):
        code = "import importlib.util as u; print(u.find_spec('tvm').submodule_search_locations[0])"
        where = subprocess.run([peer, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        rows.append({"what": "apache-tvm installed (peer)", "mb": _tree_mb(where)})
    return rows
