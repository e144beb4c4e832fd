"""The benchmark of the simulator counts what it times."""

from bench.simulator import speed


def test_every_kernel_has_a_speed():
    rows = speed()
    assert {r["kernel"] for r in rows} == {"scale", "smem_copy", "mma_gemm"} and len(rows) == 6
    assert all(r["Minstr_per_s"] > 0 and r["seconds"] > 0 for r in rows)
