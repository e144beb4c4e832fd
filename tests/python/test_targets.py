"""Targets as values and calls of instructions against the table."""

from pathlib import Path

import pytest

import tirx
from tirx import _ffi_api, ir
from tirx.errors import TargetError, TypeMismatch
from tirx.targets.cuda import ARCHS
from tirx.targets.cuda.instructions import coverage, nearest_names, table

LOCAL = ir.Buffer.make("r", [4], "float32", "local")
SHARED = ir.Buffer.make("s", [64], "float16", "shared")


def address_of(buffer, index=0):
    return ir.call("handle", "tx.address_of", [ir.BufferLoad(buffer, [index])])


def test_both_spellings_are_the_same_value():
    a, b = tirx.Target("cuda", arch="sm_90a"), tirx.Target("cuda/sm_90a")
    assert ir.structural_equal(a, b)
    assert str(a) == "cuda/sm_90a" and repr(a) == 'Target("cuda", arch="sm_90a")'
    assert tirx.Target.of("cuda/sm_80").arch == "sm_80" and tirx.Target.of(a) is a


def test_features_and_limits():
    hopper, ampere = tirx.Target("cuda/sm_90a"), tirx.Target("cuda/sm_80")
    assert hopper.has("wgmma") and not tirx.Target("cuda/sm_90").has("wgmma") and not ampere.has("cluster")
    assert hopper.limit("shared_bytes_per_cta") == 232448
    assert ampere.limit("shared_bytes_per_cta") == 163 * 1024
    assert tirx.Target("cuda/sm_100a").limit("tmem_columns") == 512 and ampere.limit("tmem_columns") == 0


@pytest.mark.parametrize("arch", ARCHS)
def test_every_arch_has_a_target(arch):
    target = tirx.Target("cuda", arch=arch)
    assert target.has("cp.async") and target.limit("warp_size") == 32


@pytest.mark.parametrize("args", [("cuda", "sm_75"), ("cuda/sm90",), ("cuda",)])
def test_unknown_arch_lists_the_known(args):
    with pytest.raises(TargetError, match="sm_90a, sm_100") as e:
        tirx.Target(*args)
    assert e.value.code == "unknown-arch"


def test_unknown_kind():
    with pytest.raises(TargetError, match="one of 'cuda'"):
        tirx.Target("rocm", arch="gfx942")


def test_call_fills_defaults_and_types():
    x = ir.Var("x", "float32")
    call = ir.instr_call("cuda.shfl_xor_sync", [0xFFFFFFFF, x, 16])
    assert call.dtype == "float32" and call.args[1].same_as(x)
    assert [int(call.args[i]) for i in (0, 2, 3)] == [0xFFFFFFFF, 16, 32]
    assert call.args[0].dtype == "uint32"
    vote = ir.instr_call("cuda.ballot_sync", [-1, ir.Var("i")])
    assert vote.args[0].value == 0xFFFFFFFF and vote.args[1].dtype == "bool"


def test_unknown_instruction_names_the_nearest():
    with pytest.raises(TargetError, match=r"cuda\.shfl_xor_sync") as e:
        ir.instr_call("cuda.shfl_xr_sync", [1, 2, 3])
    assert e.value.code == "unknown-instruction"
    assert nearest_names("ptx.fence.proxy.asinc")[0] == "ptx.fence.proxy.async"
    with pytest.raises(TargetError, match="no similar name"):
        ir.instr_call("sm.nothing")


@pytest.mark.parametrize(
    "name, args, code",
    [
        ("cuda.cta_sync", [1], "instr-arity"),
        ("cuda.shfl_xor_sync", [1], "instr-arity"),
        ("cuda.warp_sum", [ir.Var("x"), ir.Var("n")], "instr-immediate"),
        ("ptx.redux.sync.add.u32", [ir.Var("x", "uint32"), 1, 1], "instr-destination"),
        ("ptx.redux.sync.add.u32", [ir.BufferLoad(SHARED, [0]), 1, 1], "instr-operand"),
        ("cuda.ballot_sync", [1, ir.Var("x", "float32")], "instr-operand"),
        ("cuda.ballot_sync", [1 << 32, ir.Var("x", "bool")], "instr-operand"),
    ],
)
def test_bad_calls_say_found_and_required(name, args, code):
    with pytest.raises((TypeMismatch, TargetError)) as e:
        ir.instr_call(name, args)
    assert e.value.code == code and e.value.found and e.value.required


def test_a_place_of_the_same_width_is_a_destination():
    call = ir.instr_call("ptx.redux.sync.add.u32", [ir.BufferLoad(LOCAL, [0]), 1, 0xFF])
    assert call.dtype.bits == 0


def test_the_simulator_knows_every_meaning_and_each_is_used():
    meanings = {str(name) for name in _ffi_api.sim_meanings()}
    assert {decl.sim for decl in table().values() if decl.sim} == meanings


def test_the_coverage_page_is_current(request):
    page = Path(__file__).parent.parent.parent / "docs" / "instructions.md"
    if request.config.getoption("--update-goldens"):
        page.write_text(coverage())
    assert page.read_text() == coverage(), (
        "run python -m tirx.targets.cuda.instructions > docs/instructions.md"
    )


def test_table_is_consistent():
    for name, decl in table().items():
        instr = decl.instr()
        assert str(instr.name) == name and str(instr.form) in ("asm", "cuda")
        assert bool(decl.sim) != bool(decl.unsupported), f"{name}: a meaning or the reason why there is none"
        known = {f for arch in ARCHS for f in tirx.Target("cuda", arch=arch).features}
        assert set(decl.features) <= known, name
        assert set(decl.effects) <= {"pure", "memory", "barrier", "async", "convergent"}, name
