"""Launching through the driver API, checked against a recording stand-in of its entry points."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

HERE = Path(__file__).parent

PRELUDE = """
import numpy as np, types
from tirx import ir
from tirx.executable import Executable
from tirx.targets import Target

def kernel(attrs=None, cluster=(1, 1, 1), dyn=0):
    out = ir.Buffer.make("out", [16], "float32")
    p, n, scale = ir.Var("out_ptr", "handle"), ir.Var("n", "int32"), ir.Var("scale", "float32")
    host = ir.PrimFunc("fill", [p, n, scale], [out, None, None], ir.SeqStmt([]))
    grid = [(n + 3) // 4, ir.IntImm("int32", 1), ir.IntImm("int32", 1)]
    plan = ir.LaunchPlan(grid, list(cluster), 64, dyn, 0, 0, attrs or {})
    return ir.Kernel(host, host, [], plan)

def executable(arch="sm_90a", **kw):
    exe = Executable(None, Target("cuda", arch=arch), kernel(**kw))
    exe._cubin = types.SimpleNamespace(image=b"CUBIN!\\0")
    return exe

x = np.zeros(16, np.float32)
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    lib = tmp_path_factory.mktemp("driver") / "librecorder.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", lib, HERE / "recording_driver.c"], check=True)
    return lib


def run(driver, tmp_path, body, **env):
    """Run `body` in a fresh process with the stand-in; returns (stdout, recorded lines)."""
    log = tmp_path / "record"
    log.write_text("")
    env = {**os.environ, "TIRX_CUDA_DRIVER": str(driver), "TIRX_RECORD": str(log), **env}
    code = PRELUDE + textwrap.dedent(body)
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout, log.read_text().splitlines()


def test_host_tensors_travel_and_come_back(driver, tmp_path):
    out, log = run(driver, tmp_path, "executable()(x, 5, 2.5); print(x.tolist())")
    assert out.strip() == str([2.5] * 5 + [0.0] * 11)
    assert "launch grid 2,1,1 block 64,1,1 shared 0 stream 0 n 5 scale 2.5" in log
    assert log.index("h2d 64") < log.index("d2h 64") < log.index("free")


def test_module_is_loaded_once(driver, tmp_path):
    _, log = run(driver, tmp_path, "e = executable(); e(x, 1, 1.0); e(x, 2, 1.0)")
    assert sum(line.startswith("load CUBIN") for line in log) == 1
    assert sum(line.startswith("launch") for line in log) == 2
    assert "function fill" in log


def test_attributes_and_stream(driver, tmp_path):
    body = """
    e = executable(attrs={"cooperative": True, "programmatic": True}, cluster=(2, 8, 1), dyn=100000)
    e(x, 4, 1.0, stream=7)
    """
    _, log = run(driver, tmp_path, body)
    launch = next(line for line in log if line.startswith("launch"))
    assert "shared 100000 stream 7 cluster 2,8,1 cooperative 1 programmatic 1" in launch
    assert "attribute 8 100000" in log and "attribute 14 1" in log


def test_portable_cluster_needs_no_opt_in(driver, tmp_path):
    _, log = run(driver, tmp_path, "executable(cluster=(2, 4, 1))(x, 4, 1.0)")
    assert not any(line.startswith("attribute") for line in log)


def test_empty_grid_launches_nothing(driver, tmp_path):
    _, log = run(driver, tmp_path, "executable()(x, 0, 1.0)")
    assert not any(line.startswith("launch") for line in log)


def test_device_of_another_architecture_is_refused(driver, tmp_path):
    body = """
    from tirx.errors import LaunchError
    try:
        executable(arch="sm_80")(x, 1, 1.0, mode="device")
    except LaunchError as e:
        print(e)
    """
    out, _ = run(driver, tmp_path, body)
    assert (
        "[no-device] no device can run fill" in out and "devices of sm_90" in out and "a sm_80 device" in out
    )


def test_driver_error_is_named(driver, tmp_path):
    body = """
    from tirx.errors import LaunchError
    try:
        executable()(x, 1, 1.0)
    except LaunchError as e:
        print(e.code, e.found)
    """
    out, _ = run(driver, tmp_path, body, TIRX_FAKE_OOM="1")
    assert out.strip() == "driver-refused CUDA_ERROR_OUT_OF_MEMORY (out of memory)"


def test_missing_driver_says_so(tmp_path):
    body = """
    from tirx.errors import LaunchError
    try:
        executable()(x, 1, 1.0, mode="device")
    except LaunchError as e:
        print(e.found)
    """
    out, _ = run("/nonexistent/libcuda.so", tmp_path, body)
    assert out.startswith("the CUDA driver library could not be opened")


@pytest.mark.parametrize(
    "built, device, fits",
    [("sm_90a", "sm_90", True), ("sm_80", "sm_86", True), ("sm_86", "sm_80", False), ("sm_90a", "sm_100", False),
     ("sm_100a", "sm_103", False), ("sm_100f", "sm_103", True), ("sm_120", "sm_121", True)],
)  # fmt: skip
def test_binary_compatibility(built, device, fits):
    from tirx.executable import runs_on

    assert runs_on(built, device) is fits
