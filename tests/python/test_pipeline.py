"""The list of passes and its hooks."""

import pytest
from scope_helpers import TARGET, kernel

from tirx import ir, pipeline

BODY = """
tx = T.thread_id([32])
B = T.alloc_shared((4, 32), "float32")
B[1, tx] = A[tx]
T.cuda.cta_sync()
A[tx] = B[1, tx]
"""


def test_passes_have_names_and_reasons():
    names = [p.name for p in pipeline.PASSES]
    assert len(set(names)) == len(names) and all(p.why for p in pipeline.PASSES)
    assert names.index("tile_primitive_dispatch") < names.index("apply_layouts") < names.index("plan_shared")


def test_lowering_is_repeatable():
    func = kernel(BODY)
    a, b = pipeline.lower(func, TARGET), pipeline.lower(func, "cuda/sm_90a")
    assert ir.first_difference(a, b) is None
    assert str(a) == str(b)


def test_a_native_function_is_lowered_already():
    native = pipeline.lower(kernel(BODY), TARGET)
    assert pipeline.lower(native, TARGET).same_as(native)
    assert pipeline.build_kernel(native, TARGET).launch.threads == 32


def test_times_are_kept_per_pass():
    times = {}
    pipeline.build_kernel(kernel(BODY), TARGET, times=times)
    assert list(times) == [p.name for p in pipeline.PASSES] + ["split_host_device"]


def test_dump_writes_every_stage(tmp_path, monkeypatch):
    monkeypatch.setenv("TIRX_DUMP", str(tmp_path))
    pipeline.lower(kernel(BODY), TARGET)
    files = sorted(f.name for f in (tmp_path / "k").iterdir())
    assert files[0] == "00_parsed.py" and files[1] == "01_resolve_scopes.py"
    assert len(files) == len(pipeline.PASSES) + 1
    assert "T.alloc_buffer((128,)" in (tmp_path / "k" / files[-1]).read_text()


def test_stages():
    stages = pipeline.stages(kernel("w = T.warp_id([2])\nl = T.lane_id()\nA[w + l] = 0.0"), TARGET)
    assert list(stages) == ["parsed", "tile", "native"]
    assert "T.lane_id()" in str(stages["parsed"]) and "T.lane_id([32])" in str(stages["tile"])
    assert "tx.thread_index" in str(stages["native"])


@pytest.mark.slow
def test_fifty_thousand_statements():
    stores = "\n".join(f"A[{i % 4096}] = 1.0" for i in range(50_000))
    func = pipeline.build_kernel(kernel("tx = T.thread_id([32])\n" + stores), TARGET)
    assert len(func.device.body.seq) == 50_000
