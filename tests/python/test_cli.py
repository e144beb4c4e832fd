"""The command line: what it prints, and that every mistake is an error of the project and not a traceback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tirx import cli

ROOT = Path(__file__).parent.parent.parent
KERNEL = """
from tirx.script import T

@T.prim_func
def twice(A: T.Buffer((32,), "float32")):
    T.device_entry()
    tx = T.thread_id([32])
    A[tx] = A[tx] * 2.0
"""


def tirx(capsys, *args):
    """(status, stdout, stderr)"""
    status = cli.main([str(a) for a in args])
    out = capsys.readouterr()
    return status, out.out, out.err


@pytest.fixture
def kernel(tmp_path):
    path = tmp_path / "k.py"
    path.write_text(KERNEL)
    return path


def test_run_show_and_explain(capsys, kernel):
    status, out, _ = tirx(capsys, "run", kernel)
    assert status == 0 and "twice" in out
    status, out, _ = tirx(capsys, "show", f"{kernel}:twice", "--stage", "cuda")
    assert status == 0 and "__global__" in out
    status, out, _ = tirx(capsys, "show", kernel, "--stage", "native", "--json")
    assert status == 0 and json.loads(out)["stage"] == "native"
    status, out, _ = tirx(capsys, "explain", ROOT / "apps/reduce")
    assert status == 0 and "cta.copy" in out


def test_an_app_is_also_named_by_its_kernel_file(capsys):
    by_file = tirx(capsys, "show", ROOT / "apps/transpose/kernel.py", "--stage", "parsed")
    assert by_file == tirx(capsys, "show", ROOT / "apps/transpose", "--stage", "parsed")


MISTAKES = {
    "a folder of apps": (["run", ROOT / "apps"], "no-such-kernel", "apps/gemm"),
    "no such file": (["run", "nowhere.py"], "no-such-kernel", "nowhere.py"),
    "not Python": (["run", ROOT / "README.md"], "no-such-kernel", "(.py)"),
    "unknown parameter": (["run", ROOT / "apps/gemm", "-p", "Q=1"], "unknown-parameter", "Q"),
    "bad parameter": (["run", ROOT / "apps/gemm", "-p", "M"], "bad-parameter", "NAME=VALUE"),
    "unknown target": (["show", ROOT / "apps/gemm", "--target", "cuda/sm_12"], "unknown-arch", "sm_12"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(capsys, name):
    args, code, text = MISTAKES[name]
    status, out, err = tirx(capsys, *args)
    assert status == 1 and out == "" and f"[{code}]" in err and text in err and "Traceback" not in err


def test_a_file_that_does_not_parse_shows_its_line(capsys, tmp_path):
    (tmp_path / "bad.py").write_text("x = 1\ndef f(:\n    pass\n")
    status, _, err = tirx(capsys, "run", tmp_path / "bad.py")
    assert status == 1 and "bad.py:2" in err and "def f(:" in err and "^" in err


def test_a_file_that_fails_shows_its_line(capsys, tmp_path):
    (tmp_path / "bad.py").write_text("x = 1\ny = x / 0\n")
    status, _, err = tirx(capsys, "run", tmp_path / "bad.py")
    assert status == 1 and "bad.py:2" in err and "ZeroDivisionError" in err


def test_errors_as_json(capsys):
    status, out, _ = tirx(capsys, "run", "nowhere.py", "--json")
    assert status == 1 and json.loads(out)["error"]["code"] == "no-such-kernel"


def test_a_closed_pipe_is_quiet(kernel):
    command = [sys.executable, "-m", "tirx.cli", "show", str(kernel), "--stage", "cuda"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert done.returncode == 141 and done.stderr == ""
